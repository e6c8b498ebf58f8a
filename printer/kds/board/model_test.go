package board

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
)

// init makes rapid draw the same values on every machine. -rapid.seed=0 draws other ones at each run.
func init() { flag.Set("rapid.seed", "1") }

// A boardModel is the specification of a board in its simplest form: orders with their tickets, in the order
// in which they came, and the presses on each. All tickets have a Burger and Chips; a void cancels Chips. Tickets of
// one check are one order at whichever table; those without a check join the order of their number and table.
type boardModel struct {
	all    []*modelTicket // in the order in which they came, also forgotten ones
	groups [][]*modelTicket
	offs   int
	done   map[string]*modelTicket // ids of the commands that were done
}

type modelTicket struct {
	job    uint64
	number int
	check  string
	table  string
	void   bool
	came   time.Time
	items  [2]bool
	acked  bool
	offAt  time.Time // zero: it is here
	off    int       // counts bumps
	last   int       // number of the last change
	lastAt time.Time
	undo   func()
}

const (
	modelKeep = 3
	modelFor  = 30 * time.Second
)

// A modelOrder is the tickets of a group that are here, or that left together.
type modelOrder []*modelTicket

func (k *boardModel) orders() (out []modelOrder) {
	for _, g := range k.groups {
		by := map[int]modelOrder{}
		var offs []int
		for _, t := range g {
			if by[t.off] == nil {
				offs = append(offs, t.off)
			}
			by[t.off] = append(by[t.off], t)
		}
		for _, off := range offs {
			out = append(out, by[off])
		}
	}
	return out
}

// recall are the orders that can be recalled, the latest first.
func (k *boardModel) recall() []modelOrder {
	list := slices.DeleteFunc(k.orders(), func(o modelOrder) bool {
		return o[0].off == 0 || time.Since(o[0].offAt) >= modelFor
	})
	slices.SortFunc(list, func(a, b modelOrder) int { return b[0].off - a[0].off })
	return list[:min(len(list), modelKeep)]
}

func (k *boardModel) put(t *modelTicket) {
	if slices.ContainsFunc(k.all, func(o *modelTicket) bool { return o.job == t.job }) {
		return
	}
	t.came = time.Now()
	k.all = append(k.all, t)
	k.place(t)
	k.forget()
}

// restart reads also orders that were forgotten: a check may go on that had left.
func (k *boardModel) restart() {
	k.groups = nil
	for _, t := range k.all {
		k.place(t)
	}
	k.forget()
}

// place puts a ticket into its order.
func (k *boardModel) place(t *modelTicket) {
	any := slices.ContainsFunc[[]*modelTicket]
	for _, joins := range []func(g []*modelTicket) bool{
		func(g []*modelTicket) bool {
			return t.check != "" && any(g, func(o *modelTicket) bool { return o.check == t.check })
		},
		func(g []*modelTicket) bool {
			return g[0].number == t.number && any(g, func(o *modelTicket) bool { return o.table == t.table }) &&
				(t.check == "" || !any(g, func(o *modelTicket) bool { return o.check != "" })) &&
				any(g, func(o *modelTicket) bool { return o.off == 0 || t.came.Sub(o.offAt) < modelFor })
		},
	} {
		for i, g := range slices.Backward(k.groups) {
			if joins(g) {
				k.groups[i] = append(g, t)
				return
			}
		}
	}
	k.groups = append(k.groups, []*modelTicket{t})
}

// forget drops orders of which nothing is here and nothing can be recalled.
func (k *boardModel) forget() {
	recall := k.recall()
	k.groups = slices.DeleteFunc(k.groups, func(g []*modelTicket) bool {
		gone := !slices.ContainsFunc(g, func(t *modelTicket) bool {
			return t.off == 0 || slices.ContainsFunc(recall, func(o modelOrder) bool { return slices.Contains(o, t) })
		})
		if gone {
			for id, t := range k.done {
				if slices.Contains(g, t) {
					delete(k.done, id)
				}
			}
		}
		return gone
	})
}

// press carries out a command of a page that is up to date, on the order or the item of a job.
func (k *boardModel) press(c Command, n int, job uint64) Outcome {
	if k.done[c.ID] != nil {
		k.forget()
		return Done
	}
	var o modelOrder
	for _, x := range k.orders() {
		if slices.ContainsFunc(x, func(t *modelTicket) bool { return t.job == job }) {
			o = x
		}
	}
	if o == nil {
		return Gone
	}
	here, item := o[0].off == 0, c.Do == ItemDone || c.Do == ItemUndone
	isUnread := func(t *modelTicket) bool { return t.void && !t.acked }
	unread := slices.ContainsFunc(o, isUnread)
	if item {
		o = slices.DeleteFunc(slices.Clone(o), func(t *modelTicket) bool { return t.job != job })
		switch is := o[0].items[c.Item%2]; {
		case c.Item > 1 || o[0].void && c.Item > 0:
			return Gone
		case is == (c.Do == ItemDone):
			return Already
		case !here:
			return Conflict
		}
	}
	switch c.Do {
	case Bump:
		if !here {
			return Already
		}
		if unread {
			return Unacknowledged
		}
		k.offs++
	case Recall:
		if here {
			return Already
		}
		if time.Since(o[0].offAt) >= modelFor {
			return Gone
		}
	case AckVoid:
		if !here {
			return Conflict
		}
		if !unread {
			return Already
		}
		o = slices.DeleteFunc(slices.Clone(o), func(t *modelTicket) bool { return !isUnread(t) })
	case Undo:
		latest := slices.MaxFunc(o, func(a, b *modelTicket) int {
			able := func(t *modelTicket) int {
				if t.undo == nil || time.Since(t.lastAt) >= 10*time.Second {
					return -1
				}
				return t.last
			}
			return cmp.Compare(able(a), able(b))
		})
		if latest.undo == nil || time.Since(latest.lastAt) >= 10*time.Second {
			return TooLate
		}
		o = slices.DeleteFunc(slices.Clone(o), func(t *modelTicket) bool { return t.last != latest.last })
	}
	for _, t := range o {
		was := *t
		undo := t.undo
		t.undo, t.last, t.lastAt = nil, n, time.Now()
		switch c.Do {
		case Bump:
			t.off, t.offAt = k.offs, time.Now()
			t.undo = func() { t.off = 0 }
		case Recall:
			t.off = 0
		case ItemDone, ItemUndone:
			t.items[c.Item] = !was.items[c.Item]
			t.undo = func() { t.items = was.items }
		case AckVoid:
			t.acked = true
			t.undo = func() { t.acked = false }
		case Undo:
			undo()
		}
		k.done[c.ID] = t
	}
	k.forget()
	return Done
}

// lines describes the model the way [pageLines] describes a page.
func (k *boardModel) lines() []string {
	var here, off []string
	line := func(o modelOrder) string {
		var out []string
		for _, t := range o {
			s := fmt.Sprint(t.job, " acked ", t.acked)
			if !t.void {
				s = fmt.Sprint(t.job, t.items)
			}
			out = append(out, s)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	for _, o := range k.orders() {
		if o[0].off == 0 {
			here = append(here, line(o))
		}
	}
	for _, o := range k.recall() {
		off = append(off, line(o))
	}
	slices.Sort(here)
	return append(append(here, "|"), off...)
}

// pageLines describes orders by their JSON.
func pageLines(orders, recall []*Order) (out []string) {
	line := func(o *Order) string {
		var out []string
		for _, v := range o.Voids {
			out = append(out, fmt.Sprint(v.Job, " acked ", v.AckedAt != 0))
		}
		for _, k := range o.Tickets {
			if slices.ContainsFunc(o.Voids, func(v Band) bool { return v.Job == k.Job }) {
				continue
			}
			out = append(out, fmt.Sprint(k.Job, [2]bool{k.Items[0].Done, k.Items[1].Done}))
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	for _, o := range orders {
		out = append(out, line(o))
	}
	slices.Sort(out)
	out = append(out, "|")
	for _, o := range recall {
		out = append(out, line(o))
	}
	return out
}

// A bubbleT hides the test's deadline from rapid: the clock in a synctest bubble is another one.
type bubbleT struct{ rapid.TB }

func TestWhateverCooksPressTheBoardEqualsASimpleModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbleT{t}, func(t *rapid.T) {
			s := queuetest.NewStore()
			small := func() *Board {
				b := open(t, s)
				limit(b.Orders, modelKeep, modelFor, 4<<10)
				b.publish()
				return b
			}
			b, k := small(), &boardModel{done: map[string]*modelTicket{}}
			id, seen := "", map[string]*Order{}
			type press1 struct {
				c   Command
				job uint64
				n   int
			}
			var sent []press1
			give := func(t *rapid.T, p press1) {
				time.Sleep(time.Millisecond) // no two presses at the same time
				r, err := b.Do(context.Background(), p.c)
				assert.NoError(t, err)
				assert.Equal(t, r.Outcome, k.press(p.c, p.n, p.job), p.c, p.job)
			}
			t.Repeat(map[string]func(*rapid.T){
				"put": func(t *rapid.T) {
					job := rapid.Uint64Range(1, 36).Draw(t, "job")
					came := &modelTicket{job: job, number: int(job % 3), void: job%4 == 0}
					came.check = rapid.SampledFrom([]string{"", "", "one", "two"}).Draw(t, "check")
					came.table = rapid.SampledFrom([]string{"4", "7"}).Draw(t, "table")
					d := numbered(came.number, job)
					d.Ticket.Request = fmt.Sprint("request-", job)
					d.Ticket.Check, d.Ticket.Table = came.check, came.table
					if came.void {
						d.Ticket.Void, d.Ticket.Lines = true, d.Ticket.Lines[1:]
						d.Ticket.Lines[0].Void = true
					}
					known := slices.ContainsFunc(k.all, func(o *modelTicket) bool { return o.job == job })
					if b.get(job) == nil && known {
						return // no queue gives a ticket again that left so long ago
					}
					put(t, b, d)
					k.put(came)
				},
				"press": func(t *rapid.T) {
					job := rapid.Uint64Range(1, 36).Draw(t, "job")
					do := rapid.SampledFrom([]Verb{Bump, Bump, Undo, Recall, ItemDone, ItemUndone, AckVoid}).
						Draw(t, "do")
					c := press(b, do, job, rapid.IntRange(0, 2).Draw(t, "item"))
					if e := b.get(job); e != nil && c.Job != 0 { // also of a void that is only a band
						c.Version = e.rec.Version
					}
					sent = append(sent, press1{c, job, len(sent) + 1})
					give(t, sent[len(sent)-1])
				},
				"press again": func(t *rapid.T) {
					if len(sent) > 0 {
						p := sent[len(sent)-1-rapid.IntRange(0, min(len(sent)-1, 5)).Draw(t, "presses ago")]
						if k.done[p.c.ID] != nil {
							give(t, p)
						}
					}
				},
				"restart": func(*rapid.T) {
					b = small()
					b.sweep(context.Background()) // a pass may want old orders; here is none
					k.restart()
				},
				"wait": func(t *rapid.T) {
					time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, 9 * time.Second, modelFor}).
						Draw(t, "time"))
				},
				"": func(t *rapid.T) {
					got := b.Snapshot()
					if diff := gocmp.Diff(k.lines(), pageLines(got.Orders, got.Recall)); diff != "" {
						t.Fatalf("board (-model +board):\n%s", diff)
					}
					if rapid.Bool().Draw(t, "a page looks") {
						id = follow(t, b.Orders, id, seen)
						for _, o := range got.Orders {
							if diff := gocmp.Diff(asJSON(o), asJSON(seen[o.Key])); diff != "" {
								t.Fatalf("the page shows (-board +page):\n%s", diff)
							}
						}
					}
				},
			})
		})
	})
}
