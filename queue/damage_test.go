package queue

import (
	"bytes"
	"errors"
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
			wantEqual(t, q.clock.running(), want, finished)
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
		_, err = decodeState(stored)
		wantEqual(t, err == nil, name == "", name, err)
	}
}

func TestATicketThatCannotBeReadIsNeitherReprintedNorMoved(t *testing.T) {
	q := start(t)
	q.orders(2, "grill")
	q.print("grill")
	q.change(func(tx *bolt.Tx) error {
		return errors.Join(flip(bucketJobs, key64(1))(tx), flip(bucketJobs, key64(2))(tx))
	})
	q.unsound = true
	q.open()
	wantErr(t, errOf(q.Reprint(bg, 1, ReprintOptions{})), ErrDamaged)
	wantErr(t, errOf(q.Move(bg, []uint64{2}, "bar")), ErrDamaged)
	q.wantState(1, ticket.Sent)
	q.wantState(2, ticket.Pending)
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
