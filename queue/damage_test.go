package queue

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

func TestRunningTimeContinuesFromAFinishedJobThatIsAtMostAnHourYoungerThanItsRecord(t *testing.T) {
	const record = 5 * time.Hour
	for finished, want := range map[time.Duration]time.Duration{
		record + 30*time.Second: record + 30*time.Second, // a crash came before the next record
		record + time.Hour:      record + time.Hour,
		record + time.Hour + 1:  record,
		record - time.Minute:    record,
	} {
		inBubble(t, func(t *testing.T, q *testQueue) {
			q.edit(func(tx *bolt.Tx) error {
				r, err := sealJSON(clockRecord{Running: record})
				return errors.Join(err, tx.Bucket(bucketNames[bucketMeta]).Put(keyClock, r),
					tx.Bucket(bucketNames[bucketFinished]).Put(key128(uint64(finished), 1), nil))
			})
			if r := q.clock.running(); r != want {
				t.Errorf("finished at %s: running time %s, want %s", finished, r, want)
			}
		})
	}
}

func TestAJobWhoseStateIsDamagedKeepsTheBodyOfItsRequest(t *testing.T) {
	q := start(t)
	q.orders(3, "grill")
	q.edit(flip(bucketState, key64(2)))
	if _, _, body, err := q.Job(bg, 2); string(body) != string(order(id(1)).Body) || err != nil {
		t.Errorf("body %q, %v", body, err)
	}
}

func TestDamagedBooksOfAStationLeaveThoseOfTheOthers(t *testing.T) {
	q := start(t)
	q.orders(3, "bar", "grill")
	q.print("bar")
	q.print("grill")
	q.edit(flip(bucketStations, []byte("bar")))
	for station, want := range map[string]uint64{"bar": 2, "grill": 3} {
		if b := q.station(station).Books; b.Enqueued != want {
			t.Errorf("%s: books %+v, want %d enqueued", station, b, want)
		}
	}
}

func TestTheQuarantineHasADamagedTicketAsItWasFound(t *testing.T) {
	w := &fakeClock{now: time.Date(2026, 11, 20, 19, 40, 0, 0, time.UTC)}
	q := start(t, func(o *Options) { o.Clock = w })
	q.orders(2, "grill")
	q.edit(func(tx *bolt.Tx) error { return tx.Bucket(bucketNames[bucketJobs]).Put(key64(1), []byte("rubbish")) })
	q.printAll("grill", id(1))
	q.must(q.view(func(tx *bolt.Tx) error {
		var got quarantined
		err := unsealJSON(tx.Bucket(bucketNames[bucketQuarantine]).Get(key64(1)), &got)
		want := quarantined{"jobs", key64(1), []byte("rubbish"), errChecksum.Error(), w.now}
		if !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		return nil
	}))
	q.wantCount(bucketJobs, 1)
}

func TestRunningTimeContinuesWhenItsRecordIsDamaged(t *testing.T) {
	for name, last := range map[string]func(*testQueue){
		"from the last finished job": func(q *testQueue) { q.print("grill") },
		"from the last open job":     func(q *testQueue) { q.accept(order("b", "grill")) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) {
				q.accept(order("a", "grill"))
				time.Sleep(30 * time.Hour)
				last(q)
				q.edit(flip(bucketMeta, keyClock))
				if r := q.clock.running(); r < 30*time.Hour || r > 31*time.Hour {
					t.Errorf("running time %s", r)
				}
			})
		})
	}
}

func TestPruningRemovesNoOpenOrFailedJobIfItsKeyIsDamaged(t *testing.T) {
	for _, failed := range []bool{false, true} {
		inBubble(t, func(t *testing.T, q *testQueue) {
			q.accept(order("a", "grill")) // job 1
			q.print("grill")
			q.accept(order("b", "bar"))
			q.accept(order("c", "grill")) // job 3
			if failed {
				q.must(q.take("grill").Fail(bg, "no"))
			}
			q.edit(flipKey(15, 2)) // the key of job 1 now says 3
			time.Sleep(11 * time.Hour)
			synctest.Wait()
			if failed {
				q.wantState(3, ticket.Failed)
			} else if d := q.print("grill"); d.Job != 3 || d.Ticket.Request != "c" {
				t.Errorf("printed %+v", d)
			}
		}, func(o *Options) { o.HistoryRetention = 10 * time.Hour })
	}
}

func TestATicketWhosePositionIsDamagedFailsAndTheNextOnePrints(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.accept(order("b", "grill"))
		q.edit(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucketNames[bucketWaiting])
			k, v := b.Cursor().First()
			old, entry := bytes.Clone(k), bytes.Clone(v)
			return errors.Join(b.Delete(old), b.Put(key64(un64(old)^1<<20), entry))
		})
		q.wantState(1, ticket.Failed)
		q.printAll("grill", "b")
		q.restart()
		q.wantNothing("grill")
	})
}

func TestAStateThatTheQueueDoesNotWriteIsNotRead(t *testing.T) {
	good := jobState{Station: "grill", State: ticket.Pending}
	for name, change := range map[string]func(*jobState){
		"":                  func(*jobState) {},
		"no station":        func(s *jobState) { s.Station = "" },
		"unknown":           func(s *jobState) { s.State = "burnt" },
		"printing":          func(s *jobState) { s.State = ticket.Printing },
		"negative attempts": func(s *jobState) { s.Attempts = -1 },
		"negative doubts":   func(s *jobState) { s.Doubts = -1 },
	} {
		s := good
		change(&s)
		stored, err := sealJSON(s)
		must(t, err)
		if _, err := decodeState(stored); (err == nil) != (name == "") {
			t.Errorf("%q: err %v", name, err)
		}
	}
}

// TestTheKeyOfARequestWhoseRecordCannotBeReadIsKnown: it is damaged, or an earlier version wrote it. Its stored tickets
// say what came under it.
func TestTheKeyOfARequestWhoseRecordCannotBeReadIsKnown(t *testing.T) {
	sound, err := unseal(encodeDedup(dedupRecord{accepted: []content{{}},
		shares: []share{{station: "grill", jobs: []uint64{1}}}}))
	must(t, err)
	stored := map[string][]byte{
		"a wrong checksum":      []byte("odd"),
		"no content":            encodeDedup(dedupRecord{}),
		"one byte too many":     seal(sound, []byte{0}),
		"of an earlier version": seal([]byte{1, 1}, make([]byte, 16)),
	}
	for n := range sound {
		stored[fmt.Sprint("the first bytes: ", n)] = seal(sound[:n])
	}
	for name, stored := range stored {
		t.Run(name, func(t *testing.T) {
			q := start(t)
			r := order("a", "grill")
			q.accept(r)
			q.overwriteKey(r, stored)
			q.wantDuplicate(r)
			q.wantDuplicate(r)
			if q.Damaged() != 1 {
				t.Errorf("%d damaged records", q.Damaged())
			}
			q.overwriteKey(r, stored)
			q.wantReceipt(cancelled(r), oneChanged)
			q.prints("1 Soup", "changed -1 Soup")
		})
	}
}

func TestWithoutARecordTheStoredTicketsSayWhatIsReplaced(t *testing.T) {
	two := func(minute int, lines string) ticket.Request {
		r := at(minute, dinner("a", lines, "grill", "grill"))
		r.Drafts[1].Ticket.Lines = dinner("a", "1Tea", "grill").Drafts[0].Ticket.Lines
		return r
	}
	q := start(t)
	q.accept(two(0, "1Fish"))
	q.accept(two(1, "2Fish"))
	q.accept(at(2, dinner("a", "3Fish", "bar"))) // nothing is listed at the grill
	renamed := at(3, dinner("a", "3Fish", "bar"))
	renamed.Drafts[0].Ticket.Number, renamed.Body = "7", nil
	q.accept(renamed)
	n := len(q.jobs(Filter{}))

	q.damageKey(renamed)
	renamed.Body = []byte("other ids")
	q.wantDuplicate(renamed)
	q.damageKey(renamed)
	q.wantReceipt(at(4, dinner("a", "1Pie", "grill")), ticket.Receipt{Duplicate: true, Conflict: true, Jobs: 2})
	for job, want := range map[int]string{
		n + 1: "CHANGED – replaces #142 of 19:32 UTC #142: 1Pie",
		n + 2: "CHANGED – replaces #7 of 19:33 UTC #7: " + ticket.NothingListed,
	} {
		_, tk, _, err := q.Job(bg, uint64(job))
		if got := paperText(ticket.Delivery{Ticket: tk}); err != nil || got != want {
			t.Errorf("job %d is %q, %v; want %q", job, got, err, want)
		}
	}

	q.edit(func(tx *bolt.Tx) error { return flip(bucketJobs, key64(uint64(n+1)))(tx) })
	q.damageKey(renamed)
	q.accept(at(5, dinner("a", "1Pie", "cold"))) // of which no ticket is stored
	q.wantPapers("cold", "CHANGED – replaces #142 that came before #142: 1Pie")
}

func TestATicketThatCannotBeReadIsNeitherReprintedNorMoved(t *testing.T) {
	q := start(t)
	q.orders(2, "grill")
	q.print("grill")
	q.edit(func(tx *bolt.Tx) error {
		return errors.Join(flip(bucketJobs, key64(1))(tx), flip(bucketJobs, key64(2))(tx))
	})
	wantErr(t, errOf(q.Reprint(bg, 1, ReprintOptions{})), ErrDamaged)
	wantErr(t, errOf(q.Move(bg, []uint64{2}, "bar")), ErrDamaged)
	q.wantState(1, ticket.Sent)
	q.wantState(2, ticket.Pending)
}

func TestAFailedJobOlderThanItsBooksIsCancelledOnce(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.must(q.take("grill").Fail(bg, "no"))
	q.edit(flip(bucketStations, []byte("grill")))
	q.restart()
	q.wantDamaged(0)
	q.must(q.Cancel(bg, 1, "seen"))
	q.checkBooks()
	b := q.station("grill").Books
	if b.Outcomes[ticket.Failed] != 0 || b.Outcomes[ticket.Cancelled] != 1 {
		t.Errorf("books %+v", b)
	}
}

func TestATicketWhoseStateIsMissingFailsAndTheNextOnePrints(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.accept(order("b", "grill"))
		q.must(q.do(bg, opOnce, 1, func(b *batch) error { b.del(b.bucket(bucketState), key64(1)); return nil }))
		q.printAll("grill", "b")
		if j := q.job(1); j.State != ticket.Failed || j.Request != "a" {
			t.Errorf("job %+v", j)
		}
		q.checkBooks()
	})
}

func TestATicketThatIsNotPendingInTheFileIsLentAtMostOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.accept(order("b", "grill"))
		q.must(q.do(bg, opOnce, 1, func(b *batch) error {
			s, err := b.state(1)
			s.State = ticket.Cancelled
			b.setState(1, s)
			return err
		}))
		l := q.take("grill")
		wantErr(t, l.Begin(bg), ErrConflict)
		q.must(l.Return(bg, "begin failed"))
		q.printAll("grill", "b")
		q.wantNothing("grill")
		q.must(q.Close())
		q.open() // which finds the position that is left over
		q.wantState(1, ticket.Failed)
	})
}

// TestOneFlippedBitAnywhereCostsAtMostOneTicket: one flipped bit in one value, for every bucket: the queue opens,
// knows every request, and every ticket is printed, or held or failed for a person.
func TestOneFlippedBitAnywhereCostsAtMostOneTicket(t *testing.T) {
	for bucket := range bucketCount {
		t.Run(string(bucketNames[bucket]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for nth := range 4 {
					flipAndDrain(t, bucket, nth)
				}
			})
		})
	}
}

// flipKey changes one bit of the key of the last finished job. Keys have no checksum.
func flipKey(at int, bit byte) func(tx *bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketNames[bucketFinished])
		k, _ := b.Cursor().Last()
		old, flipped := bytes.Clone(k), bytes.Clone(k)
		flipped[at] ^= bit
		return errors.Join(b.Delete(old), b.Put(flipped, nil))
	}
}

func flipAndDrain(t *testing.T, bucket, nth int) {
	q := start(t)
	q.orders(4, "grill", "bar")
	q.must(q.take("bar").Hold(bg, "look"))
	q.must(q.take("bar").Fail(bg, "no"))
	q.print("grill")
	q.must(q.KV("boards").Put(bg, "grill", []byte("up")))
	defer q.stop()
	flipped := false
	q.edit(func(tx *bolt.Tx) (err error) {
		flipped, err = flipNth(tx, bucket, nth)
		return err
	})
	if !flipped {
		return
	}
	printed := 0
	for _, station := range []string{"grill", "bar"} {
		for l := q.tryTake(station); l != nil; l = q.tryTake(station) {
			q.must(l.Begin(bg))
			q.must(l.Ack(bg, ticket.Sent, ""))
			printed++
		}
	}
	// Of the eight tickets one was printed before, one is held and one has failed. The damaged one
	// may have failed too. If it is the one that had failed before, it is not in the list, and a
	// person who looks it up gets ErrDamaged.
	left := 7
	if _, _, _, err := q.Job(bg, 4); errors.Is(err, ErrDamaged) {
		left = 6
	}
	open := q.jobs(Filter{States: []ticket.State{ticket.Failed, ticket.Held}})
	if printed < 4 || printed+len(open) != left {
		t.Errorf("value %d: %d are printed now, for a person there are %+v", nth, printed, open)
	}
	for n := range 4 {
		q.wantReceipt(order(id(n), "grill", "bar"), ticket.Receipt{Duplicate: true})
	}
}

// flipNth changes the last bit of the nth value of a bucket, except the format: a file with another
// format is refused.
func flipNth(tx *bolt.Tx, bucket, nth int) (bool, error) {
	b := tx.Bucket(bucketNames[bucket])
	switch bucket {
	case bucketDedup:
		b = b.Bucket(key64(generationOf(0)))
	case bucketKV:
		b = b.Bucket([]byte("boards"))
	}
	c := b.Cursor()
	k, v := c.First()
	for range nth {
		k, v = c.Next()
	}
	if len(v) == 0 || bytes.Equal(k, keyFormat) {
		return false, nil
	}
	v = bytes.Clone(v)
	v[len(v)-1] ^= 1
	return true, b.Put(bytes.Clone(k), v)
}
