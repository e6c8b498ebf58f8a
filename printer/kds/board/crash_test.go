package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestWhateverWriteFailsTheBoardIsTheSameInTheEnd(t *testing.T) {
	s := queuetest.NewStore()
	b := runEvening(t, open(t, s), nil)
	want, steps := cardContents(b), s.Writes()
	if diff := cmp.Diff(want, cardContents(open(t, s))); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	for n := 1; n <= steps; n++ {
		for name, fault := range map[string]queuetest.Fault{"failed": queuetest.Failed,
			"failed but was stored": queuetest.FailedPersisted} {
			for then, failed := range map[string]func(*Board) *Board{
				"went on":   func(b *Board) *Board { return b },
				"restarted": func(b *Board) *Board { return open(t, b.o.KV) },
			} {
				s := queuetest.NewStore()
				s.InjectAt(n, fault)
				b := runEvening(t, open(t, s), failed)
				if diff := cmp.Diff(want, cardContents(b)); diff != "" {
					t.Errorf("write %d %s, the board %s (-want +got):\n%s", n, name, then, diff)
				}
				if diff := cmp.Diff(want, cardContents(open(t, s))); diff != "" {
					t.Errorf("write %d %s, the board %s, and at the next start (-want +got):\n%s", n, name, then, diff)
				}
			}
		}
	}
}

func TestPagesAreNotToldWhatIsNotStored(t *testing.T) {
	s := queuetest.NewStore()
	b := open(t, s)
	put(t, b, order(1, "Burger"))
	changed, at := b.Changed(), b.At()
	s.Inject(queuetest.Failed)
	if err := b.Put(t.Context(), order(2, "Soup")); !errors.Is(err, queuetest.ErrStorage) {
		t.Errorf("put: %v", err)
	}
	if _, err := b.Do(t.Context(), press(b, Bump, 1, 0)); !errors.Is(err, queuetest.ErrStorage) {
		t.Errorf("bump: %v", err)
	}
	select {
	case <-changed:
		t.Error("pages were told of a change")
	default:
	}
	if got := jobs(b); got != "1 |" || b.At() != at {
		t.Errorf("board %q at %s", got, b.At())
	}
}

func TestADamagedCardDoesNotHideTheOthers(t *testing.T) {
	s := queuetest.NewStore()
	put(t, open(t, s), order(1, "Burger"), order(2, "Soup"))
	s.Set(cardKey(1), `{"v":1,"job":`)
	s.Set(cardKey(5), `{"v":9,"job":5}`)
	b := open(t, s)
	if got := jobs(b); got != "2 |" {
		t.Errorf("board %q", got)
	}
	put(t, b, order(1, "Burger"))
	if got := jobs(b); got != "2 1 |" {
		t.Errorf("board %q", got)
	}
}

func TestAnImpossibleCardIsLeftOut(t *testing.T) {
	good := queuetest.NewStore()
	put(t, open(t, good), order(1, "Burger"))
	whole := good.Value(cardKey(1))
	for _, c := range [][2]string{
		{`"job":1,`, `"job":2,`},                        // the job of another card
		{`"place":1,`, `"place":18446744073709551615,`}, // or the next place would overflow to 0
		{`"version":1,`, `"version":18446744073709551615,`},
		{`"state":"open"`, `"state":"opem"`},
		{`"put_at":`, `"off":18446744073709551615,"put_at":`},
	} {
		damaged := strings.Replace(whole, c[0], c[1], 1)
		if damaged == whole {
			t.Fatalf("no %s in %s", c[0], whole)
		}
		s := queuetest.NewStore()
		s.Set(cardKey(1), damaged)
		b := open(t, s)
		put(t, b, order(3, "Soup"), order(4, "Cake"))
		if got := jobs(b); got != "3 4 |" {
			t.Errorf("with %s: board %q", c[1], got)
		}
		if s.Value(cardKey(1)) != damaged {
			t.Errorf("with %s: it is not kept for who looks for it", c[1])
		}
		if again := jobs(open(t, s)); again != "3 4 |" {
			t.Errorf("with %s: board at the next start %q", c[1], again)
		}
	}
}

func TestABumpOfSeveralCardsThatWasInterruptedCanBeSeenAndIsFinished(t *testing.T) {
	for n := 1; n <= cardsOfAnOrder; n++ {
		for _, fault := range []queuetest.Fault{queuetest.Failed, queuetest.FailedPersisted} {
			s := queuetest.NewStore()
			b := open(t, s)
			for i := range cardsOfAnOrder {
				put(t, b, ofOrder(18, i))
			}
			c := bumpOf(b, 18)
			s.InjectAt(s.Writes()+n, fault)
			if r, err := b.Do(t.Context(), c); err == nil {
				t.Fatalf("write %d failed, and the press was answered: %s", n, r.Outcome)
			}
			wantWholeOrVisible(t, b, 18)
			b = open(t, s)
			want := n - 1
			if fault == queuetest.FailedPersisted {
				want = n
			}
			if got := wantWholeOrVisible(t, b, 18); got != want {
				t.Errorf("write %d: %d cards are bumped, want %d", n, got, want)
			}
			again := open(t, clone(s))
			// The page sends it again; or the page was closed, and the cook presses on what is left.
			wantOutcome(t, b, c, Done)
			if s := b.Snapshot(); len(s.Orders) != 0 || len(s.Recall) != 1 {
				t.Errorf("write %d: %q", n, jobs(b))
			}
			if want < cardsOfAnOrder {
				wantOutcome(t, again, press(again, Bump, uint64(180+want), 0), Done)
			}
			answer := Done
			if want == 0 { // nothing of it was stored, so the other press was the first
				answer = Already
			}
			wantOutcome(t, again, c, answer) // and its own page after all
			if got := jobs(again); !strings.HasPrefix(got, "|") || wantWholeOrVisible(t, again, 18) != cardsOfAnOrder {
				t.Errorf("write %d: %q", n, got)
			}
		}
	}
}

// cardContent is what must be equal at the end, whichever step failed.
type cardContent struct {
	Job          uint64
	State        State
	Version      uint64
	Done         []int
	Acked, Shown bool
	Paper, Order string
}

func cardContents(b *Board) (out []cardContent) {
	s := b.Snapshot()
	for _, o := range append(s.Orders, s.Recall...) {
		for _, job := range o.Jobs() {
			r := &b.get(job).rec
			key, _, _ := strings.Cut(o.Key, "~") // a number of a failed write is not used again
			out = append(out, cardContent{job, r.State, r.Version, r.Done, r.Acked, r.Shown, r.Paper, key})
		}
	}
	return out
}

// runEvening applies an evening of changes to a board. Each step is repeated until it succeeds.
// failed, if given, is called after a failure and returns the board to continue with.
func runEvening(t testingT, b *Board, failed func(*Board) *Board) *Board {
	t.Helper()
	ctx := context.Background()
	step := func(f func() error) {
		for i := 0; ; i++ {
			err := f()
			if err == nil {
				return
			}
			if !errors.Is(err, queuetest.ErrStorage) || i > 3 {
				t.Fatal(err)
			}
			b = failed(b)
		}
	}
	cmd := func(do Verb, job uint64, item int) {
		c := press(b, do, job, item)
		step(func() error {
			r, err := b.Do(ctx, c)
			if err == nil && r.Outcome != Done {
				t.Fatalf("%s job %d: %s, %q", do, job, r.Outcome, jobs(b))
			}
			return err
		})
	}
	for _, d := range []ticket.Delivery{order(1, "Burger", "Chips"), voidOrder(2, "Soup"), order(3, "Cake"),
		order(4, "Tea"), of18(5, "2 Fish"), of18(6, "1 Pie"), void18(7, "1 Fish")} {
		step(func() error { return b.Put(ctx, d) })
		step(func() error { return b.MarkShown(ctx, d.Job) })
	}
	cmd(ItemDone, 1, 1)
	cmd(ItemDone, 1, 0)
	cmd(ItemUndone, 1, 1)
	cmd(AckVoid, 2, 0)
	cmd(Bump, 2, 0)
	cmd(Bump, 1, 0)
	cmd(Undo, 1, 0)
	cmd(AckVoid, 5, 0)
	cmd(Bump, 5, 0) // three cards
	cmd(Undo, 5, 0)
	cmd(Bump, 5, 0)
	cmd(Recall, 5, 0)
	cmd(Bump, 3, 0)
	cmd(Recall, 3, 0)
	step(func() error { return b.MarkPaper(ctx, 3, "grill") })
	step(func() error { return b.ComesOut(ctx, order(4, "Tea"), "grill") })
	return b
}

// cardsOfAnOrder is how many cards each order of these tests has: its ticket and its add-ons.
const cardsOfAnOrder = 4

// ofOrder is one card of an order with several. Each has a request of its own.
func ofOrder(number, card int) ticket.Delivery {
	d := order(uint64(10*number+card), fmt.Sprint("Dish ", card))
	d.Ticket.Number = fmt.Sprint(number)
	return d
}

// bumpOf is the one press for an order. Its id is the same however often it is sent.
func bumpOf(b *Board, number int) Command {
	c := press(b, Bump, uint64(10*number), 0)
	c.ID = fmt.Sprint("bump-of-", number)
	return c
}

// wantWholeOrVisible checks an order whose bump was interrupted, and returns how many of its cards are
// bumped. Every card is either in the open order or can be recalled; and an open order without some of its
// cards says that it is a rest, and when the others were bumped.
func wantWholeOrVisible(t *testing.T, b *Board, number int) (bumped int) {
	t.Helper()
	s := b.Snapshot()
	var open, off []uint64
	for _, o := range s.Orders {
		if o.Number != fmt.Sprint("#", number) {
			continue
		}
		if open != nil {
			t.Errorf("order %d is on the board twice", number)
		}
		open = o.Jobs()
		if len(open) < cardsOfAnOrder && (o.Of == nil || o.Of.Clock == "") {
			t.Errorf("order %d has lost cards and does not say so: %d", number, open)
		}
		if o.Left != len(open) {
			t.Errorf("order %d: %d items are left of %d cards", number, o.Left, len(open))
		}
	}
	for _, o := range s.Recall {
		if o.Number == fmt.Sprint("#", number) {
			off = append(off, o.Jobs()...)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(open, off)))
	for i := range cardsOfAnOrder {
		if len(all) != cardsOfAnOrder || all[i] != uint64(10*number+i) {
			t.Fatalf("order %d: %d are open, %d can be recalled", number, open, off)
		}
	}
	return len(off)
}

// clone is a copy of a store.
func clone(s *queuetest.Store) *queuetest.Store {
	c := queuetest.NewStore()
	for _, k := range s.Keys() {
		c.Set(k, s.Value(k))
	}
	return c
}
