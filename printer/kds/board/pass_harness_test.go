package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

// A passHarness is two boards and the pass that shows them, on stores that survive a restart.
type passHarness struct {
	stores    map[string]*queuetest.Store
	hot, cold *Board
	x         *Pass

	mu       sync.Mutex
	siblings []Sibling // the queue's knowledge beside the boards; nil: it is not asked
	asked    int
	askError error
}

// newPassHarness returns one whose queue knows of these siblings. Without any, it is not asked.
func newPassHarness(t testingT, siblings ...Sibling) *passHarness {
	p := &passHarness{stores: map[string]*queuetest.Store{}, siblings: siblings}
	for _, n := range []string{"hot", "cold", "sent"} {
		p.stores[n] = queuetest.NewStore()
	}
	p.start(t)
	t.Cleanup(func() { p.x.Close() })
	return p
}

// start opens the boards and the pass again.
func (p *passHarness) start(t testingT) {
	t.Helper()
	if p.x != nil {
		p.x.Close()
	}
	of := func(name string) *Board {
		b := open(t, p.stores[name], func(o *BoardOptions) { o.Station = name })
		limit(b.Orders, 2, time.Hour, 256<<10)
		return b
	}
	p.hot, p.cold = of("hot"), of("cold")
	o := PassOptions{Station: "pass", KV: p.stores["sent"], Boards: []*Board{p.hot, p.cold},
		Title: func(station string) string { return station }}
	if p.siblings != nil {
		o.Siblings = p.ask
	}
	x, err := OpenPass(o)
	assert.NoError(t, err)
	p.x = x
	x.write.Lock()
	defer x.write.Unlock()
	limit(x.Orders, 3, time.Hour, 4<<10)
}

// ask returns the queue's knowledge.
func (p *passHarness) ask([]uint64) ([]Sibling, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return slices.Clone(p.siblings), p.askError
}

// askedIn says how often the pass asks within d.
func (p *passHarness) askedIn(d time.Duration) int {
	asked := func() int {
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.asked
	}
	before := asked()
	time.Sleep(d)
	return asked() - before
}

// set changes the queue's knowledge, and waits until the pass has noticed.
func (p *passHarness) set(list ...Sibling) {
	p.mu.Lock()
	p.siblings = list
	p.mu.Unlock()
	time.Sleep(finalInterval)
	synctest.Wait()
}

// numbered is a ticket of the order with that number.
func numbered(number int, job uint64) ticket.Delivery {
	d := order(job, "Burger", "Chips")
	d.Ticket.Number, d.Ticket.Request = fmt.Sprint(number), fmt.Sprint("request-", number)
	d.Ticket.Received = d.Ticket.Received.Add(time.Duration(number) * time.Second)
	return d
}

func partLines(orders []*Order) (out []string) {
	for _, o := range orders {
		s := o.Number
		if o.Ready {
			s += " ready"
		}
		if o.Cancelled {
			s += " cancelled"
		}
		for _, p := range o.Parts {
			s += fmt.Sprintf(" %s=%s", p.Station, p.State)
			if p.Left > 0 {
				s += fmt.Sprintf("/%d", p.Left)
			}
		}
		out = append(out, s)
	}
	return out
}

// linesOf is what a page shows of a part in English.
func linesOf(p Part) string {
	var out []string
	for _, l := range p.Lines {
		text := cmp.Or(l.Text, "all of it")
		if l.Void {
			text = "VOID " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (p *passHarness) find(number int, state State) *Order {
	s := p.x.Snapshot()
	for _, o := range append(s.Orders, s.Recall...) {
		if o.Number == fmt.Sprint("#", number) && o.State == state {
			return o
		}
	}
	return nil
}

func (p *passHarness) press(do Verb, number int) Command {
	presses++
	c := Command{ID: fmt.Sprint("pass-", presses), Do: do, Order: "?"}
	state := Bumped
	if do == Bump || do == Tick || do == Untick {
		state = Open
	}
	if o := p.find(number, state); o != nil {
		c.Order, c.Version = o.Key, o.Version
	}
	return c
}

// tick presses Tick or Untick for a part of order 18.
func (p *passHarness) tick(t *testing.T, do Verb, part string, want Outcome) {
	t.Helper()
	c := p.press(do, 18)
	c.PartStation = part
	p.wants(t, c, want)
}

func (p *passHarness) wants(t *testing.T, c Command, want Outcome) {
	t.Helper()
	r, err := p.x.Do(t.Context(), c)
	assert.True(t, err == nil && r.Outcome == want, c.Do, r.Outcome, err, want)
}

func (p *passHarness) wantParts(t *testing.T, want ...string) {
	t.Helper()
	wantEqual(t, "orders", want, partLines(p.x.Snapshot().Orders))
}

// barJob is a job of order 18 at a printer.
func barJob(job uint64, state ticket.State) Sibling {
	d := numbered(18, job)
	d.Ticket.Lines = []ticket.Line{{Quantity: "2", Name: "Beer"}}
	s := Sibling{Job: job, Routed: "bar", At: "bar", Kind: Paper, State: state, Ticket: d.Ticket}
	if !state.Open() {
		s.Ended = d.Ticket.Received.Add(time.Minute)
	}
	return s
}

// doneAtHot puts the part of order 18 that the station hot has already made.
func (p *passHarness) doneAtHot(t *testing.T) {
	t.Helper()
	put(t, p.hot, numbered(18, 1))
	do(t, p.hot, press(p.hot, Bump, 1, 0))
}
