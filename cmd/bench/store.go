package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A yardstick is a bbolt file in which a commit can be timed: one Update that writes as much as
// accepting one order, and nothing else. No durable answer can cost less on this disk.
type yardstick struct {
	db *bolt.DB
	n  uint64 // tickets written so far
}

// records are the values that an accepted order writes, by bucket, in bytes: as the queue writes them for
// the order that this program posts. A test compares the sum.
var records = []struct {
	bucket     string
	key, value int
	perTicket  bool // or once for the order
}{
	{"dedup", 16, 22, false},
	{"requests", 8, 2920, false},
	{"jobs", 8, 600, true},
	{"reqjobs", 16, 0, true},
	{"state", 8, 90, true},
	{"waiting", 8, 15, true},
	{"books", 8, 78, true},
}

func newYardstick(path string) *yardstick {
	// The options of the queue's file: each changes the cost of a commit.
	db := must(bolt.Open(path, 0o600, &bolt.Options{
		FreelistType: bolt.FreelistMapType, NoFreelistSync: true, InitialMmapSize: 1 << 30,
	}))
	db.AllocSize = 4 << 20 // as the queue: the file grows rarely
	return &yardstick{db: db}
}

// post commits the records of one more order.
func (y *yardstick) post(o order) error {
	return y.db.Update(func(tx *bolt.Tx) error {
		for i := range o.tickets {
			y.n++
			for _, r := range records {
				if !r.perTicket && i > 0 {
					continue
				}

				bucket, err := tx.CreateBucketIfNotExists([]byte(r.bucket))
				if err != nil {
					return err
				}
				bucket.FillPercent = 0.9

				key := make([]byte, r.key)
				switch r.bucket {
				case "dedup": // its keys are hashes, which go to a random page
					rand.Read(key)
				case "books": // one record for each station, written again and again
					key[0] = byte(i)
				default:
					binary.BigEndian.PutUint64(key, y.n)
				}

				if err := bucket.Put(key, make([]byte, r.value)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// commit times the commit of one order with one ticket.
func (b *bench) commit() time.Duration {
	return timed(func() error { return b.disk.post(order{tickets: 1}) })()
}

// A store is a database after a week of orders: the keys of every day, the history of the last
// days, and jobs that wait at the first station, which is held.
type store struct {
	keys, jobs int
	small      bool // requests of one item instead of the contract's example
}

// steppedClock is the box's clock some days ago, known to be right. The queue adds the time
// between two starts to its clock, so it has to see each day pass.
type steppedClock struct{ ago time.Duration }

func (c steppedClock) Now() time.Time   { return time.Now().Add(-c.ago) }
func (steppedClock) Synchronized() bool { return true }

const (
	days = 7
	// inFlight is how many changes are made at once, so that the queue commits many together.
	inFlight = 512
	// wave is how many tickets are queued before they are cancelled: taking one out of the
	// middle of a long queue is slow.
	wave = 4096
)

// fill makes a store by the queue's own methods: each of seven days accepts its share of the
// keys and finishes all but its share of the jobs. Then the daemon removes the expired keys.
func (b *bench) fill(path string, s store) {
	next := 1 // the id of the next job: the queue counts them from 1
	for day := range days {
		share := func(total int) int { return total*(day+1)/days - total*day/days }

		jobs := share(s.jobs)
		opened := must(queue.Open(queue.Options{
			Path: path, HistoryRetention: 72 * time.Hour, Reserve: -1, NoSync: true,
			Clock: steppedClock{time.Duration(days-1-day) * 24 * time.Hour},
		}))

		b.cleanups = append(b.cleanups, opened.Close)
		check(opened.HoldStation(b.ctx, station(0), "so that its jobs wait"))
		check(s.accept(b.ctx, opened, station(0), next, jobs))
		next += jobs

		for left := share(s.keys) - jobs; left > 0; left -= wave {
			part := min(left, wave)
			check(s.accept(b.ctx, opened, "past", next, part))
			check(inParallel(part, func(i int) error { return opened.Cancel(b.ctx, uint64(next+i), "served") }))
			next += part
		}

		check(b.cleanUp())
	}

	b.daemon(setup{store: path}).waitIdle()
	check(b.cleanUp())
}

// accept adds n orders of one ticket each, with job ids from first on.
func (s store) accept(ctx context.Context, q *queue.Queue, station string, first, n int) error {
	body, items := contract.Example("burger.json"), 8
	if s.small {
		body, items = []byte(`{"records":[{"id":"","items":[{"name":"Burger"}]}]}`), 1
	}

	lines := slices.Repeat([]ticket.Line{{Quantity: "1", Name: "Burger with everything"}}, items)
	return inParallel(n, func(i int) error {
		request := ticket.Request{
			Venue: venueID, ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", first+i), Device: deviceID,
			Received: time.Now().UTC(), Body: body,
		}
		waiting := ticket.Ticket{Venue: venueID, Request: request.ID, Number: "18", Received: request.Received,
			Lines: lines}
		request.Drafts = []ticket.Draft{{Station: station, Ticket: waiting}}

		receipt, err := q.Accept(ctx, request)
		if err == nil && (receipt.Duplicate || receipt.Jobs != 1) {
			err = fmt.Errorf("a new request made %d jobs, duplicate %t", receipt.Jobs, receipt.Duplicate)
		}
		return err
	})
}

// inParallel calls f for 0 to n-1, inFlight of them at once.
func inParallel(n int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(inFlight)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}
