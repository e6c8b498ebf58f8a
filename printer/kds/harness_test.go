package kds

import (
	"context"
	"fmt"
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

func put(t testingT, b *board.Board, ds ...ticket.Delivery) {
	t.Helper()
	for _, d := range ds {
		if _, err := b.Put(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
}

var presses int // over all tests: each press has its own id

// press is a command for the card as it is now.
func press(b *board.Board, do board.Verb, job uint64, item int) board.Command {
	presses++
	c := board.Command{ID: fmt.Sprint("press-", presses), Do: do, Job: job, Item: item}
	if card, ok := b.Card(job); ok {
		c.Version = card.Version
	}
	return c
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

// jobs is the board in one line: open jobs | jobs that can be recalled.
func jobs(b *board.Board) string {
	s := b.Snapshot()
	var out []string
	for _, c := range s.Open {
		out = append(out, fmt.Sprint(c.Job))
	}
	out = append(out, "|")
	for _, c := range s.Recall {
		out = append(out, fmt.Sprint(c.Job))
	}
	return strings.Join(out, " ")
}

func voidOrder(job uint64, names ...string) ticket.Delivery {
	d := order(job, names...)
	d.Ticket.Void = true
	for i := range d.Ticket.Lines {
		d.Ticket.Lines[i].Void = true
	}
	return d
}
