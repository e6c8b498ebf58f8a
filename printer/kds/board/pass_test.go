package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ticketrail/queue/kv/kvtest"
	"ticketrail/queue/ticket"
)

// An passHarness is three boards and the expo that shows them, on stores that survive a restart.
type passHarness struct {
	stores map[string]*kvtest.Store
	hot    *Board
	cold   *Board
	own    *Board
	x      *Pass
}

func newPassHarness(t testingT) *passHarness {
	p := &passHarness{stores: map[string]*kvtest.Store{}}
	for _, n := range []string{"hot", "cold", "pass", "sent"} {
		p.stores[n] = kvtest.New()
	}
	p.start(t)
	return p
}

func (p *passHarness) start(t testingT) {
	t.Helper()
	of := func(name string) *Board {
		return open(t, p.stores[name], func(o *BoardOptions) { o.Station, o.RecallKeep = name, 2 })
	}
	p.hot, p.cold, p.own = of("hot"), of("cold"), of("pass")
	x, err := OpenPass(context.Background(), PassOptions{Station: "pass", KV: p.stores["sent"], Own: p.own,
		Of: []*Board{p.hot, p.cold}, RecallKeep: 3, Events: 5})
	if err != nil {
		t.Fatal(err)
	}
	p.x = x
}

func (p *passHarness) anyBoard(t *rapid.T) *Board {
	return map[string]*Board{"hot": p.hot, "cold": p.cold,
		"own": p.own}[rapid.SampledFrom([]string{"hot", "cold", "own"}).Draw(t, "board")]
}

// passDelivery is a ticket of the order with that number.
func passDelivery(number int, job uint64) ticket.Delivery {
	d := order(job, "Burger", "Chips")
	d.Ticket.Number, d.Ticket.Request = fmt.Sprint(number), fmt.Sprint("request-", number)
	d.Ticket.Received = d.Ticket.Received.Add(time.Duration(number) * time.Second)
	return d
}

func orderLines(orders []*Order) (out []string) {
	for _, o := range orders {
		s := o.Number
		if o.Ready {
			s += " ready"
		}
		for _, st := range o.Stations {
			s += fmt.Sprintf(" %s:%v/%d", st.Station, st.Done, st.Left)
		}
		out = append(out, s)
	}
	return out
}

func (p *passHarness) find(number int, state CardState) *Order {
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
	if do == Bump {
		state = Open
	}
	if o := p.find(number, state); o != nil {
		c.Order, c.Version = o.Key, o.Version
	}
	return c
}

func (p *passHarness) wants(t *testing.T, c Command, want Outcome) {
	t.Helper()
	r, err := p.x.Do(t.Context(), c)
	if err != nil || r.Outcome != want {
		t.Errorf("%s: %s, %v, want %s", c.Do, r.Outcome, err, want)
	}
}

func TestAPassShowsWhichStationsAreDone(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, passDelivery(18, 1), passDelivery(19, 2))
	put(t, p.cold, passDelivery(18, 3))
	put(t, p.own, passDelivery(19, 4))
	do(t, p.hot, press(p.hot, ItemDone, 1, 0))
	do(t, p.cold, press(p.cold, Bump, 3, 0))
	want := []string{"#18 hot:false/1 cold:true/0", "#19 hot:false/2 pass:false/2"}
	if diff := cmp.Diff(want, orderLines(p.x.Snapshot().Orders)); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	do(t, p.hot, press(p.hot, Bump, 1, 0))
	if o := p.find(18, Open); o == nil || !o.Ready {
		t.Errorf("order %+v", o)
	}
	stale := p.press(Bump, 19)
	do(t, p.hot, press(p.hot, ItemDone, 2, 1))
	p.wants(t, stale, Conflict)
	first := p.press(Bump, 18)
	p.wants(t, first, Done)
	p.wants(t, first, Done) // delivered twice
	p.wants(t, p.press(Bump, 18), Gone)
	p.wants(t, p.press(Bump, 19), Done)
	if got := jobs(p.own); got != "| 4" {
		t.Errorf("the pass's own board %q", got)
	}
	if got := jobs(p.hot); got != "2 | 1" {
		t.Errorf("what the pass sent out left the station's board: %q", got)
	}
	p.start(t)
	if s := p.x.Snapshot(); len(s.Orders) != 0 || len(s.Recall) != 2 {
		t.Errorf("after a restart %q, %q", orderLines(s.Orders), orderLines(s.Recall))
	}
	p.wants(t, p.press(Undo, 19), Done)
	p.wants(t, p.press(Recall, 18), Done)
	if got := jobs(p.own); got != "4 |" {
		t.Errorf("the pass's own board %q", got)
	}
	if diff := cmp.Diff([]string{"#18 ready hot:true/0 cold:true/0", "#19 hot:false/1 pass:false/2"},
		orderLines(p.x.Snapshot().Orders)); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if _, err := p.x.Do(t.Context(), Command{ID: "x", Do: ItemDone, Order: "y"}); !errors.Is(err, ErrCommand) {
		t.Errorf("an item at the pass: %v", err)
	}
}

func TestATicketAfterItsOrderWasBumpedAtThePassIsANewOrder(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, passDelivery(18, 1))
	p.wants(t, p.press(Bump, 18), Done)
	late := passDelivery(18, 2)
	late.Ticket.Request = "later"
	put(t, p.hot, late)
	if o := p.find(18, Open); o == nil || len(o.Stations[0].Cards) != 1 || !o.Stations[0].Cards[0].AddOn {
		t.Errorf("order %+v", o)
	}
	if o := p.find(18, Bumped); o == nil || len(o.Stations[0].Cards) != 1 {
		t.Errorf("order %+v", o)
	}
}

func TestABoardKeepsTheCardsThatThePassNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		for i := range 5 { // two can be recalled
			put(t, p.hot, passDelivery(i, uint64(i+1)))
			do(t, p.hot, press(p.hot, Bump, uint64(i+1), 0))
		}
		time.Sleep(3 * time.Hour)
		put(t, p.hot, passDelivery(9, 9))
		p.start(t)
		if got := orderLines(p.x.Snapshot().Orders); len(got) != 6 {
			t.Errorf("the pass has %q", got)
		}
		if got := jobs(p.hot); got != "9 |" {
			t.Errorf("the station has %q", got)
		}
		for i := range 5 {
			p.wants(t, p.press(Bump, i), Done)
		}
		time.Sleep(2 * time.Hour)
		put(t, p.hot, passDelivery(10, 10))
		if n := len(p.stores["hot"].Keys()); n != 2 {
			t.Errorf("%d cards are kept", n)
		}
		time.Sleep(30 * time.Hour)
		p.wants(t, p.press(Bump, 10), Done)
		if n := len(p.stores["sent"].Keys()); n != 1 {
			t.Errorf("%d sendings are kept", n)
		}
	})
}

func TestWhateverWriteFailsThePassIsTheSameInTheEnd(t *testing.T) {
	for _, fault := range []kvtest.Fault{kvtest.Failed, kvtest.FailedPersisted} {
		for _, restart := range []bool{false, true} {
			for _, what := range []string{"sent", "pass"} {
				p := newPassHarness(t)
				put(t, p.hot, passDelivery(18, 1))
				put(t, p.own, passDelivery(18, 2))
				c := p.press(Bump, 18)
				for _, want := range []string{"| 2", "2 |"} {
					s := p.stores[what]
					s.Inject(fault)
					if _, err := p.x.Do(t.Context(), c); !errors.Is(err, kvtest.ErrStorage) {
						t.Errorf("%s fails: %v", what, err)
					}
					s.Inject(kvtest.None)
					if restart {
						p.start(t)
					}
					p.wants(t, c, Done)
					if got := jobs(p.own); got != want {
						t.Errorf("%s failed (stored %v, restarted %v): own board %q, want %q", what,
							fault == kvtest.FailedPersisted, restart, got, want)
					}
					p.start(t)
					if got := jobs(p.own); got != want {
						t.Errorf("%s failed (stored %v, restarted %v): own board at the next start %q, want %q", what,
							fault == kvtest.FailedPersisted, restart, got, want)
					}
					c = p.press(Recall, 18)
				}
			}
		}
	}
}

func TestAPassPageIsToldEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPassHarness(t)
		id, seen := "", map[string]*Order{}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				b := p.anyBoard(t)
				job := rapid.Uint64Range(1, 9).Draw(t, "job")
				put(t, b, passDelivery(int(job%3), job))
			},
			"press": func(t *rapid.T) {
				b := p.anyBoard(t)
				do(t, b, press(b, rapid.SampledFrom(Verbs()).Draw(t, "do"), rapid.Uint64Range(1, 9).Draw(t, "job"),
					rapid.IntRange(0, 1).Draw(t, "item")))
			},
			"press at the pass": func(t *rapid.T) {
				v := rapid.SampledFrom([]Verb{Bump, Undo, Recall}).Draw(t, "do")
				if _, err := p.x.Do(context.Background(),
					p.press(v, rapid.IntRange(0, 2).Draw(t, "order"))); err != nil {
					t.Fatal(err)
				}
			},
			"restart": func(t *rapid.T) { p.start(t) },
			"": func(t *rapid.T) {
				s := p.x.Snapshot()
				events, ok := p.x.Since(id)
				if !ok {
					seen = map[string]*Order{}
					for _, o := range slices.Concat(s.Orders, s.Recall) {
						seen[o.Key] = o
					}
				}
				for _, e := range events {
					var told Event
					if err := json.Unmarshal(e.JSON(), &told); err != nil {
						t.Fatal(err)
					}
					delete(seen, told.Order)
					if told.Kind == "order" {
						seen[told.Order] = told.View
					}
				}
				id = s.ID
				open := map[string]uint64{}
				for key, o := range seen {
					if o.State == Open {
						open[key] = o.Version
					}
				}
				want := map[string]uint64{}
				for _, o := range s.Orders {
					want[o.Key] = o.Version
				}
				if diff := cmp.Diff(want, open); diff != "" {
					t.Fatalf("the page shows (-is +shown):\n%s", diff)
				}
				for _, o := range s.Recall {
					if was := seen[o.Key]; was != nil && was.Version != o.Version {
						t.Fatalf("the page was not told of %s", orderLines([]*Order{o}))
					}
				}
			},
		})
	})
}
