package board

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/kv/kvtest"
	"ticketrail/queue/ticket"
)

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

func TestABumpOfSeveralCardsThatWasInterruptedCanBeSeenAndIsFinished(t *testing.T) {
	for n := 1; n <= cardsOfAnOrder; n++ {
		for _, fault := range []kvtest.Fault{kvtest.Failed, kvtest.FailedPersisted} {
			s := kvtest.New()
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
			if fault == kvtest.FailedPersisted {
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

// clone is a copy of a store.
func clone(s *kvtest.Store) *kvtest.Store {
	c := kvtest.New()
	for _, k := range s.Keys() {
		c.Set(k, s.Value(k))
	}
	return c
}

// TestABumpOfSeveralCardsIsWholeOrVisibleAfterKill9 kills the process at any moment of a bump.
func TestABumpOfSeveralCardsIsWholeOrVisibleAfterKill9(t *testing.T) {
	if path := os.Getenv(killTestQueue); path != "" {
		bumpUntilKilled(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "ticketrail.db")
	const rounds = 6
	halfDone, last := 0, 0
	for round := range rounds {
		first, n := last+1, 0
		var sure []int
		watchUntilKilled(t, path, first, func(word, step string, kill func()) {
			number, _ := strconv.Atoi(step)
			if word == "did" {
				sure = append(sure, number)
			} else if last, n = number, n+1; n == 3 {
				time.AfterFunc(rand.N(6*time.Millisecond), kill) // a bump takes a few: after any of its writes
			}
		})
		if last < first {
			t.Fatalf("round %d: no order was bumped", round)
		}
		halfDone += checkBumps(t, path, first, last, sure)
	}
	t.Logf("%d of %d bumps were half done", halfDone, rounds)
}

// bumpUntilKilled prints the number of each order before and after it bumps it.
func bumpUntilKilled(t *testing.T, path string) {
	q, err := queue.Open(queue.Options{Path: path, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, q.KV("board"))
	from, _ := strconv.Atoi(os.Getenv("KDS_TEST_FROM"))
	for number := from; number < from+1000; number++ {
		for i := range cardsOfAnOrder {
			put(t, b, ofOrder(number, i))
		}
		c := bumpOf(b, number)
		fmt.Println("try", number)
		if r, err := b.Do(context.Background(), c); err != nil || r.Outcome != Done {
			t.Fatal(r.Outcome, err)
		}
		fmt.Println("did", number)
	}
}

// checkBumps checks the orders of one round, of which those in sure were answered, and finishes the last one
// as its page would. It returns how many were half done.
func checkBumps(t *testing.T, path string, first, last int, sure []int) (halfDone int) {
	t.Helper()
	q, err := queue.Open(queue.Options{Path: path, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := open(t, q.KV("board"))
	limit(b.Orders, 1000, time.Hour, 1000)
	for number := first; number <= last; number++ {
		n := wantWholeOrVisible(t, b, number)
		if slices.Contains(sure, number) && n != cardsOfAnOrder {
			t.Errorf("the bump of order %d was answered, and %d of its cards are bumped", number, n)
		}
		if n > 0 && n < cardsOfAnOrder {
			halfDone++
		}
		if number < last { // its cards may not all have come before the end
			continue
		}
		c := bumpOf(b, number)
		if r := do(t, b, c); r.Outcome != Done {
			t.Errorf("the bump of order %d, sent again: %s", number, r.Outcome)
		}
		if n := wantWholeOrVisible(t, b, number); n != cardsOfAnOrder {
			t.Errorf("the bump of order %d, sent again: %d of its cards are bumped", number, n)
		}
	}
	return halfDone
}
