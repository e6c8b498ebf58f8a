package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestWhateverWriteFailsThePassIsTheSameInTheEnd(t *testing.T) {
	for _, fault := range []queuetest.Fault{queuetest.Failed, queuetest.FailedPersisted} {
		for _, restart := range []bool{false, true} {
			p := newPassHarness(t)
			put(t, p.hot, numbered(18, 1))
			for _, verb := range []Verb{Bump, Recall, Bump, Undo} {
				c := p.press(verb, 18)
				s := p.stores["sent"]
				s.Inject(fault)
				_, err := p.x.Do(t.Context(), c)
				assert.True(t, errors.Is(err, queuetest.ErrStorage), err)
				s.Inject(queuetest.None)
				if restart {
					p.start(t)
				}
				p.wants(t, c, Done)
				p.start(t)
				if sent := p.find(18, Open) == nil; sent != (verb == Bump) {
					stored := fault == queuetest.FailedPersisted
					t.Errorf("after %s (stored %v, restarted %v): sent out %v", verb, stored,
						restart, sent)
				}
			}
		}
	}
}

func TestAPageOfThePassIsToldEveryChange(t *testing.T) {
	fewChecks(t)
	rapid.Check(t, func(t *rapid.T) {
		p := newPassHarness(t)
		id, seen := "", map[string]*Order{}
		anyBoard := func(t *rapid.T) *Board {
			return map[bool]*Board{true: p.hot, false: p.cold}[rapid.Bool().Draw(t, "hot")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				job := rapid.Uint64Range(1, 9).Draw(t, "job")
				d := numbered(int(job%3), job)
				d.Ticket.Lines[0].ID = "chips"
				put(t, anyBoard(t), d)
			},
			"void": func(t *rapid.T) {
				job := rapid.Uint64Range(10, 15).Draw(t, "job")
				d := numbered(int(job%3), job)
				d.Ticket.Request, d.Ticket.Void = fmt.Sprint("void-", job), true
				d.Ticket.Lines = []ticket.Line{{Quantity: "1", Name: "Chips", Void: true}}
				d.Ticket.Lines[0].ID = rapid.SampledFrom([]string{"", "chips", "other"}).Draw(t, "id")
				put(t, anyBoard(t), d)
			},
			"press": func(t *rapid.T) {
				b := anyBoard(t)
				do(t, b, press(b, rapid.SampledFrom(Verbs()[:7]).Draw(t, "do"), rapid.Uint64Range(1, 15).Draw(t, "job"),
					rapid.IntRange(0, 1).Draw(t, "item")))
			},
			"press at the pass": func(t *rapid.T) {
				v := rapid.SampledFrom([]Verb{Bump, Undo, Recall}).Draw(t, "do")
				_, err := p.x.Do(context.Background(), p.press(v, rapid.IntRange(0, 2).Draw(t, "order")))
				assert.NoError(t, err)
			},
			"restart": func(t *rapid.T) { p.start(t) },
			"": func(t *rapid.T) {
				id = follow(t, p.x.Orders, id, seen)
				s := p.x.Snapshot()
				want := map[string]string{}
				for _, o := range slices.Concat(s.Orders, s.Recall) {
					want[o.Key] = asJSON(o)
				}
				for key, o := range seen {
					if _, ok := want[key]; ok || o.State == Open {
						if diff := cmp.Diff(want[key], asJSON(o)); diff != "" {
							t.Fatalf("the page shows (-is +shown):\n%s", diff)
						}
					}
				}
				// The recall list is bounded: an order that enters it again because a later one was recalled is not
				// told.
				for _, o := range s.Orders {
					assert.True(t, seen[o.Key] != nil, want[o.Key])
				}
			},
		})
	})
}

func asJSON(o *Order) string {
	b, _ := json.MarshalIndent(o, "", " ")
	return string(b)
}

// follow brings the state of a page up to date, by events where that is possible, and returns the new state.
func follow(t testingT, v *Orders, id string, seen map[string]*Order) string {
	t.Helper()
	events, ok := v.Since(id)
	if !ok {
		s := v.Snapshot()
		clear(seen)
		for _, o := range slices.Concat(s.Orders, s.Recall) {
			seen[o.Key] = o
		}
		return s.ID
	}
	for _, e := range events {
		var told Event
		assert.NoError(t, json.Unmarshal(e.JSON(), &told))
		delete(seen, told.Order)
		if told.Kind == "order" {
			seen[told.Order] = told.View
		}
		id = told.ID
	}
	return id
}
