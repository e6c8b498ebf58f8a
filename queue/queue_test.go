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

// A disk is the commit seam: it says of each coming commit how it ends.
type disk struct {
	mu    sync.Mutex
	next  []ending
	seen  int
	stuck chan struct{} // closed when it goes on; nil while it does
}

type ending int

const (
	works           ending = iota
	fails                  // EIO, nothing is on the disk
	failsButPersist        // EIO on the very last sync: all of it is
	noSpace                // ENOSPC, nothing is on the disk
)

func (e ending) String() string {
	return [...]string{"works", "failed", "failed but persisted", "disk full"}[e]
}

func (d *disk) commit(tx *bolt.Tx) error {
	d.mu.Lock()
	end := works
	if len(d.next) > 0 {
		end, d.next = d.next[0], d.next[1:]
	}
	d.seen++
	stuck := d.stuck
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	switch end {
	case fails:
		return errors.Join(syscall.EIO, tx.Rollback())
	case noSpace:
		return errors.Join(syscall.ENOSPC, tx.Rollback())
	case failsButPersist:
		return errors.Join(tx.Commit(), syscall.EIO)
	}
	return tx.Commit()
}

func (d *disk) then(e ...ending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = append(d.next, e...)
}

// hang has every commit wait until resume is called.
func (d *disk) hang() (resume func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stuck := make(chan struct{})
	d.stuck = stuck
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.stuck = nil
		close(stuck)
	}
}

// heal forgets what was to come.
func (d *disk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = nil
}

func (d *disk) commits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// A kitchen is a queue on its disk, which can be closed and opened again.
type kitchen struct {
	*Queue
	t    testing.TB
	o    Options
	disk *disk
}

// start opens a queue. When the test ends the books must balance and the file be sound.
func start(t testing.TB, change ...func(*Options)) *kitchen {
	t.Helper()
	o := Options{Path: filepath.Join(t.TempDir(), "queue.db"), Reserve: -1, NoSync: true}
	for _, f := range change {
		f(&o)
	}
	k := &kitchen{t: t, o: o, disk: &disk{}}
	k.open()
	t.Cleanup(k.stop)
	return k
}

// inBubble runs f in a bubble, with a queue.
func inBubble(t *testing.T, f func(t *testing.T, k *kitchen), change ...func(*Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := start(t, change...)
		defer k.stop()
		f(t, k)
	})
}

func (k *kitchen) open() {
	k.t.Helper()
	q, err := open(k.o, seams{commit: k.disk.commit, sync: func(*os.File) error { return nil }})
	k.must(err)
	k.Queue = q
	k.balanced()
}

func (k *kitchen) balanced() {
	k.t.Helper()
	if n := k.Unaccounted(); n != 0 {
		k.t.Errorf("the books are off by %d: %+v", n, k.Stations())
	}
}

func (k *kitchen) stop() {
	k.t.Helper()
	if k.Queue == nil {
		return
	}
	k.balanced()
	if err := k.Close(); err != nil {
		k.t.Error(err)
	}
	k.Queue = nil
	if err := Check(k.o.Path); err != nil {
		k.t.Error(err)
	}
}

// again is a clean restart.
func (k *kitchen) again() {
	k.t.Helper()
	k.stop()
	k.open()
}

// strike has the next commit end so, under a step that is told, and waits until storage works again.
func (k *kitchen) strike(end ending, step func() error) {
	k.t.Helper()
	k.disk.then(end)
	if err := step(); !errors.Is(err, ErrStorageFailed) {
		k.t.Fatalf("err %v, want %v", err, ErrStorageFailed)
	}
	k.healed()
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
			Venue: venue, Request: id, Number: id, Device: "tablet-1", Received: r.Received,
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

func (k *kitchen) accept(r ticket.Request) ticket.Receipt {
	k.t.Helper()
	got, err := k.Accept(context.Background(), r)
	k.must(err)
	return got
}

// orders accepts n requests with a ticket for each station.
func (k *kitchen) orders(n int, stations ...string) {
	k.t.Helper()
	for i := range n {
		k.accept(order(id(i), stations...))
	}
}

// begin takes the head of a line and begins it.
func (k *kitchen) begin(station string) *Lease {
	k.t.Helper()
	l := k.take(station)
	k.must(l.Begin(context.Background()))
	return l
}

func (k *kitchen) take(station string) *Lease {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l, err := k.Take(ctx, station)
	if err != nil {
		k.t.Fatalf("take from %s: %v", station, err)
	}
	return l
}

// nothing fails the test if a station would be lent something.
func (k *kitchen) nothing(station string) {
	k.t.Helper()
	if l, _, err := k.borrow(station); l != nil || err != nil {
		k.t.Fatalf("%s is lent %+v, %v; want nothing", station, l, err)
	}
}

func (k *kitchen) job(id uint64) Job {
	k.t.Helper()
	j, _, _, err := k.Job(context.Background(), id)
	k.must(err)
	return j
}

func (k *kitchen) jobs(f Filter) []Job {
	k.t.Helper()
	jobs, err := k.Jobs(context.Background(), f)
	k.must(err)
	return jobs
}

func (k *kitchen) line(name string) StationState {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Queue.line(name).state(k.clock.running())
}

func (k *kitchen) must(err error) {
	k.t.Helper()
	must(k.t, err)
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

// known is a request that has been accepted before.
func (k *kitchen) known(r ticket.Request) {
	k.t.Helper()
	if got := k.accept(r); !got.Duplicate {
		k.t.Errorf("%s is not known: %+v", r.ID, got)
	}
}

// refused is one that is not accepted now.
func (k *kitchen) refused(r ticket.Request, want error) {
	k.t.Helper()
	if _, err := k.Accept(context.Background(), r); !errors.Is(err, want) {
		k.t.Errorf("%s: %v, want %v", r.ID, err, want)
	}
}

func (k *kitchen) is(job uint64, want ticket.State) {
	k.t.Helper()
	if j := k.job(job); j.State != want {
		k.t.Errorf("job %+v, want %s", j, want)
	}
}

// prints sees the head of a line out, which must be the ticket of these requests, one after the other.
func (k *kitchen) prints(station string, requests ...string) {
	k.t.Helper()
	for _, r := range requests {
		if d := k.print(station); d.Ticket.Request != r {
			k.t.Errorf("printed %+v, want %s", d, r)
		}
	}
}

// print takes the head of a line and sees it out.
func (k *kitchen) print(station string) ticket.Delivery {
	k.t.Helper()
	l := k.take(station)
	k.must(l.Begin(context.Background()))
	k.must(l.Ack(context.Background(), ticket.Sent, ""))
	return l.Delivery()
}

func id(n int) string { return fmt.Sprintf("request-%03d", n) }
