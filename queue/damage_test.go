package queue

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
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
			} else {
				q.printAll("grill", "c") // job 3
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

// TestRecordsAreStoredAsEarlierVersionsStoredThem: what is stored keeps its format: files of earlier versions have
// these bytes.
func TestRecordsAreStoredAsEarlierVersionsStoredThem(t *testing.T) {
	var names []string
	for _, n := range bucketNames {
		names = append(names, string(n))
	}
	got := strings.Join(names, " ")
	wantTrue(t, got == "meta requests reqjobs jobs state waiting finished stations dedup aside shelf", got)
	r := ticket.Request{Venue: "v", ID: "a", Device: "d", Body: []byte("{}")}
	digest := func(b byte) ticket.Digest { return ticket.Digest(bytes.Repeat([]byte{b}, 16)) }
	record := func(v any) []byte { b, err := sealJSON(v); must(t, err); return b }
	at := time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC)
	for want, stored := range map[string][]byte{
		"9c4fbc60 \x00\x00\x00\x23{\"venue\":\"v\",\"id\":\"a\",\"device\":\"d\"}{}": encodeBody(&r),
		"7dcb62e4 \x02\x01" + strings.Repeat("\x07", 16) + strings.Repeat("\x08", 16) + "\x00\x01\x05grill" +
			"\x04#142" +
			strings.Repeat("\x09", 16) + "\x06\x02\x01\x02": encodeDedup(dedupRecord{
			accepted: []content{{digest(7), digest(8)}},
			shares:   []share{{"grill", "#142", digest(9), 3, []uint64{1, 2}}},
		}),
		"7484566f \x00\x00\x00\x00\x00\x00\x00\x07g": encodeWaiting(7, "g"),
		`9f9e615c {"s":"grill","st":"held","p":1,"q":2,"t":3,"a":4,"d":5,"rp":true,"sl":true,"of":6,"fr":"w",` +
			`"r":7,"f":8,"why":"x"}`: record(jobState{
			Station: "grill", State: ticket.Held, Pos: 1, Req: 2, Enqueued: 3, Attempts: 4, Doubts: 5, Reprint: true,
			FromDaemon: true, MadeFrom: 6, DarkScreen: "w", Received: 7, Finished: 8, Why: "x",
		}),
		`fb60c135 {"books":{"enqueued":1,"reprinted":2,"moved_in":3,"moved_out":4,"outcomes":{"failed":5}},` +
			`"hold":{"reason":"x","since":"2026-11-20T19:30:00Z"}}`: record(stationRecord{
			Hold: &StationHold{"x", at}, Books: Books{
				Enqueued: 1, Reprinted: 2, MovedIn: 3, MovedOut: 4,
				Outcomes: map[ticket.State]uint64{ticket.Failed: 5},
			},
		}),
		`9d6ae716 {"running":1,"wall":"2026-11-20T19:30:00Z","synchronized":true}`: record(clockRecord{1, at, true}),
	} {
		wantEqual(t, fmt.Sprintf("%x %s", stored[:4], stored[4:]), want)
	}
	job, err := decodeWaiting(encodeWaiting(7, "g"))
	wantTrue(t, job == 7 && err == nil, job, err)
	for _, short := range [][]byte{encodeWaiting(7, ""), seal([]byte("x"))} {
		wantTrue(t, errOf(decodeWaiting(short)) != nil, short)
	}
	for _, short := range [][]byte{seal([]byte("x")), seal([]byte{0, 0, 0, 3}, []byte("{}"))} {
		_, err := decodeBody(short)
		wantTrue(t, err != nil, short)
	}
	wantEqual(t, un64([]byte("odd")), 0)
	r.Body = nil
	body, err := decodeBody(encodeBody(&r))
	wantTrue(t, len(body) == 0 && err == nil, body, err)
}

// FuzzRecords: whatever is in the file, reading a record neither panics nor returns both a value
// and an error. A value that is read without an error is written back the same.
func FuzzRecords(f *testing.F) {
	r := order("a", "grill")
	body := encodeBody(&r)
	payload, _ := ticket.Marshal(r.Drafts[0].Ticket)
	state, _ := sealJSON(jobState{Station: "grill", State: ticket.Pending, Pos: 7, Enqueued: int64(time.Hour)})
	for _, b := range [][]byte{
		body, seal(payload), state, encodeWaiting(7, "grill"),
		encodeDedup(dedupRecord{accepted: []content{{}},
			shares: []share{{station: "grill", order: "#1", jobs: []uint64{1}}}}),
		// A number that is longer than it needs to be.
		seal(fmt.Appendf(nil, "\x02\x01%032d\x00\x01\x01g\x01#%016d\xff\x00\x01\x01", 0, 0)),
	} {
		f.Add(b[crcSize:], true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			b = seal(b)
		}
		state, err := decodeState(b)
		wantTrue(t, err == nil || reflect.DeepEqual(state, jobState{}), state, err)
		d, err := decodePayload(b)
		wantTrue(t, err == nil || d.V == 0 && d.Lines == nil, d, err)
		raw, err := decodeBody(b)
		wantTrue(t, err == nil || raw == nil, raw, err)
		job, err := decodeWaiting(b)
		wantTrue(t, err != nil || bytes.HasPrefix(b[crcSize:], key64(job)), job)
		s, err := decodeDedup(b)
		wantTrue(t, err != nil || bytes.Equal(encodeDedup(s), b), s)
	})
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
