package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

func TestWhatIsNewUnderAKnownKeyIsAddedOnceOverRestarts(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	q.print("grill")
	q.restart()
	q.wantReceipt(with("Fish", "Steak"), oneAdded)
	q.restart()
	q.wantDuplicate(with("Fish", "Steak"))
	q.wantReceipt(with("Steak", "Tea"), oneAdded)
	q.wantAdded("Steak")
	q.wantAdded("Tea")
	q.wantNothing("grill")
}

func TestAConflictThatIsOnlyReportedAddsNothing(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	r := with("Fish", "Steak")
	r.ReportConflict = true
	q.wantReceipt(r, ticket.Receipt{Duplicate: true, Conflict: true})
	q.print("grill")
	q.wantNothing("grill")
	q.accept(with("Fish", "Steak", "Tea")) // what was reported has not printed
	q.wantAdded("Steak", "Tea")
}

// TestOfAKeyThatDoesNotSayWhatHasPrintedEverythingIsAddedAndMarked: a key of an earlier version has no record of what
// has printed, and a damaged one cannot be read.
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

func TestARequestWithManyContentsIsStillRead(t *testing.T) {
	q := start(t)
	for n := range 20 {
		q.accept(with("Fish", fmt.Sprint(n)))
	}
	for range 20 {
		q.print("grill")
	}
	q.wantNothing("grill")
	q.accept(with("Fish", "7", "Tea"))
	q.wantAdded("Tea")
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

// TestWhatIsVoidAgainPrintsAsVoidAgainIfNobodyKnewWhatHadPrinted: its hashes were stored without it: a file of an
// earlier version, or one that was salvaged.
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
	q.overwriteKey(r, []byte("odd"))
	reported := with("Fish", "Steak")
	reported.ReportConflict = true
	q.wantReceipt(reported, ticket.Receipt{Duplicate: true, Conflict: true})
	q.damageKey(r)
	q.wantReceipt(with("Fish", "Steak"), oneAdded)
	q.wantAdded("Steak")
	q.wantNothing("grill")
}

func TestOnAReprintOfAnOrderAVoidOfItOrOfWhatWasAddedStrikesNothing(t *testing.T) {
	q := start(t)
	q.accept(with("Fish"))
	q.accept(with("Fish", "Fish"))
	q.accept(dishes("Fish", "-Fish"))
	q.prints("1 Fish", "added 1 Fish", "-1 Fish")
	for job, want := range map[uint64]string{1: "1 Fish", 2: "added 1 Fish"} {
		done, err := q.Reprint(bg, job, ReprintOptions{})
		q.must(err)
		if done.Voided != 0 || len(done.Later) != 1 {
			t.Errorf("reprinted %+v", done)
		}
		q.prints(want)
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
	q.wantReceipt(late, ticket.Receipt{Jobs: 1})
	before := q.disk.commits()
	for range 2 {
		q.wantReceipt(late, ticket.Receipt{Duplicate: true})
	}
	q.wantCommits(before, 0)
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
