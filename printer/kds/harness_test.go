package kds

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ticketrail/printer/kds/board"
	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
)

type testingT interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func open(t testingT, s kv.Store, change ...func(*board.BoardOptions)) *board.Board {
	t.Helper()
	o := board.BoardOptions{Station: "hot-line", KV: s}
	for _, f := range change {
		f(&o)
	}
	b, err := board.OpenBoard(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Join opens a page that answers heartbeats, until leave is called.
func (s *Screen) Join(id string) (leave func()) {
	closed := s.streamOpened(id)
	s.pageAnswered(id, nil)
	return func() {
		closed()
		s.removePage(id, false)
	}
}

func put(t testingT, b *board.Board, ds ...ticket.Delivery) {
	t.Helper()
	for _, d := range ds {
		if err := b.Put(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
}

var presses int // over all tests: each press has its own id

// press is a command for the order or the item as it is now.
func press(b *board.Board, do board.Verb, job uint64, item int) board.Command {
	presses++
	c := board.Command{ID: fmt.Sprint("press-", os.Getpid(), "-", presses), Do: do, Order: "?"}
	if do == board.ItemDone || do == board.ItemUndone {
		c.Job, c.Item = job, item
		if k := card(b, job); k != nil {
			c.Version = k.Version
		}
	} else if o := b.OrderOf(job); o != nil {
		c.Order, c.Version = o.Key, o.Version
	}
	return c
}

// card is a ticket as pages see it; nil if they do not.
func card(b *board.Board, job uint64) *board.Ticket {
	o := b.OrderOf(job)
	if o == nil {
		return nil
	}
	i := slices.IndexFunc(o.Tickets, func(k board.Ticket) bool { return k.Job == job })
	if i < 0 {
		return nil
	}
	return &o.Tickets[i]
}

func do(t testingT, b *board.Board, c board.Command) board.Result {
	t.Helper()
	r, err := b.Do(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != c.ID || r.At == "" {
		t.Fatalf("answer %+v to %+v", r, c)
	}
	return r
}

func wantOutcome(t *testing.T, b *board.Board, c board.Command, want board.Outcome) {
	t.Helper()
	if r := do(t, b, c); r.Outcome != want {
		t.Errorf("%s job %d: %s, want %s", c.Do, c.Job, r.Outcome, want)
	}
}

// jobs is the board in one line: jobs of the open orders | jobs of those that can be recalled.
func jobs(b *board.Board) string {
	s := b.Snapshot()
	var out []string
	add := func(orders []*board.Order) {
		for _, o := range orders {
			for _, job := range o.Jobs() {
				out = append(out, fmt.Sprint(job))
			}
		}
	}
	add(s.Orders)
	out = append(out, "|")
	add(s.Recall)
	return strings.Join(out, " ")
}

// tickets are all tickets that pages see.
func tickets(b *board.Board) (out []board.Ticket) {
	s := b.Snapshot()
	for _, o := range append(s.Orders, s.Recall...) {
		out = append(out, o.Tickets...)
	}
	return out
}
