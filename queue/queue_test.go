package queue

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A disk replaces the commit of the queue. It says of each coming commit how it ends.
type disk struct {
	mu      sync.Mutex
	next    []commitResult
	count   int
	blocked chan struct{} // commits wait until it is closed; nil: they do not wait
	free    int           // commits that do not wait
}

type commitResult int

const (
	works           commitResult = iota
	fails                        // EIO, and nothing is on the disk
	failsButPersist              // EIO of the last fsync, and all of it is on the disk
	noSpace                      // ENOSPC, and nothing is on the disk
	forgets                      // it works, and nothing is on the disk
)

func (e commitResult) String() string {
	return [...]string{"works", "failed", "failed but persisted", "disk full", "forgets"}[e]
}

func (d *disk) commit(tx *bolt.Tx) error {
	d.mu.Lock()
	end := works
	if len(d.next) > 0 {
		end, d.next = d.next[0], d.next[1:]
	}
	d.count++
	stuck := d.blocked
	if d.count <= d.free {
		stuck = nil
	}
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	switch end {
	case fails:
		return errors.Join(syscall.EIO, tx.Rollback())
	case noSpace:
		return errors.Join(syscall.ENOSPC, tx.Rollback())
	case forgets:
		return tx.Rollback()
	case failsButPersist:
		return errors.Join(tx.Commit(), syscall.EIO)
	}
	return tx.Commit()
}

func (d *disk) willEnd(e ...commitResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = append(d.next, e...)
}

// hang has every commit but the first n wait until resume is called.
func (d *disk) hang(n int) (resume func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stuck := make(chan struct{})
	d.blocked, d.free = stuck, d.count+n
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.blocked = nil
		close(stuck)
	}
}

// clear forgets how the coming commits were to end: they work.
func (d *disk) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = nil
}

func (d *disk) commits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// A testQueue is a queue on a disk that can fail. It can be closed and opened again.
type testQueue struct {
	*Queue
	t    testing.TB
	o    Options
	disk *disk
}

// start opens a queue. When the test ends the books must balance and Check must pass.
func start(t testing.TB, change ...func(*Options)) *testQueue {
	t.Helper()
	o := Options{Path: filepath.Join(t.TempDir(), "queue.db"), Reserve: -1, NoSync: true}
	for _, f := range change {
		f(&o)
	}
	q := &testQueue{t: t, o: o, disk: &disk{}}
	q.open()
	t.Cleanup(q.stop)
	return q
}

// inBubble runs f in a bubble, with a queue.
func inBubble(t *testing.T, f func(t *testing.T, q *testQueue), change ...func(*Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := start(t, change...)
		defer q.stop()
		f(t, q)
	})
}

func (q *testQueue) open() {
	q.t.Helper()
	noSync := func(*os.File) error { return nil }
	opened, err := open(q.o, storageHooks{commit: q.disk.commit, sync: noSync, link: os.Link, rename: os.Rename})
	q.must(err)
	q.Queue = opened
	q.checkBooks()
}

func (q *testQueue) checkBooks() {
	q.t.Helper()
	if n := q.Unaccounted(); n != 0 {
		q.t.Errorf("the books are off by %d: %+v", n, q.Stations())
	}
}

func (q *testQueue) stop() {
	q.t.Helper()
	if q.Queue == nil {
		return
	}
	q.checkBooks()
	if err := q.Close(); err != nil {
		q.t.Error(err)
	}
	q.Queue = nil
	if err := Check(q.o.Path); err != nil {
		q.t.Error(err)
	}
}

// restart is a clean restart.
func (q *testQueue) restart() {
	q.t.Helper()
	q.stop()
	q.open()
}

// failCommit has the next commit, which is that of step, end so, and waits until storage works
// again.
func (q *testQueue) failCommit(end commitResult, step func() error) {
	q.t.Helper()
	q.disk.willEnd(end)
	if err := step(); !errors.Is(err, ErrStorageFailed) {
		q.t.Fatalf("err %v, want %v", err, ErrStorageFailed)
	}
	q.waitForStorage()
}

const venue = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"

// order makes a request with one ticket of one line for each station.
func order(id string, stations ...string) ticket.Request {
	r := ticket.Request{
		Venue: venue, ID: id, Device: "tablet-1", Received: time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC),
		Body: []byte(`{"records":[{"id":"` + id + `"}]}`), Digest: sha256.Sum256([]byte(id)),
	}
	for _, s := range stations {
		r.Drafts = append(r.Drafts, ticket.Draft{Station: s, Ticket: ticket.Ticket{
			Venue: venue, Request: id, Record: id, Number: id, Device: "tablet-1", Received: r.Received,
			Lines: []ticket.Line{{Quantity: "1", Name: "Soup"}},
		}})
	}
	return r
}

// cancelled is the same request with its lines void.
func cancelled(r ticket.Request) ticket.Request {
	drafts := r.Drafts
	r.Drafts = nil
	for _, d := range drafts {
		d.Ticket.Lines = append([]ticket.Line(nil), d.Ticket.Lines...)
		for i := range d.Ticket.Lines {
			d.Ticket.Lines[i].Void = true
		}
		r.Drafts = append(r.Drafts, d)
	}
	r.Digest = sha256.Sum256([]byte("cancelled " + r.ID))
	return r
}

func (q *testQueue) accept(r ticket.Request) ticket.Receipt {
	q.t.Helper()
	got, err := q.Accept(context.Background(), r)
	q.must(err)
	return got
}

// orders accepts n requests with a ticket for each station.
func (q *testQueue) orders(n int, stations ...string) {
	q.t.Helper()
	for i := range n {
		q.accept(order(id(i), stations...))
	}
}

// begin takes the head of a lane and begins it.
func (q *testQueue) begin(station string) *Lease {
	q.t.Helper()
	l := q.take(station)
	q.must(l.Begin(context.Background()))
	return l
}

func (q *testQueue) take(station string) *Lease {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := q.Take(ctx, station)
	if err != nil {
		q.t.Fatalf("take from %s: %v", station, err)
	}
	return l
}

// wantNothing fails the test if a station would be lent a ticket.
func (q *testQueue) wantNothing(station string) {
	q.t.Helper()
	if l, _, err := q.lend(station); l != nil || err != nil {
		q.t.Fatalf("%s is lent %+v, %v; want nothing", station, l, err)
	}
}

func (q *testQueue) job(id uint64) Job {
	q.t.Helper()
	j, _, _, err := q.Job(context.Background(), id)
	q.must(err)
	return j
}

func (q *testQueue) jobs(f Filter) []Job {
	q.t.Helper()
	jobs, err := q.Jobs(context.Background(), f)
	q.must(err)
	return jobs
}

func (q *testQueue) station(name string) StationState {
	q.t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.Queue.lane(name).state(q.clock.running())
}

func (q *testQueue) must(err error) {
	q.t.Helper()
	must(q.t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("err %v, want %v", err, want)
	}
}

func errOf[T any](_ T, err error) error { return err }

// wantDuplicate sends a request that must have been accepted before.
func (q *testQueue) wantDuplicate(r ticket.Request) {
	q.t.Helper()
	if got := q.accept(r); !got.Duplicate {
		q.t.Errorf("%s is not known: %+v", r.ID, got)
	}
}

// wantRefused sends a request that must be refused.
func (q *testQueue) wantRefused(r ticket.Request, want error) {
	q.t.Helper()
	if _, err := q.Accept(context.Background(), r); !errors.Is(err, want) {
		q.t.Errorf("%s: %v, want %v", r.ID, err, want)
	}
}

func (q *testQueue) wantState(job uint64, want ticket.State) {
	q.t.Helper()
	if j := q.job(job); j.State != want {
		q.t.Errorf("job %+v, want %s", j, want)
	}
}

// printAll prints the tickets of these requests, which must be next in this order.
func (q *testQueue) printAll(station string, requests ...string) {
	q.t.Helper()
	for _, r := range requests {
		if d := q.print(station); d.Ticket.Request != r {
			q.t.Errorf("printed %+v, want %s", d, r)
		}
	}
}

// print takes the head of a lane and acknowledges it as sent.
func (q *testQueue) print(station string) ticket.Delivery {
	q.t.Helper()
	l := q.take(station)
	q.must(l.Begin(context.Background()))
	q.must(l.Ack(context.Background(), ticket.Sent, ""))
	return l.Delivery()
}

func TestOptionsThatAreNotGivenHaveTheirDefaults(t *testing.T) {
	o, err := Options{Path: "queue.db"}.complete()
	must(t, err)
	if o.DedupRetention != 168*time.Hour || o.HistoryRetention != 72*time.Hour || o.MaxBacklog != 100_000 {
		t.Errorf("defaults %+v", o)
	}
}

func TestANegativeLimitIsRefused(t *testing.T) {
	for _, o := range []Options{{DedupRetention: -1}, {HistoryRetention: -1}, {MaxBacklog: -1}} {
		o.Path = filepath.Join(t.TempDir(), "queue.db")
		if _, err := Open(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func id(n int) string { return fmt.Sprintf("request-%03d", n) }
