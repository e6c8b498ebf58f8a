package board

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/kv/kvtest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A boardModel is the specification of a board in its simplest form: the tickets in the order they
// came, and what was done to each.
type boardModel struct {
	tickets  []*modelTicket // in place
	bumped   int
	commands map[string]uint64 // ids of the commands that were done, and their job
}

type modelTicket struct {
	job     uint64
	void    bool
	version uint64
	off     int // 0: on the board; else the number of its bump
	offAt   time.Time
	done    [3]bool
	acked   bool
	back    func()
	backAt  time.Time
}

const (
	modelKeep = 3
	modelFor  = 30 * time.Second
)

func (k *boardModel) find(job uint64) *modelTicket {
	for _, d := range k.tickets {
		if d.job == job {
			return d
		}
	}
	return nil
}

func (k *boardModel) put(job uint64, void bool) {
	if k.find(job) == nil {
		k.tickets = append(k.tickets, &modelTicket{job: job, void: void, version: 1})
		k.forget()
	}
}

// forget drops what can no longer be recalled.
func (k *boardModel) forget() {
	all := slices.Clone(k.tickets) // a copy: DeleteFunc moves elements
	k.tickets = slices.DeleteFunc(k.tickets, func(d *modelTicket) bool {
		later := 0
		for _, o := range all {
			if o.off > d.off {
				later++
			}
		}
		gone := d.off > 0 && (later >= modelKeep || time.Since(d.offAt) >= modelFor)
		if gone {
			for id, job := range k.commands {
				if job == d.job {
					delete(k.commands, id)
				}
			}
		}
		return gone
	})
}

func (k *boardModel) do(c Command) Outcome {
	d := k.find(c.Job)
	if d == nil {
		return Gone
	}
	if _, ok := k.commands[c.ID]; ok {
		return Done
	}
	if (c.Do == ItemDone || c.Do == ItemUndone) && c.Item > 2 {
		return Gone
	}
	isSo := map[Verb]bool{
		Bump: d.off > 0, Recall: d.off == 0, AckVoid: d.acked,
		ItemDone: d.done[c.Item%3], ItemUndone: !d.done[c.Item%3],
	}
	switch {
	case isSo[c.Do]:
		return Already
	case c.Version != d.version:
		return Conflict
	case d.off > 0 && c.Do != Recall && c.Do != Undo:
		return Conflict
	case c.Do == AckVoid && !d.void:
		return Already
	case c.Do == Bump && d.void && !d.acked:
		return Unread
	case c.Do == Recall && time.Since(d.offAt) >= modelFor:
		return Gone
	case c.Do == Undo && (d.back == nil || time.Since(d.backAt) >= 10*time.Second):
		return TooLate
	}
	var back func()
	switch c.Do {
	case Bump:
		k.bumped++
		d.off, d.offAt = k.bumped, time.Now()
		back = func() { d.off = 0 }
	case Recall:
		d.off = 0
	case ItemDone, ItemUndone:
		was := d.done[c.Item]
		d.done[c.Item] = !was
		back = func() { d.done[c.Item] = was }
	case AckVoid:
		d.acked = true
		back = func() { d.acked = false }
	case Undo:
		d.back()
	}
	d.back, d.backAt = back, time.Now()
	d.version++
	k.commands[c.ID] = c.Job
	k.forget()
	return Done
}

// lines describes the model the way [boardLines] describes the board.
func (k *boardModel) lines() (out []string) {
	var off []*modelTicket
	for _, d := range k.tickets {
		if d.off == 0 {
			out = append(out, fmt.Sprint("open ", d.job, " v", d.version, d.done, d.acked))
		} else if time.Since(d.offAt) < modelFor {
			off = append(off, d)
		}
	}
	slices.SortFunc(off, func(a, b *modelTicket) int { return b.off - a.off })
	for _, d := range off {
		out = append(out, fmt.Sprint("off ", d.job, " v", d.version, d.done, d.acked))
	}
	return out
}

func cardLines(open, recall []*Card) (out []string) {
	for i, c := range slices.Concat(open, recall) {
		where := "open "
		if i >= len(open) {
			where = "off "
		}
		out = append(out, fmt.Sprint(where, c.Job, " v", c.Version,
			[3]bool{c.Items[0].Done, c.Items[1].Done, c.Items[2].Done}, c.Acked))
	}
	return out
}

// A modelPage is a page: it knows the board only from the JSON it was sent.
type modelPage struct {
	id    string
	cards map[uint64]*Card
}

// listen brings the page up to date, by events where that is possible.
func (p *modelPage) listen(t testingT, b *Board) {
	t.Helper()
	events, ok := b.Since(p.id)
	if !ok {
		s := b.Snapshot()
		p.id, p.cards = s.ID, map[uint64]*Card{}
		for _, c := range slices.Concat(s.Open, s.Recall) {
			p.cards[c.Job] = c
		}
		return
	}
	for _, e := range events {
		var told Event
		if err := json.Unmarshal(e.JSON(), &told); err != nil {
			t.Fatal(err)
		}
		if told.Kind == "forget" {
			delete(p.cards, told.Job)
		} else {
			p.cards[told.Job] = told.Card
		}
		p.id = told.ID
	}
}

// lines is what the cook sees.
func (p *modelPage) lines() []string {
	var open, off []*Card
	for _, c := range p.cards {
		if c.State == Open {
			open = append(open, c)
		} else if time.Since(time.UnixMilli(c.OffAt)) < modelFor {
			off = append(off, c)
		}
	}
	slices.SortFunc(open, func(a, b *Card) int { return int(a.Place) - int(b.Place) })
	slices.SortFunc(off, func(a, b *Card) int { return int(b.Off) - int(a.Off) })
	return cardLines(open, off)
}

// press is a press on what this page shows, which may be out of date.
func (p *modelPage) press(t *rapid.T, n int) Command {
	c := Command{
		ID: fmt.Sprint("press-", n), Do: rapid.SampledFrom(append(Verbs(), Bump, Undo, Recall)).Draw(t, "do"),
		Job: rapid.Uint64Range(1, 8).Draw(t, "job"), Item: rapid.IntRange(0, 3).Draw(t, "item"),
	}
	if card := p.cards[c.Job]; card != nil {
		c.Version = card.Version
	}
	return c
}

// A bubbleT hides the test's deadline from rapid: the clock in a synctest bubble is another one.
type bubbleT struct{ rapid.TB }

func TestWhateverCooksPressTheBoardEqualsASimpleModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbleT{t}, func(t *rapid.T) {
			s := kvtest.New()
			small := func(o *BoardOptions) { o.RecallKeep, o.RecallFor, o.Events = modelKeep, modelFor, 4 }
			b, k := open(t, s, small), &boardModel{commands: map[string]uint64{}}
			tablets := []*modelPage{{}, {}, {}}
			var sent []Command
			give := func(t *rapid.T, c Command) {
				r, err := b.Do(context.Background(), c)
				if err != nil {
					t.Fatal(err)
				}
				if want := k.do(c); r.Outcome != want {
					t.Fatalf("%+v: %s, want %s", c, r.Outcome, want)
				}
			}
			t.Repeat(map[string]func(*rapid.T){
				"put": func(t *rapid.T) {
					job := rapid.Uint64Range(1, 8).Draw(t, "job")
					d := order(job, "Burger", "Chips", "Soup")
					if job%3 == 0 {
						d = voidOrder(job, "Burger", "Chips", "Soup")
					}
					put(t, b, d)
					k.put(job, job%3 == 0)
				},
				"press": func(t *rapid.T) {
					p := rapid.SampledFrom(tablets).Draw(t, "tablet")
					if rapid.Bool().Draw(t, "up to date") {
						p.listen(t, b)
					}
					sent = append(sent, p.press(t, len(sent)))
					give(t, sent[len(sent)-1])
				},
				"press again": func(t *rapid.T) {
					if len(sent) > 0 {
						give(t, sent[len(sent)-1-rapid.IntRange(0, min(len(sent)-1, 5)).Draw(t, "presses ago")])
					}
				},
				"restart": func(*rapid.T) { b = open(t, s, small) },
				"wait": func(t *rapid.T) {
					time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, 9 * time.Second, 10 * time.Second,
						modelFor}).Draw(t, "time"))
				},
				"listen": func(t *rapid.T) {
					p := rapid.SampledFrom(tablets).Draw(t, "tablet")
					p.listen(t, b)
					if diff := cmp.Diff(k.lines(), p.lines()); diff != "" || p.id != b.At() {
						t.Fatalf("screen in state %s of %s (-model +screen):\n%s", p.id, b.At(), diff)
					}
				},
				"": func(t *rapid.T) {
					got := b.Snapshot()
					if diff := cmp.Diff(k.lines(), cardLines(got.Open, got.Recall)); diff != "" {
						t.Fatalf("board (-model +board):\n%s", diff)
					}
				},
			})
		})
	})
}
