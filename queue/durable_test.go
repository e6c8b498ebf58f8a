package queue

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A platter is a disk that tells the page cache from what is durable. A meta page is written
// last and synced alone, so what a power cut leaves at worst is the data pages of now under
// the meta pages of the last sync.
type platter struct {
	*disk
	t      testing.TB
	path   string
	meta   []byte      // the two meta pages, as they are durable
	deaf   atomic.Bool // syncs fail
	cutOff bool        // power fails at each commit, and somebody looks at what is left
	cuts   int
}

func (p *platter) seams() storageHooks { return storageHooks{commit: p.commit, sync: p.sync} }

func (p *platter) commit(tx *bolt.Tx) error {
	err := p.disk.commit(tx)
	if p.cutOff {
		p.cut()
	}
	if err == nil {
		p.meta = p.content()[:2*os.Getpagesize()]
	}
	return err
}

func (p *platter) sync(*os.File) error {
	if p.deaf.Load() {
		return syscall.EIO
	}
	p.meta = p.content()[:2*os.Getpagesize()]
	return nil
}

func (p *platter) content() []byte {
	b, err := os.ReadFile(p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// cut looks at the file that a power cut would leave.
func (p *platter) cut() {
	left := p.content()
	copy(left, p.meta)
	file := filepath.Join(p.t.TempDir(), "left.db")
	if err := os.WriteFile(file, left, 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := Check(file); err != nil {
		p.t.Errorf("a power cut at commit %d: %v", p.commits(), err)
	}
	p.cuts++
}

// onPlatter opens a queue that has seen some service.
func onPlatter(t *testing.T, tickets int) (*testQueue, *platter) {
	q := start(t)
	q.orders(tickets, "grill")
	for range tickets / 3 {
		q.print("grill")
	}
	q.stop()
	p := &platter{disk: q.disk, t: t, path: q.o.Path}
	p.open(q)
	return q, p
}

func (p *platter) open(q *testQueue) {
	var err error
	if q.Queue, err = open(q.o, p.seams()); err != nil {
		p.t.Fatal(err)
	}
}

func TestAPowerCutAfterAFailedSyncLeavesAnIntactFile(t *testing.T) {
	for tickets := 20; tickets < 26; tickets++ {
		synctest.Test(t, func(t *testing.T) {
			q, p := onPlatter(t, tickets)
			defer q.stop()
			q.accept(order("a", "grill"))
			p.willEnd(failsButPersist)
			p.cutOff = true
			q.wantRefused(order("b", "grill"), ErrStorageFailed)
			q.healed()
			q.wantDuplicate(order("b", "grill"))
			q.print("grill")
			if p.cuts < 3 {
				t.Errorf("power failed at only %d commits", p.cuts)
			}
		})
	}
}

// The process ends when the meta page is written and not yet synced; the next one finds it in
// the page cache.
func TestAPowerCutInTheFirstCommitAfterACrashLeavesAnIntactFile(t *testing.T) {
	for tickets := 20; tickets < 26; tickets++ {
		synctest.Test(t, func(t *testing.T) {
			q, p := onPlatter(t, tickets)
			defer q.stop()
			q.accept(order("a", "grill"))
			p.willEnd(failsButPersist, fails, fails, fails) // so that nothing is mended before the end
			p.deaf.Store(true)
			q.wantRefused(order("b", "grill"), ErrStorageFailed)
			q.must(q.Close())
			if q, err := open(q.o, p.seams()); !errors.Is(err, syscall.EIO) {
				t.Fatalf("opened %v, %v", q != nil, err)
			}
			p.clear()
			p.deaf.Store(false)
			p.cutOff = true
			p.open(q)
			q.wantDuplicate(order("b", "grill"))
			if p.cuts == 0 {
				t.Error("power failed at no commit")
			}
		})
	}
}

func TestAFileThatCannotBeSyncedAtTheStartIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := onPlatter(t, 3)
		defer q.stop()
		q.accept(order("a", "grill"))
		p.deaf.Store(true)
		p.willEnd(failsButPersist)
		q.wantRefused(order("b", "grill"), ErrStorageFailed)
		time.Sleep(10 * time.Minute)
		q.wantRefused(order("a", "grill"), ErrStorageFailed)
		q.wantNothing("grill")
		p.deaf.Store(false)
		q.healed()
		q.wantDuplicate(order("b", "grill"))
	})
}

func TestADuplicateAfterARestartIsAnsweredOnlyAfterACommit(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.disk.willEnd(failsButPersist, fails, fails, fails)
		q.wantRefused(order("a", "grill"), ErrStorageFailed)
		synctest.Wait()
		q.must(q.Close())
		q.disk.clear()
		before := q.disk.commits()
		q.open()
		q.wantDuplicate(order("a", "grill"))
		if q.disk.commits() == before {
			t.Error("it is answered, and nothing has been committed since the failure")
		}
		q.must(q.Close())
		q.disk.willEnd(fails, fails) // the commit at the start, and the one to mend that
		q.open()
		q.wantRefused(order("a", "grill"), ErrStorageFailed)
		q.healed()
		q.print("grill")
	})
}

func TestADamagedRecordOnAFailingDiskDoesNotStopTheStart(t *testing.T) {
	for _, end := range []commitResult{fails, failsButPersist, noSpace} {
		for name, ends := range map[string][]commitResult{"first commit": {end}, "repair": {works, end}, "both": {end, works, end}} {
			t.Run(name+" "+end.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, q *testQueue) {
					q.accept(order("a", "grill"))
					q.accept(order("b", "grill"))
					q.change(flip(bucketState, key64(1)))
					q.disk.willEnd(ends...)
					q.open()
					q.healed()
					q.printAll("grill", "b")
					q.wantState(1, ticket.Failed)
				})
			})
		}
	}
}

func TestCloseStoresTheEndsOfLeasesThatStorageHadRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		l := q.begin("grill")
		q.disk.willEnd(fails, fails)
		done := make(chan error, 1)
		go func() { done <- l.Ack(bg, ticket.Confirmed, "") }()
		synctest.Wait()
		if q.Ready() == nil {
			t.Fatal("storage works already")
		}
		q.must(q.Close()) // in the pause before the next try
		q.must(<-done)
		q.open()
		q.wantNothing("grill")
		q.wantState(1, ticket.Confirmed)
	})
}

func TestWaitingShowsAHungDiskWhateverUsesIt(t *testing.T) {
	t.Run("an end that is tried again", func(t *testing.T) {
		inBubble(t, func(t *testing.T, q *testQueue) {
			q.accept(order("a", "grill"))
			l := q.begin("grill")
			q.disk.willEnd(fails, fails) // the end, and the first try to mend
			done := make(chan error, 1)
			go func() { done <- l.Ack(bg, ticket.Sent, "") }()
			synctest.Wait()
			wantHang(t, q, 5*time.Minute)
			q.must(<-done)
		})
	})
	t.Run("housekeeping", func(t *testing.T) {
		inBubble(t, func(t *testing.T, q *testQueue) {
			wantHang(t, q, 2*time.Hour)
		})
	})
}

func wantHang(t *testing.T, q *testQueue, after time.Duration) {
	t.Helper()
	resume := q.disk.hang()
	time.Sleep(after)
	if w := q.Waiting(); w < time.Minute {
		t.Errorf("the disk hangs, and only %s are waited", w)
	}
	resume()
	synctest.Wait()
	if w := q.Waiting(); w != 0 {
		t.Errorf("it goes on, and %s are waited", w)
	}
}

func TestAReserveThatCannotBeCreatedStopsNoOrder(t *testing.T) {
	q := start(t, func(o *Options) {
		o.Reserve = 1 << 20
		must(t, os.MkdirAll(filepath.Join(o.Path+".reserve", "in the way"), 0o700))
	})
	q.must(q.Ready())
	q.accept(order("a", "grill"))
}

// A rightClock is wrong until somebody asks it whether it is right: that is when NTP answers.
type rightClock struct {
	wrong, right time.Time
	asked        bool
}

func (c *rightClock) Now() time.Time {
	if c.asked {
		return c.right
	}
	return c.wrong
}

func (c *rightClock) Synchronized() bool { c.asked = true; return true }

func TestAClockThatIsSetWhileItIsReadDoesNotChangeTheRunningTime(t *testing.T) {
	evening := time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name         string
		before, then *rightClock
	}{
		{"when the time is noted", &rightClock{wrong: time.Unix(60, 0), right: evening}, &rightClock{right: evening, asked: true}},
		{"when it is credited", &rightClock{right: evening, asked: true}, &rightClock{wrong: evening.AddDate(14, 0, 0), right: evening}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) {
				time.Sleep(2 * time.Minute) // so that the time is noted with the next commit
				q.accept(order("a", "grill"))
				left, err := os.ReadFile(q.o.Path)
				q.must(err)
				q.stop()
				q.must(os.WriteFile(q.o.Path, left, 0o600)) // power failed after that commit
				q.o.Clock = tt.then
				q.open()
				synctest.Wait()
				if r := q.clock.running(); r > time.Hour {
					t.Errorf("running time jumps to %s", r)
				}
				q.wantDuplicate(order("a", "grill"))
			}, func(o *Options) { o.Clock = tt.before })
		})
	}
}
