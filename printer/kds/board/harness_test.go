package board

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
)

type testingT interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func open(t testingT, s kv.Store, change ...func(*BoardOptions)) *Board {
	t.Helper()
	o := BoardOptions{Station: "hot-line", KV: s}
	for _, f := range change {
		f(&o)
	}
	b, err := OpenBoard(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testingT, b *Board, ds ...ticket.Delivery) {
	t.Helper()
	for _, d := range ds {
		if _, err := b.Put(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
}

var presses int // over all tests: each press has its own id

// press is a command for the card as it is now.
func press(b *Board, do Verb, job uint64, item int) Command {
	presses++
	c := Command{ID: fmt.Sprint("press-", presses), Do: do, Job: job, Item: item}
	if card, ok := b.Card(job); ok {
		c.Version = card.Version
	}
	return c
}

func do(t testingT, b *Board, c Command) Result {
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

func wantOutcome(t *testing.T, b *Board, c Command, want Outcome) {
	t.Helper()
	if r := do(t, b, c); r.Outcome != want {
		t.Errorf("%s job %d: %s, want %s", c.Do, c.Job, r.Outcome, want)
	}
}

// jobs is the board in one line: open jobs | jobs that can be recalled.
func jobs(b *Board) string {
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
