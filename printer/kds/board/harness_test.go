package board

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

// A testingT is a *testing.T or a *rapid.T.
type testingT interface {
	Helper()
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
	Cleanup(func())
}

func open(t testingT, s kv.Store, change ...func(*BoardOptions)) *Board {
	t.Helper()
	o := BoardOptions{Station: "hot-line", KV: s}
	for _, f := range change {
		f(&o)
	}
	b, err := OpenBoard(o)
	assert.NoError(t, err)
	return b
}

// boardOf is a new board with these tickets.
func boardOf(t testingT, ds ...ticket.Delivery) *Board {
	t.Helper()
	b := open(t, queuetest.NewStore())
	put(t, b, ds...)
	return b
}

func put(t testingT, b *Board, ds ...ticket.Delivery) {
	t.Helper()
	for _, d := range ds {
		assert.NoError(t, b.Add(context.Background(), d))
	}
}

// limit makes a board or a pass keep less than in a kitchen.
func limit(v *Orders, keep int, recallFor time.Duration, bytes int) {
	v.recallKeep, v.recallFor, v.most = keep, recallFor, bytes
}

// order is a ticket of an order of its own.
func order(job uint64, names ...string) ticket.Delivery {
	d := ticket.Delivery{Job: job, Station: "hot-line", Attempt: 1, Ticket: ticket.Ticket{
		V: 1, Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", VenueName: "Harbour Grill",
		Request: fmt.Sprintf("0d9e1c52-7c1b-4d5e-8a66-%012d", job), Number: fmt.Sprint(job), Table: "B10",
		Received: time.Date(2026, 2, 6, 10, 49, 48, 0, time.UTC), Zone: "Australia/Melbourne",
	}}
	for _, n := range names {
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: "1", Name: n})
	}
	return d
}

var presses int // over all tests: each press has its own id

// press is a command for the order or the item as it is now.
func press(b *Board, do Verb, job uint64, item int) Command {
	presses++
	c := Command{ID: fmt.Sprint("press-", os.Getpid(), "-", presses), Do: do, Order: "?"}
	if do == ItemDone || do == ItemUndone {
		c.Job, c.Item = job, item
		if k := card(b, job); k != nil {
			c.Version = k.Version
		}
	} else if o := b.OrderWith(job); o != nil {
		c.Order, c.Version = o.Key, o.Version
	}
	return c
}

// card is a ticket as pages see it; nil if they do not.
func card(b *Board, job uint64) *Ticket {
	o := b.OrderWith(job)
	if o == nil {
		return nil
	}
	i := slices.IndexFunc(o.Tickets, func(k Ticket) bool { return k.Job == job })
	if i < 0 {
		return nil
	}
	return &o.Tickets[i]
}

func do(t testingT, b *Board, c Command) Result {
	t.Helper()
	r, err := b.Do(context.Background(), c)
	assert.NoError(t, err)
	assert.True(t, r.ID == c.ID && r.At != "", r, c)
	return r
}

func wantOutcome(t *testing.T, b *Board, c Command, want Outcome) {
	t.Helper()
	assert.Equal(t, do(t, b, c).Outcome, want, c.Do, c.Job)
}

func wantEqual(t *testing.T, name string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// wantJobs compares [jobs].
func wantJobs(t *testing.T, b *Board, want string) {
	t.Helper()
	assert.Equal(t, jobs(b), want)
}

// jobs is the board in one line: jobs of the open orders | jobs of those that can be recalled.
func jobs(b *Board) string {
	s := b.Snapshot()
	var out []string
	add := func(orders []*Order) {
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

// voided is a cancellation with the lines of a ticket.
func voided(d ticket.Delivery) ticket.Delivery {
	d.Ticket.Void = true
	for i := range d.Ticket.Lines {
		d.Ticket.Lines[i].Void = true
	}
	return d
}

// fewChecks makes the checks of rapid in this test few, unless every test is to run.
func fewChecks(t *testing.T) {
	t.Helper()
	if slow.All() {
		return
	}
	checks := flag.Lookup("rapid.checks").Value
	was := checks.String()
	t.Cleanup(func() { _ = checks.Set(was) })
	assert.NoError(t, checks.Set("40"))
}
