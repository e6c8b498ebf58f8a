package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

func TestACopyHasAsVoidWhatWasVoidedBeforeIt(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "3Fish 2Pie", "grill"))
	q.print("grill")
	q.wantCopy(1, ReprintOptions{}, "3Fish 2Pie")
	q.accept(dinner("a", "2Fish 1Fish- 2Pie", "grill"))
	const now = "2Fish 1Fish- 2Pie"
	q.wantCopy(1, ReprintOptions{}, now) // the void still waits
	for range 2 {
		q.restart()
		q.wantCopy(1, ReprintOptions{}, now)
		q.wantCopy(1, ReprintOptions{AsItWas: true}, "3Fish 2Pie")
		q.wantCopy(1, ReprintOptions{Station: "bar"}, now)
	}
	done, err := q.Reprint(bg, 1, ReprintOptions{})
	if q.must(err); done.Voided != 1 || done.Later != nil {
		t.Errorf("%+v, want one line", done)
	}
	// A copy of a copy begins with the ticket as it came.
	q.print("grill")
	q.wantCopy(done.Job, ReprintOptions{}, now)
	q.wantCopy(done.Job, ReprintOptions{AsItWas: true}, "3Fish 2Pie")
	q.accept(dinner("a", "1Fish 1Fish- 1Fish- 2Pie", "grill"))
	q.wantCopy(done.Job, ReprintOptions{}, "1Fish 1Fish- 1Fish- 2Pie")
	// The void itself is copied as it is.
	q.wantCopy(3, ReprintOptions{}, "1Fish-")
}

func TestAVoidCountsOnceWhateverPeopleDidWithIt(t *testing.T) {
	for name, do := range map[string]func(q *testQueue) error{
		"nothing":   func(*testQueue) error { return nil },
		"moved":     func(q *testQueue) error { return errOf(q.Move(bg, []uint64{2}, "bar")) },
		"cancelled": func(q *testQueue) error { return q.Cancel(bg, 2, "told") },
		"reprinted": func(q *testQueue) error { q.print("grill"); return errOf(q.Reprint(bg, 2, ReprintOptions{})) },
		"failed":    func(q *testQueue) error { return q.take("grill").Fail(bg, "no") },
		"expired":   func(q *testQueue) error { return errOf(q.Expire(bg, "grill", -time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			q := start(t)
			q.accept(dinner("a", "3Fish", "grill"))
			q.print("grill")
			q.accept(dinner("a", "2Fish 1Fish-", "grill"))
			q.must(do(q))
			q.wantCopy(1, ReprintOptions{Station: "wall"}, "2Fish 1Fish-")
		})
	}
}

func TestACopyOfWhatWasMovedKnowsWhereItWasRouted(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish 1Pie", "grill"))
	q.must(errOf(q.Move(bg, []uint64{1}, "bar")))
	q.print("bar")
	q.accept(dinner("a", "1Fish- 1Pie", "grill", "pass")) // the pass has it as well, and is not asked
	q.wantCopy(2, ReprintOptions{}, "1Fish- 1Pie")
	q.wantCopy(2, ReprintOptions{AsItWas: true, Station: "wall"}, "1Fish 1Pie")
}

func TestAMovedHeldTicketTellsWhatWasVoidedSince(t *testing.T) {
	for name, move := range map[string]func(q *testQueue) error{
		"by its id": func(q *testQueue) error { return errOf(q.Move(bg, []uint64{1}, "bar")) },
		"with all":  func(q *testQueue) error { return errOf(q.MoveAll(bg, "grill", "bar")) },
	} {
		t.Run(name, func(t *testing.T) {
			q := start(t)
			q.accept(dinner("a", "1Fish 1Pie", "grill"))
			q.must(q.take("grill").Hold(bg, "look"))
			q.accept(dinner("a", "1Fish- 1Pie", "grill"))
			q.print("grill")
			q.must(move(q))
			if d := q.print("bar"); lines(d) != "1Fish- 1Pie" || !d.Reprint {
				t.Errorf("%q, reprint %t", lines(d), d.Reprint)
			}
		})
	}
	t.Run("what only waits is moved as it is", func(t *testing.T) {
		q := start(t)
		q.accept(dinner("a", "1Fish 1Pie", "grill"))
		q.accept(dinner("a", "1Fish- 1Pie", "grill"))
		q.must(errOf(q.MoveAll(bg, "grill", "bar"))) // with the void behind it
		if got := lines(q.print("bar")) + " | " + lines(q.print("bar")); got != "1Fish 1Pie | 1Fish-" {
			t.Error(got)
		}
	})
}

func TestAVoidThatIsAcceptedDuringTheSearchIsOnTheCopy(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "3Fish", "grill"))
	q.print("grill")
	q.accept(dinner("a", "2Fish 1Fish-", "grill"))
	found, err := q.search(bg, 1)
	q.must(err)
	q.accept(dinner("a", "1Fish 1Fish- 1Fish-", "grill"))
	for range 2 { // the transaction may be built twice
		q.must(q.do(bg, opOnce, copyOp, func(b *batch) error { return errOf(b.reprint(1, ReprintOptions{}, found)) }))
	}
	for _, want := range []string{"1Fish-", "1Fish-", "1Fish 1Fish- 1Fish-", "1Fish 1Fish- 1Fish-"} {
		if got := lines(q.print("grill")); got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	}
}

func TestAHeldTicketThatWasNotSearchedIsSearchedWhenItMoves(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "3Fish", "grill"))
	q.must(q.take("grill").Hold(bg, "look"))
	q.accept(dinner("a", "3Fish-", "grill"))
	q.must(q.do(bg, opOnce, copyOp, func(b *batch) error {
		m, err := b.checkMovable(1, "bar")
		if err == nil {
			b.move(m, "bar", nil)
		}
		return err
	}))
	if got := lines(q.print("bar")); got != "3Fish-" {
		t.Error(got)
	}
}

func TestTheSearchReadsAllThatCameLater(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "3Fish", "grill"))
	for i := range 2*pageSize + 7 {
		q.accept(order(fmt.Sprint(i), "bar"))
	}
	q.accept(dinner("a", "3Fish-", "grill"))
	q.print("grill")
	q.wantCopy(1, ReprintOptions{}, "3Fish-")
}

func TestANumberMeansTheSameOrderForSomeHours(t *testing.T) {
	inBubble(t, func(_ *testing.T, q *testQueue) {
		q.accept(dinner("a", "1Fish", "grill"))
		q.print("grill")
		time.Sleep(12 * time.Hour)
		q.accept(dinner("b", "1Fish-", "grill")) // job 2
		time.Sleep(time.Second)
		q.accept(dinner("c", "1Fish-", "grill"))
		q.wantCopy(1, ReprintOptions{}, "1Fish Later for #142: VOID at 19:30 (job 2)")
		time.Sleep(sameNumberFor)
		q.accept(dinner("a", "1Fish-", "grill")) // the same request is the same order for ever
		q.wantCopy(1, ReprintOptions{}, "1Fish-")
	})
}

func TestACopyOfWhatHasNoHistoryIsNotMatched(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(dinner("a", "1Fish", "grill"))
		q.must(errOf(q.Move(bg, []uint64{1}, "bar")))
		q.must(q.take("bar").Hold(bg, "look"))
		time.Sleep(12 * time.Hour)
		if n := len(q.jobs(Filter{})); n != 1 {
			t.Fatalf("%d jobs are left, want only the held one", n)
		}
		q.accept(dinner("a", "1Fish-", "grill")) // job 3; that the order was at grill is not known any more
		q.print("grill")
		done, err := q.Reprint(bg, 2, ReprintOptions{})
		if q.must(err); done.Voided != 0 || len(done.Later) != 1 {
			t.Errorf("%+v, want one note", done)
		}
		l := q.take("bar")
		const note = "1Fish Later for #142: VOID at 19:30 (job 3 at grill)"
		if got := lines(l.Delivery()); got != note {
			t.Errorf("printed %q, want %q", got, note)
		}
		q.must(l.Hold(bg, "look"))
		time.Sleep(12 * time.Hour) // now this copy is all that is left
		q.accept(dinner("a", "1Fish- 1Fish-", "grill"))
		q.wantCopy(done.Job, ReprintOptions{}, note+" Later for #142: VOID at 19:30 (job 5 at grill)")
	}, func(o *Options) { o.HistoryRetention = 10 * time.Hour })
}

func TestACopyOfARescuedTicketSaysWhatTheScreenSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.showOnScreen(1) // 1 Soup
		q.rescue(true, 1) // job 2 at grill
		q.accept(cancelled(order(id(0), "wall")))
		q.print("wall")
		copied := func(job uint64) (string, []string) {
			done, err := q.Reprint(bg, job, ReprintOptions{})
			q.must(err)
			d := q.print("grill")
			if d.Job != done.Job || d.Ticket.Notes[0] != "was on the screen" {
				t.Errorf("printed job %d with the notes %q", d.Job, d.Ticket.Notes)
			}
			return lines(d), d.Ticket.Later
		}
		q.print("grill")
		for range 2 {
			if got, _ := copied(2); got != "1Soup-" {
				t.Errorf("the copy is %q", got)
			}
		}
		if got, _ := copied(4); got != "1Soup-" {
			t.Errorf("the copy of the copy is %q", got)
		}
	})
}

func TestACopyOfARescuedCopyCancelsNothingTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		shown := func() ticket.Ticket {
			l := q.begin("wall")
			q.must(l.Ack(bg, ticket.Shown, ""))
			return l.Delivery().Ticket
		}
		q.accept(dinner("a", "3Fish", "wall"))
		shown()
		q.accept(dinner("a", "2Fish 1Fish-", "wall"))
		shown()
		q.must(errOf(q.Reprint(bg, 1, ReprintOptions{}))) // job 3
		card := shown()
		q.must(errOf(q.Rescue(bg, "wall", "grill", []ticket.RescueCard{{Job: 3, Ticket: &card}})))
		q.print("grill")
		q.wantCopy(4, ReprintOptions{}, "2Fish 1Fish- Later for #142: VOID at 19:30 (job 2 at wall)")
	})
}

func TestACopyOfATicketThatNothingWasVoidedInIsStoredAsItIs(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	q.print("grill")
	var stored []byte
	q.edit(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketNames[bucketJobs])
		j, err := unseal(b.Get(key64(1)))
		stored = seal([]byte(`{"of_a_newer_version":1,`), j[1:])
		return errors.Join(err, b.Put(key64(1), stored))
	})
	q.must(errOf(q.Reprint(bg, 1, ReprintOptions{})))
	q.must(q.view(func(tx *bolt.Tx) error {
		if got := tx.Bucket(bucketNames[bucketJobs]).Get(key64(2)); !bytes.Equal(got, stored) {
			t.Errorf("stored %q, want %q", got, stored)
		}
		return nil
	}))
	q.print("grill")
}

func TestACopyNamesWhatCannotBeRead(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	q.print("grill")
	q.accept(dinner("a", "1Fish-", "grill"))
	q.accept(dinner("b", "1Fish", "bar"))
	q.edit(func(tx *bolt.Tx) error {
		if err := flip(bucketJobs, key64(3))(tx); err != nil { // of another request
			return err
		}
		return flip(bucketJobs, key64(2))(tx)
	})
	got := q.copyOf(1, ReprintOptions{})
	if !strings.HasPrefix(got, "1Fish Later for #142: UNREADABLE at ") || !strings.HasSuffix(got, " (job 2)") {
		t.Error(got)
	}
}

func TestAReprintEndsWithItsContextWhileItLooksForCancellations(t *testing.T) {
	q := start(t)
	q.accept(order("first", "grill"))
	q.print("grill")
	q.orders(pageSize, "bar")
	wantErr(t, errOf(q.Reprint(&endsAfter{bg, 0}, 1, ReprintOptions{})), context.Canceled)
	must(t, errOf(q.Reprint(&endsAfter{bg, 1}, 1, ReprintOptions{})))
	q.accept(order("one more", "bar"))
	wantErr(t, errOf(q.Reprint(&endsAfter{bg, 1}, 1, ReprintOptions{})), context.Canceled) // a page is one read
	must(t, errOf(q.Reprint(&endsAfter{bg, 2}, 1, ReprintOptions{})))
	q.must(q.take("grill").Hold(bg, "look"))
	held := q.jobs(Filter{States: []ticket.State{ticket.Held}})[0].ID
	wantErr(t, errOf(q.Move(&endsAfter{bg, 0}, []uint64{held}, "bar")), context.Canceled)
	wantErr(t, errOf(q.MoveAll(&endsAfter{bg, 0}, "grill", "bar")), context.Canceled)
	q.wantState(held, ticket.Held)
}

func TestAReprintOfAnExtendedSlipHasAllItsLines(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for _, name := range []string{"a", "b"} {
			q.accept(order(name, "grill"))
			time.Sleep(2 * time.Hour)
			must(t, errOf(q.Expire(bg, "grill", time.Hour)))
		}
		slip := q.print("grill")
		must(t, errOf(q.Reprint(bg, slip.Job, ReprintOptions{})))
		if d := q.print("grill"); d.Ticket.Kind != ticket.Slip || len(d.Ticket.Lines) != 2 || !d.Reprint {
			t.Errorf("printed %+v", d)
		}
	})
}

// copyOf reprints a job, which must be due, prints the copy, and returns it in the notation of dinner.
func (q *testQueue) copyOf(job uint64, o ReprintOptions) string {
	q.t.Helper()
	done, err := q.Reprint(bg, job, o)
	q.must(err)
	for {
		d := q.print(q.job(done.Job).Station)
		if d.Job == done.Job {
			return lines(d)
		}
	}
}

func lines(d ticket.Delivery) string {
	var words []string
	for _, l := range d.Ticket.Lines {
		s := l.Quantity + l.Name
		if l.Void {
			s += "-"
		}
		words = append(words, s)
	}
	return strings.Join(append(words, d.Ticket.Later...), " ")
}
