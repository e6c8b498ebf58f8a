package kds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"ticketrail/queue/ticket"
)

// A cupboard is a shelf in memory that can fail, with or without having stored what it was given.
type cupboard struct {
	mu      sync.Mutex
	m       map[string][]byte
	fail    func(n int) (fail, keep bool) // asked before each write, the first is 1
	writes  int
	failing bool
}

var errShelf = errors.New("the disk is on fire")

func newCupboard() *cupboard { return &cupboard{m: map[string][]byte{}} }

func (c *cupboard) write(f func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	fail, keep := c.failing, false
	if c.fail != nil {
		fail, keep = c.fail(c.writes)
	}
	if !fail || keep {
		f()
	}
	if fail {
		return errShelf
	}
	return nil
}

func (c *cupboard) Put(_ context.Context, key string, value []byte) error {
	v := slices.Clone(value)
	return c.write(func() { c.m[key] = v })
}

func (c *cupboard) Delete(_ context.Context, key string) error {
	return c.write(func() { delete(c.m, key) })
}

func (c *cupboard) Get(key string) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[key]
	return slices.Clone(v), ok, nil
}

func (c *cupboard) All(f func(string, []byte) bool) error {
	c.mu.Lock()
	m := maps.Clone(c.m)
	c.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !f(k, m[k]) {
			break
		}
	}
	return nil
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func open(t fataler, s Shelf, change ...func(*BoardOptions)) *Board {
	t.Helper()
	o := BoardOptions{Station: "hot-line", Shelf: s}
	for _, f := range change {
		f(&o)
	}
	b, err := OpenBoard(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t fataler, b *Board, ds ...ticket.Delivery) {
	t.Helper()
	for _, d := range ds {
		if _, err := b.Put(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
}

var presses int // of all tests: each press has an id of its own

// press is a press on the card as it is now.
func press(b *Board, do Verb, job uint64, item int) Command {
	presses++
	c := Command{ID: fmt.Sprint("press-", presses), Do: do, Job: job, Item: item}
	if card, ok := b.Card(job); ok {
		c.Version = card.Version
	}
	return c
}

func do(t fataler, b *Board, c Command) Result {
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

func wants(t *testing.T, b *Board, c Command, want Outcome) {
	t.Helper()
	if r := do(t, b, c); r.Outcome != want {
		t.Errorf("%s job %d: %s, want %s", c.Do, c.Job, r.Outcome, want)
	}
}

// jobs is the board in a line: what is open | what can be recalled.
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
