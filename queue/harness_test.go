package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/deploy/slow"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

// The harness of the queue's tests. [start] and [inBubble] open a queue in a folder of the test, with a [disk] that
// fails on command; when the test ends, the books must balance and Check must find the file sound. [order], [with] and
// [dinner] make requests. A testQueue is used like a Queue: its methods fail the test instead of returning an error.
//
// For faults there are disk (commits), [stepper] (steps of replacing the file), overwrite, edit and flip (records), and
// lose (pages).

// A testQueue is a queue on a disk that can fail. It can be closed and opened again.
type testQueue struct {
	*Queue
	t    testing.TB
	o    Options
	disk *disk
	// unsound says that the test damages records, which Check then finds.
	unsound bool
}

// newQueue is a queue that has no file yet. When the test ends the books must balance and Check must pass.
func newQueue(t testing.TB, change ...func(*Options)) *testQueue {
	q := &testQueue{t: t, disk: &disk{}, o: Options{
		Path: filepath.Join(t.TempDir(), "queue.db"), Reserve: -1, NoSync: true,
		DedupRetention: 168 * time.Hour, HistoryRetention: 72 * time.Hour,
	}}
	for _, f := range change {
		f(&q.o)
	}
	t.Cleanup(q.stop)
	return q
}

// start opens a new queue.
func start(t testing.TB, change ...func(*Options)) *testQueue {
	t.Helper()
	q := newQueue(t, change...)
	q.open()
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

// each runs f with each of the cases, in a bubble with a queue.
func each[C any](t *testing.T, cases map[string]C, f func(t *testing.T, q *testQueue, c C), change ...func(*Options)) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) { f(t, q, c) }, change...)
		})
	}
}

// pairs runs f twice: with a commit that fails, and with one that fails but persists.
func pairs(t *testing.T, f func(t *testing.T, q *testQueue, end commitResult)) {
	for _, end := range []commitResult{fails, failsButPersist} {
		t.Run(end.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) { f(t, q, end) })
		})
	}
}

func (q *testQueue) open() {
	q.t.Helper()
	q.must(q.tryToOpen())
	q.checkBooks()
}

func (q *testQueue) tryToOpen() error {
	noSync := func(*os.File) error { return nil }
	opened, err := open(q.o, store.Hooks{Commit: q.disk.commit, Sync: noSync, Link: os.Link, Rename: os.Rename})
	if err == nil {
		q.Queue = opened
	}
	return err
}

func (q *testQueue) stop() {
	q.t.Helper()
	if q.Queue == nil {
		return
	}
	q.checkBooks()
	must(q.t, q.Close())
	q.Queue = nil
	wantEqual(q.t, Check(q.o.Path) != nil, q.unsound)
}

// restart is a clean restart.
func (q *testQueue) restart() {
	q.t.Helper()
	q.stop()
	q.open()
}

// reboot restarts after a time in which the wall clock has changed.
func (q *testQueue) reboot(w *fakeClock, now time.Time, synchronized bool) {
	q.t.Helper()
	q.stop()
	w.set(now, synchronized)
	q.open()
}

// killed restarts with the file as it is now: the process was killed, or power failed after the last commit.
func (q *testQueue) killed() {
	q.t.Helper()
	left := q.content()
	q.stop()
	q.must(os.WriteFile(q.o.Path, left, 0o600))
	q.open()
}

// edit changes the file while the queue is closed, and opens it again.
func (q *testQueue) edit(f func(tx *bolt.Tx) error) {
	q.t.Helper()
	q.change(f)
	q.open()
}

// change closes the queue and changes its file.
func (q *testQueue) change(f func(tx *bolt.Tx) error) {
	q.t.Helper()
	q.stop()
	db, err := bolt.Open(q.o.Path, 0o600, store.BoltOptions(true))
	q.must(err)
	q.must(db.Update(f))
	q.must(db.Close())
}

// withCopies has the queue keep base copies and a log.
func withCopies(o *Options) { o.Copy = o.Path + ".copy" }

// inBubble opens a queue in a bubble, runs f, and stops it.
func (q *testQueue) inBubble(f func()) {
	q.t.Helper()
	t := q.t
	synctest.Test(t.(*testing.T), func(inner *testing.T) {
		q.t = inner
		q.open()
		f()
		q.stop()
	})
	q.t = t
}

// anHourLater a base copy was made.
func (q *testQueue) anHourLater() {
	time.Sleep(copyEvery)
	synctest.Wait()
}

// logTo has the queue write its log there.
func logTo(log *queuetest.Log) func(*Options) {
	return func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) }
}

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

// failCommit has the next commit, which is the commit of step, end so, and waits until storage works
// again.
func (q *testQueue) failCommit(end commitResult, step func() error) {
	q.t.Helper()
	q.disk.willEnd(end)
	wantErr(q.t, step(), ErrStorageFailed)
	q.waitForStorage()
}

// waitForStorage waits until storage works again.
func (q *testQueue) waitForStorage() {
	q.t.Helper()
	for range 100 {
		synctest.Wait()
		if q.Ready() == nil {
			return
		}
		time.Sleep(time.Second)
	}
	q.t.Fatalf("storage still fails: %v", q.Ready())
}

// gather has every operation from now on wait for one transaction, in a bubble. The returned function commits it and
// waits until all of them have their answer.
func (q *testQueue) gather() (commit func()) {
	resume := q.disk.hang(0)
	go func() { _ = q.KV("x").Put(bg, "k", nil) }() // hangs, so that the others wait behind it
	synctest.Wait()
	return func() { resume(); synctest.Wait() }
}

const venue = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"

var bg = context.Background()

// order makes a request with one ticket of one line for each station.
func order(id string, stations ...string) ticket.Request {
	r := ticket.Request{
		Venue: venue, ID: id, Device: "tablet-1", Received: time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC),
		Body: []byte(`{"records":[{"id":"` + id + `"}]}`),
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
	r.Body = []byte("cancelled")
	return r
}

// dinner is request id, order 142, with lines such as 3Fish and 1Pie-, which is void, at each station.
func dinner(id, lines string, stations ...string) ticket.Request {
	r := order(id, stations...)
	r.Body = []byte(lines)
	for i := range r.Drafts {
		t := &r.Drafts[i].Ticket
		t.Number, t.Lines = "142", nil
		for _, s := range strings.Fields(lines) {
			name, void := strings.CutSuffix(s[1:], "-")
			t.Lines = append(t.Lines, ticket.Line{Quantity: s[:1], Name: name, Void: void})
		}
	}
	return r
}

var oneChanged = ticket.Receipt{Duplicate: true, Conflict: true, Jobs: 1}

func id(n int) string { return fmt.Sprintf("request-%03d", n) }

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

func (q *testQueue) take(station string) *Lease {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := q.Take(ctx, station)
	wantTrue(q.t, err == nil, station, err)
	return l
}

// begin takes the head of a lane and begins it.
func (q *testQueue) begin(station string) *Lease {
	q.t.Helper()
	l := q.take(station)
	q.must(l.Begin(context.Background(), false))
	return l
}

// print takes the head of a lane and acknowledges it as sent.
func (q *testQueue) print(station string) ticket.Delivery {
	q.t.Helper()
	l := q.take(station)
	q.must(l.Begin(context.Background(), false))
	q.must(l.Ack(context.Background(), ticket.Sent, ""))
	return l.Delivery()
}

// printAll prints the next tickets, which must be these, see said.
func (q *testQueue) printAll(station string, want ...string) {
	q.t.Helper()
	for _, w := range want {
		wantEqual(q.t, said(q.print(station)), w, station)
	}
}

// said is a ticket in words, such as "a", "a in doubt", "a changed, reprint" or "slip of 2".
func said(d ticket.Delivery) string {
	name := d.Ticket.Request
	if d.Ticket.Kind == ticket.ExpiredList {
		name = fmt.Sprint("slip of ", len(d.Ticket.Lines))
	}

	var marks []string
	for i, is := range []bool{d.Doubt, d.Ticket.Changed != nil, d.Reprint} {
		if is {
			marks = append(marks, []string{"in doubt", "changed", "reprint"}[i])
		}
	}
	if d.For != "" {
		marks = append(marks, "for "+d.For)
	}
	if len(d.RefusedBy) > 0 {
		marks = append(marks, "refused by "+strings.Join(d.RefusedBy, " "))
	}
	return strings.TrimSpace(name + " " + strings.Join(marks, ", "))
}

// printShown prints at the grill the tickets of the dark screen wall.
func (q *testQueue) printShown() error {
	t := order("a", "grill").Drafts[0].Ticket
	return q.PrintShown(bg, "wall", "grill", t, q.KV("cards"), map[string][]byte{"card": []byte("on paper")})
}

// Short for Settle.

func (l *Lease) Ack(ctx context.Context, proof ticket.Proof, backup string) error {
	return l.Settle(ctx, Settlement{End: Ack, Proof: proof, Backup: backup})
}

func (l *Lease) Retry(ctx context.Context, why string) error {
	return l.Settle(ctx, Settlement{End: Retry, Reason: why})
}

func (l *Lease) Return(ctx context.Context, why string) error {
	return l.Settle(ctx, Settlement{End: Return, Reason: why})
}

func (l *Lease) Hold(ctx context.Context, why string) error {
	return l.Settle(ctx, Settlement{End: Hold, Reason: why})
}

func (l *Lease) Fail(ctx context.Context, why string) error {
	return l.Settle(ctx, Settlement{End: Fail, Reason: why})
}

func (l *Lease) Move(ctx context.Context, to, by, why string) error {
	return l.Settle(ctx, Settlement{End: Move, To: to, RefusedBy: by, Reason: why})
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

func (q *testQueue) count(bucket int) (n int) {
	q.t.Helper()
	q.must(q.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketNames[bucket]).ForEach(func(_, _ []byte) error { n++; return nil })
	}))
	return n
}

func (q *testQueue) content() []byte {
	b, err := os.ReadFile(q.o.Path)
	q.must(err)
	return b
}

func (q *testQueue) checkBooks() {
	q.t.Helper()
	wantEqual(q.t, q.Unaccounted(), 0, q.Stations())
}

// checkMemory compares the memory with the file. No ticket may be lent.
func (q *testQueue) checkMemory() {
	q.t.Helper()
	var m *loadedState
	q.must(q.view(func(tx *bolt.Tx) (err error) { m, err = load(tx); return err }))
	q.mu.Lock()
	defer q.mu.Unlock()
	wantEqual(q.t, q.Queue.open, m.open)
	for name, l := range q.lanes {
		f := m.lanes.of(name)
		wantTrue(q.t, slices.Equal(l.jobs, f.jobs) && (l.Hold == nil) == (f.Hold == nil), name, l, f)
		wantTrue(q.t, reflect.DeepEqual(l.Books, f.Books), name, l.Books, f.Books)
	}
}

// wantNothing fails the test if a station would be lent a ticket.
func (q *testQueue) wantNothing(station string) {
	q.t.Helper()
	l, _, err := q.lend(station)
	wantTrue(q.t, l == nil && err == nil, station, l, err)
}

func (q *testQueue) wantReceipt(r ticket.Request, want ticket.Receipt) {
	q.t.Helper()
	wantEqual(q.t, q.accept(r), want, r.ID)
}

// wantNew sends a request that must not be known.
func (q *testQueue) wantNew(r ticket.Request) {
	q.t.Helper()
	got := q.accept(r)
	wantTrue(q.t, !got.Duplicate, r.ID, got)
}

// wantDuplicate sends a request that must have been accepted before.
func (q *testQueue) wantDuplicate(r ticket.Request) {
	q.t.Helper()
	got := q.accept(r)
	wantTrue(q.t, got.Duplicate && got.Jobs == 0, r.ID, got)
}

// wantRefused sends a request that must be refused.
func (q *testQueue) wantRefused(r ticket.Request, want error) {
	q.t.Helper()
	_, err := q.Accept(context.Background(), r)
	wantTrue(q.t, errors.Is(err, want), r.ID, err, want)
}

// wantCount counts the records of a bucket.
func (q *testQueue) wantCount(bucket, want int) {
	q.t.Helper()
	wantEqual(q.t, q.count(bucket), want, bucketNames[bucket])
}

// wantCommits counts the commits since there were before.
func (q *testQueue) wantCommits(before, want int) {
	q.t.Helper()
	wantEqual(q.t, q.disk.commits()-before, want)
}

func (q *testQueue) wantState(job uint64, want ticket.State) {
	q.t.Helper()
	wantEqual(q.t, q.job(job).State, want)
}

// wantExpired expires the tickets that have waited for longer than limit at a station.
func (q *testQueue) wantExpired(station string, limit time.Duration, want int) {
	q.t.Helper()
	n, err := q.Expire(bg, station, limit)
	wantTrue(q.t, n == want && err == nil, n, err, want)
}

func (q *testQueue) wantOutcomes(want string) {
	q.t.Helper()
	wantEqual(q.t, q.outcomes(), want)
}

// wantCopy reprints a job, which must be due, and prints the copy, which must be so in the notation of dinner.
func (q *testQueue) wantCopy(job uint64, o ReprintOptions, want string) {
	q.t.Helper()
	done, err := q.Reprint(bg, job, o)
	q.must(err)
	for {
		d := q.print(q.job(done.Job).Station)
		if d.Job != done.Job {
			continue
		}
		wantEqual(q.t, lines(d), want, job, o)
		return
	}
}

// overwrite stores something else under a key while the queue works.
func (q *testQueue) overwrite(bucket int, key []byte, value string) {
	q.t.Helper()
	q.must(q.do(bg, opOnce, 1, func(b *batch) error { b.put(b.bucket(bucket), key, []byte(value)); return nil }))
}

// flip damages one record.
func flip(bucket int, key []byte) func(tx *bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketNames[bucket])
		v := bytes.Clone(b.Get(key))
		v[len(v)/2] ^= 0x10
		return b.Put(key, v)
	}
}

// fakeClock is a wall clock that a test sets.
type fakeClock struct {
	mu           sync.Mutex
	now          time.Time
	synchronized bool
}

func (s *fakeClock) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *fakeClock) Synchronized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synchronized
}

func (s *fakeClock) set(now time.Time, sure bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.synchronized = now, sure
}

// endsAfter is a context that ends when it has been asked so many times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A stepper has one of the steps of replacing a file end with an error, or with the process.
type stepper struct {
	mu      sync.Mutex // guards at and done
	at      int        // from 1 on; 0: none ends
	done    []string
	persist bool // the step is done all the same
	end     func() error
}

func (s *stepper) hooks() store.Hooks {
	return store.Hooks{
		Commit: (*bolt.Tx).Commit,
		Sync: func(f *os.File) error { // the names of folders of tests are numbers
			return s.do("sync "+strings.TrimRight(filepath.Base(f.Name()), "0123456789"), f.Sync)
		},
		Link:   func(from, to string) error { return s.do("link", func() error { return os.Link(from, to) }) },
		Rename: func(from, to string) error { return s.do("rename", func() error { return os.Rename(from, to) }) },
	}
}

// failIn has the step after so many others end.
func (s *stepper) failIn(steps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = len(s.done) + steps
}

func (s *stepper) do(name string, step func() error) error {
	s.mu.Lock()
	s.done = append(s.done, name)
	end := len(s.done) == s.at
	s.mu.Unlock()
	if !end {
		return step()
	}
	if s.persist {
		if err := step(); err != nil {
			return err
		}
	}
	return s.end()
}

// rounds is how often a random test is repeated: few times, or many with [slow.Switch].
func rounds(few, many uint64) uint64 {
	if slow.All() {
		return many
	}
	return few
}

// recover loses the file of a stopped queue, and has its copy take its place.
func (q *testQueue) recover() store.Recovered {
	q.t.Helper()
	q.must(os.RemoveAll(q.o.Path))
	return q.replace()
}

// replace has the copy of a stopped queue take the place of its file.
func (q *testQueue) replace() store.Recovered {
	q.t.Helper()
	r, err := store.Recover(q.o.Path, q.o.Copy, Check, Contents, store.System)
	q.must(err)
	return r
}

// copies are the files in the folder of copies, also of an open queue.
func (q *testQueue) copies() *store.Copies {
	q.t.Helper()
	files, err := store.ReadCopies(q.o.Copy)
	q.must(err)
	return &files
}

func matches(pattern string) []string {
	found, _ := filepath.Glob(pattern) // an error is a wrong pattern
	return found
}

// Check is the check of a queue.
func Check(path string) error { return store.Check(path, Contents) }

func (q *testQueue) must(err error) {
	q.t.Helper()
	must(q.t, err)
}

// A fataler is a test, or a check of rapid.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	wantTrue(t, err == nil, err)
}

// wantEqual compares. of says of which case of a test.
func wantEqual[T comparable](t fataler, got, want T, of ...any) {
	t.Helper()
	wantTrue(t, got == want, got, want, of)
}

// wantTrue ends the test unless something holds, and says the values that it is about.
func wantTrue(t fataler, holds bool, values ...any) {
	t.Helper()
	if !holds {
		t.Fatalf("it does not hold: %+v", values)
	}
}

func wantErr(t fataler, err, want error) {
	t.Helper()
	wantTrue(t, errors.Is(err, want), err, want)
}

func wantErrText(t fataler, err error, want string) {
	t.Helper()
	wantTrue(t, err != nil && strings.Contains(err.Error(), want), err, want)
}

func wantLogged(t fataler, log *queuetest.Log, want string) {
	t.Helper()
	wantTrue(t, strings.Contains(log.String(), want), want, log)
}

func errOf[T any](_ T, err error) error { return err }
