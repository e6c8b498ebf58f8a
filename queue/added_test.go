package queue

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// with is request "a" with these lines for the grill.
func with(names ...string) ticket.Request {
	r := order("a", "grill")
	r.Drafts[0].Ticket.Lines = nil
	for _, n := range names {
		r.Drafts[0].Ticket.Lines = append(r.Drafts[0].Ticket.Lines, ticket.Line{Quantity: "1", Name: n})
	}
	r.Digest = sha256.Sum256(fmt.Append(nil, names))
	return r
}

var oneAdded = ticket.Receipt{Duplicate: true, Conflict: true, Jobs: 1, Added: 1}

func (q *testQueue) wantAdded(names ...string) {
	q.t.Helper()
	d := q.print("grill")
	var got []string
	for _, l := range d.Ticket.Lines {
		got = append(got, l.Name)
	}
	if !d.Ticket.Added || !slices.Equal(got, names) {
		q.t.Errorf("printed %+v, want %q added", d.Ticket, names)
	}
}

func TestWhatIsNewUnderAKnownKeyIsAddedOnceOverRestarts(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	q.print("grill")
	q.restart()
	if got := q.accept(with("Fish", "Steak")); got != oneAdded {
		t.Fatalf("receipt %+v", got)
	}
	q.restart()
	q.wantDuplicate(with("Fish", "Steak"))
	if got := q.accept(with("Steak", "Tea")); got != oneAdded {
		t.Fatalf("receipt of a third %+v", got)
	}
	q.wantAdded("Steak")
	q.wantAdded("Tea")
	q.wantNothing("grill")
}

func TestOneChangedRequestSentManyTimesAtOnceAddsOnce(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	var jobs atomic.Int32
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			got, err := q.Accept(t.Context(), with("Fish", "Steak"))
			if err != nil {
				t.Error(err)
			}
			jobs.Add(int32(got.Jobs))
		})
	}
	all.Wait()
	if jobs.Load() != 1 {
		t.Errorf("%d jobs", jobs.Load())
	}
	q.print("grill")
	q.wantAdded("Steak")
	q.wantNothing("grill")
}

func TestAConflictThatIsOnlyReportedAddsNothing(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	r := with("Fish", "Steak")
	r.ReportConflict = true
	if got := q.accept(r); got != (ticket.Receipt{Duplicate: true, Conflict: true}) {
		t.Fatalf("receipt %+v", got)
	}
	q.print("grill")
	q.wantNothing("grill")
	q.accept(with("Fish", "Steak", "Tea")) // what was reported has not printed
	q.wantAdded("Steak", "Tea")
}

func TestAnAdditionForWhichThereIsNoRoomIsRefusedAndComesAgain(t *testing.T) {
	q := start(t, func(o *Options) { o.MaxBacklog = 1 })
	q.accept(with("Fish"))
	q.wantRefused(with("Fish", "Steak"), ErrBacklogFull)
	q.print("grill")
	q.accept(with("Fish", "Steak"))
	q.wantAdded("Steak")
}

// A key of an earlier version has no record of what has printed, and a damaged one cannot be read.
func TestOfAKeyThatDoesNotSayWhatHasPrintedEverythingIsAddedAndMarked(t *testing.T) {
	for name, change := range map[string]func(b *bolt.Bucket, key []byte) error{
		"absent":  func(b *bolt.Bucket, key []byte) error { return b.Delete(key) },
		"damaged": func(b *bolt.Bucket, key []byte) error { return b.Put(key, []byte("odd")) },
		"cut":     func(b *bolt.Bucket, key []byte) error { return b.Put(key, seal([]byte{0, 1, 2})) },
		"empty":   func(b *bolt.Bucket, key []byte) error { return b.Put(key, seal()) },
	} {
		t.Run(name, func(t *testing.T) {
			q := start(t)
			r := with("Fish")
			q.accept(r)
			q.print("grill")
			q.edit(func(tx *bolt.Tx) error {
				b := tx.Bucket(bucketNames[bucketDedup]).Bucket(key64(generationOf(0)))
				return change(b, paperKey(keyOf(r.Venue, r.ID)))
			})
			q.wantDuplicate(r)
			q.accept(with("Fish", "Steak"))
			d := q.print("grill")
			if len(d.Ticket.Lines) != 2 || !d.Ticket.Added || len(d.Ticket.Banners) != 1 {
				t.Errorf("printed %+v", d.Ticket)
			}
			q.accept(with("Fish", "Steak", "Tea"))
			q.wantAdded("Tea")
		})
	}
}

func TestARequestWithFiveHundredContentsIsStillRead(t *testing.T) {
	q := start(t)
	for n := range 500 {
		q.accept(with("Fish", fmt.Sprint(n)))
	}
	for range 500 {
		q.print("grill")
	}
	q.wantNothing("grill")
	q.accept(with("Fish", "7", "Tea"))
	q.wantAdded("Tea")
}

// dishes is request "a": "2 Fish", or "-Fish" for a void.
func dishes(all ...string) ticket.Request {
	r := with(all...)
	for i := range r.Drafts[0].Ticket.Lines {
		l := &r.Drafts[0].Ticket.Lines[i]
		l.Name, l.Void = strings.CutPrefix(l.Name, "-")
		if q, name, ok := strings.Cut(l.Name, " "); ok {
			l.Quantity, l.Name = q, name
		}
	}
	return r
}

// prints prints all that waits at the grill.
func (q *testQueue) prints(want ...string) {
	q.t.Helper()
	var got []string
	for q.station("grill").Pending > 0 {
		t, s := q.print("grill").Ticket, ""
		if t.Added {
			s = "added"
		}
		for _, l := range t.Lines {
			s += map[bool]string{false: " ", true: " -"}[l.Void] + l.Quantity + " " + l.Name
		}
		got = append(got, strings.TrimSpace(s+t.Raw))
	}
	if !slices.Equal(got, want) {
		q.t.Errorf("printed %q, want %q", got, want)
	}
}

func TestWhatIsVoidAgainAfterItWasWantedAgainPrintsAsVoidAgain(t *testing.T) {
	q := start(t)
	q.accept(dishes("2 Fish"))
	q.accept(dishes("Fish", "-Fish"))
	q.accept(dishes("2 Fish", "Tea"))
	q.prints("2 Fish", "-1 Fish", "added 1 Fish 1 Tea")
	q.accept(dishes("Fish", "-Fish", "Tea"))
	q.prints("-1 Fish")
	q.damageKey(with())
	q.accept(dishes("Fish", "-Fish", "Tea"))
	q.accept(dishes("Fish", "-Fish", "Tea", "Cake"))
	q.prints("-1 Fish", "added 1 Cake")
}

// Its hashes were stored without it: a file of an earlier version, or one that was salvaged.
func TestWhatIsVoidAgainPrintsAsVoidAgainIfNobodyKnewWhatHadPrinted(t *testing.T) {
	q := start(t)
	r := with("Fish")
	q.accept(r)
	q.accept(dishes("-Fish"))
	q.prints("1 Fish", "-1 Fish")
	q.edit(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucketDedup]).Bucket(key64(generationOf(0))).Delete(paperKey(keyOf(r.Venue, r.ID)))
	})
	q.accept(dishes("Fish", "Soup"))
	q.accept(dishes("-Fish", "Soup"))
	q.prints("added 1 Fish 1 Soup", "-1 Fish")
}

func TestAVoidThatAPersonPrintsLateTwicePrintsOnce(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	q.accept(dishes("-Fish"))
	q.accept(with("Fish", "Tea"))
	q.prints("1 Fish", "-1 Fish", "added 1 Fish 1 Tea")
	late := dishes("-Fish")
	late.Late = true
	q.accept(late)
	q.accept(late)
	q.prints("-1 Fish")
}

func TestWhatWasCancelledWhileConflictsWereReportedIsAddedIfItIsWantedAgain(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	void := dishes("-Fish")
	void.ReportConflict = true
	q.accept(void)
	late := with("Fish", "Steak")
	late.Late = true
	q.accept(late)
	q.prints("1 Fish", "-1 Fish", "added 1 Fish 1 Steak")
}

func TestAnUnreadableRecordUnderAKnownKeyIsMarkedAsAdded(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	r := with()
	r.Drafts[0].Unreadable, r.Drafts[0].Ticket.Raw = true, "{}"
	q.accept(r)
	q.prints("1 Fish", "added{}")
}

func TestOfAKeyWhoseRecordIsDamagedWhatHasNotPrintedIsAdded(t *testing.T) {
	q := start(t)
	r := with("Fish")
	q.accept(r)
	q.print("grill")
	key := keyOf(r.Venue, r.ID)
	q.edit(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucketDedup]).Bucket(key64(generationOf(0))).Put(key[:], []byte("odd"))
	})
	reported := with("Fish", "Steak")
	reported.ReportConflict = true
	if got := q.accept(reported); got != (ticket.Receipt{Duplicate: true, Conflict: true}) {
		t.Errorf("receipt of what is only reported %+v", got)
	}
	q.damageKey(r)
	if got := q.accept(with("Fish", "Steak")); got != oneAdded {
		t.Errorf("receipt %+v", got)
	}
	q.wantAdded("Steak")
	q.wantNothing("grill")
}

func TestAVoidOfWhatWasAddedIsNamedOnItsReprintAndStrikesNothing(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	q.accept(with("Fish", "Steak"))
	q.print("grill")
	q.print("grill")
	void := with("Fish", "Steak", "x")
	void.Drafts[0].Ticket.Lines = void.Drafts[0].Ticket.Lines[:2]
	void.Drafts[0].Ticket.Lines[1].Void = true
	q.accept(void)
	q.print("grill")
	done, err := q.Reprint(bg, 2, ReprintOptions{})
	q.must(err)
	if done.Voided != 0 || len(done.Later) != 1 {
		t.Errorf("reprinted %+v", done)
	}
}

func TestOnAReprintOfAnOrderAVoidOfItOrOfWhatWasAddedStrikesNothing(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	q.accept(with("Fish", "Fish"))
	q.accept(dishes("Fish", "-Fish"))
	q.prints("1 Fish", "added 1 Fish", "-1 Fish")
	done, err := q.Reprint(bg, 1, ReprintOptions{})
	q.must(err)
	if done.Voided != 0 || len(done.Later) != 1 {
		t.Errorf("reprinted %+v", done)
	}
	q.prints("1 Fish")
}

func TestAReprintOfWhatWasWantedAgainNamesItsCancellation(t *testing.T) {
	q := start(t)
	q.accept(cancelled(order("A", "grill")))
	q.accept(order("A", "grill"))
	q.print("grill") // the cancellation
	first := q.print("grill")
	copied, err := q.Reprint(bg, first.Job, ReprintOptions{})
	q.must(err)
	if got := q.print("grill"); got.Job != copied.Job || len(first.Ticket.Later) != 1 ||
		!slices.Equal(got.Ticket.Later, first.Ticket.Later) {
		t.Errorf("the reprint names %q, the slip %q", got.Ticket.Later, first.Ticket.Later)
	}
}

func FuzzWhatHasPrintedIsReadAsItWasWritten(f *testing.F) {
	f.Add(encodePaper(ticket.PaperOf(with("Fish", "Steak").Drafts)))
	f.Add(encodePaper(ticket.Paper{Partial: true}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePaper(seal(b))
		if err != nil {
			return
		}
		if again, err := decodePaper(encodePaper(p)); err != nil || !slices.Equal(again.Lines, p.Lines) {
			t.Errorf("%+v is read as %+v, %v", p, again, err)
		}
	})
}

func TestWhatAPersonPrintsLatePrintsOnlyWhatHasNot(t *testing.T) {
	q := start(t)
	late := with("Fish")
	late.Late = true
	if got := q.accept(late); got != (ticket.Receipt{Jobs: 1}) {
		t.Errorf("first: %+v", got)
	}
	before := q.disk.commits()
	for range 2 {
		if got := q.accept(late); got != (ticket.Receipt{Duplicate: true}) {
			t.Errorf("again: %+v", got)
		}
	}
	if n := q.disk.commits() - before; n != 0 {
		t.Errorf("that cost %d commits", n)
	}
	q.wantDuplicate(with("Fish"))
	reported := with("Fish", "Steak")
	reported.ReportConflict = true
	q.accept(reported)
	reported.Late, reported.ReportConflict = true, false
	for range 3 {
		q.accept(reported)
	}
	q.print("grill")
	q.wantAdded("Steak")
	q.wantNothing("grill")
}

func TestAPersonMayPrintWhatNobodyKnowsToHavePrinted(t *testing.T) {
	q := start(t)
	r := with("Fish")
	q.accept(r)
	q.prints("1 Fish")
	key := keyOf(r.Venue, r.ID)
	q.edit(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketNames[bucketDedup]).Bucket(key64(generationOf(0)))
		return errors.Join(b.Delete(paperKey(key)), b.Put(key[:], []byte("odd")))
	})
	r.Late = true
	q.accept(r)
	q.accept(r)
	q.prints("added 1 Fish")
}
