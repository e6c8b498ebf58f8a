package queue

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/queuetest"
	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

func TestAPowerCutAfterAFailedSyncLeavesAnIntactFile(t *testing.T) {
	onCachedDisk(t, func(t *testing.T, q *testQueue, p *cachedDisk) {
		q.accept(order("a", "grill"))
		p.willEnd(failsButPersist)
		p.powerFails = true
		q.wantRefused(order("b", "grill"), ErrStorageFailed)
		q.waitForStorage()
		q.wantDuplicate(order("b", "grill"))
		q.print("grill")
		wantTrue(t, p.powerCuts >= 3, p.powerCuts)
	})
}

// TestAPowerCutInTheFirstCommitAfterACrashLeavesAnIntactFile: the process ends when the meta page is written and not
// yet synced. The next process finds it in the page cache.
func TestAPowerCutInTheFirstCommitAfterACrashLeavesAnIntactFile(t *testing.T) {
	onCachedDisk(t, func(t *testing.T, q *testQueue, p *cachedDisk) {
		q.accept(order("a", "grill"))
		p.willEnd(failsButPersist, fails, fails, fails) // so that storage fails until the end
		p.syncFails.Store(true)
		q.wantRefused(order("b", "grill"), ErrStorageFailed)
		q.must(q.Close())
		wantErr(t, errOf(open(q.o, p.hooks())), syscall.EIO)
		p.clear()
		p.syncFails.Store(false)
		p.powerFails = true
		p.open()
		q.wantDuplicate(order("b", "grill"))
		wantTrue(t, p.powerCuts != 0, "power failed at no commit")
	})
}

func TestAFileThatCannotBeSyncedAtTheStartIsNotUsed(t *testing.T) {
	onCachedDisk(t, func(_ *testing.T, q *testQueue, p *cachedDisk) {
		q.accept(order("a", "grill"))
		p.syncFails.Store(true)
		p.willEnd(failsButPersist)
		q.wantRefused(order("b", "grill"), ErrStorageFailed)
		time.Sleep(10 * time.Minute)
		q.wantRefused(order("a", "grill"), ErrStorageFailed)
		q.wantNothing("grill")
		p.syncFails.Store(false)
		q.waitForStorage()
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
		wantTrue(t, q.disk.commits() != before, "it is answered, and nothing has been committed since the failure")
		q.must(q.Close())
		q.disk.willEnd(fails, fails) // the commit at the start, and the probe commit after it
		q.open()
		q.wantRefused(order("a", "grill"), ErrStorageFailed)
		q.waitForStorage()
		q.print("grill")
	})
}

// TestAStartThatFindsTheDiskFullGivesUpTheReserve: a copy-on-write filesystem needs space even to rewrite a page.
func TestAStartThatFindsTheDiskFullGivesUpTheReserve(t *testing.T) {
	q := start(t, func(o *Options) { o.Reserve = 1 << 20 })
	q.accept(order("a", "grill"))
	q.stop()
	opened, err := open(q.o, store.Hooks{Commit: q.disk.commit, Link: os.Link, Sync: func(f *os.File) error {
		if _, err := os.Stat(store.ReservePath(q.o.Path)); err == nil && f.Name() == q.o.Path {
			return syscall.ENOSPC
		}
		return nil
	}})
	must(t, err)
	q.Queue = opened
	q.printAll("grill", "a")
}

func TestCloseStoresTheEndOfALeaseThatStorageHadRefusedOrItLeavesADoubt(t *testing.T) {
	for _, refused := range []bool{false, true} {
		inBubble(t, func(t *testing.T, q *testQueue) {
			q.accept(order("a", "grill"))
			l := q.begin("grill")
			q.disk.willEnd(fails, fails) // the end of the lease, and the first probe commit
			if refused {
				q.disk.willEnd(fails) // the commit of Close
			}
			done := make(chan error, 1)
			go func() { done <- l.Ack(bg, ticket.Confirmed, "") }()
			synctest.Wait()
			wantErr(t, q.Ready(), ErrStorageFailed)
			q.must(q.Close()) // while it waits for the next attempt
			err := <-done
			q.open()
			if refused {
				wantErr(t, err, ErrClosed)
				d := q.print("grill")
				wantTrue(t, d.Doubt, d)
				return
			}
			q.must(err)
			q.wantNothing("grill")
			q.wantState(1, ticket.Confirmed)
		})
	}
}

// TestTheEndsOfLeasesThatAFullDiskRefusedAreStoredAFewAtATime: all of them in one transaction may need more space
// than the reserve gave.
func TestTheEndsOfLeasesThatAFullDiskRefusedAreStoredAFewAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		const leases = 49
		done := make(chan error, leases)
		var lent []*Lease
		for n := range leases {
			q.accept(order(id(n), id(n)))
			lent = append(lent, q.begin(id(n)))
		}
		q.disk.willEnd(noSpace, noSpace) // an end, and the first probe commit
		for _, l := range lent {
			go func() { done <- l.Ack(bg, ticket.Sent, "") }()
		}
		synctest.Wait()
		before := q.disk.commits()
		for range leases {
			q.must(<-done)
		}
		q.wantCommits(before, 1+4) // the probe commit, and the ends
	})
}

func TestCloseSaysThatItsLastCommitFailed(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.disk.willEnd(fails) // the commit in which Close stores the running time
	wantErr(t, q.Close(), syscall.EIO)
	q.open()
	q.printAll("grill", "a")
}

func TestWaitingShowsAHungDiskWhateverUsesIt(t *testing.T) {
	each(t, map[string]func(q *testQueue) (resume func()){
		"an end that is tried again": func(q *testQueue) func() {
			q.accept(order("a", "grill"))
			l := q.begin("grill")
			q.disk.willEnd(fails, fails) // the end of the lease, and the first probe commit
			go func() { q.must(l.Ack(bg, ticket.Sent, "")) }()
			synctest.Wait()
			return q.disk.hang(0)
		},
		"housekeeping": func(q *testQueue) func() { return q.disk.hang(0) },
		"a look at its free space": func(q *testQueue) func() {
			synctest.Wait()
			hangs := make(chan struct{})
			q.space.Free = func(string) (int64, error) { <-hangs; return 1 << 40, nil }
			q.space.FreeReserve()
			return func() { close(hangs) }
		},
	}, func(t *testing.T, q *testQueue, hang func(q *testQueue) (resume func())) {
		resume := hang(q)
		time.Sleep(2 * time.Hour)
		wantTrue(t, q.Waiting() >= time.Minute, q.Waiting())
		resume()
		synctest.Wait()
		wantEqual(t, q.Waiting(), 0)
	})
}

func TestAReserveThatCannotBeCreatedStopsNoOrder(t *testing.T) {
	var log queuetest.Log
	q := start(t, logTo(&log), func(o *Options) {
		o.Reserve = 1 << 20
		must(t, os.MkdirAll(filepath.Join(o.Path+".reserve", "in the way"), 0o700))
	})
	q.must(q.Ready())
	q.accept(order("a", "grill"))
	q.space.FreeReserve()
	wantLogged(t, &log, "cannot remove the reserve file")
}

func TestAReserveIsWrittenAtTheStartUnlessItIsThereWithItsSize(t *testing.T) {
	for _, c := range []struct{ reserve, want, there int }{
		{-1, 0, 1}, {0, 16 << 20, 0}, {1 << 20, 1 << 20, 0}, {1 << 20, 1 << 20, 1<<20 - 1}, {1 << 20, 1 << 20, 2 << 20},
	} {
		var log queuetest.Log
		q := start(t, logTo(&log), func(o *Options) {
			o.Reserve = int64(c.reserve)
			must(t, os.WriteFile(store.ReservePath(o.Path), make([]byte, c.there), 0o600))
		})
		path := store.ReservePath(q.o.Path)
		if c.want > 0 {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			must(t, errors.Join(errOf(f.WriteAt([]byte("mark"), 1<<19)), f.Close()))
		}
		q.restart()
		left, _ := os.ReadFile(path)
		wantTrue(t, len(left) == c.want && bytes.Contains(left, []byte("mark")) == (c.want > 0), c, len(left))
		wantTrue(t, !strings.Contains(log.String(), "reserve"), &log)
	}
}

func TestAClockThatIsSetWhileItIsReadDoesNotChangeTheRunningTime(t *testing.T) {
	evening := time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name         string
		before, then *ntpClock
	}{
		{
			"when the time is stored",
			&ntpClock{wrong: time.Unix(60, 0), right: evening}, &ntpClock{right: evening, asked: true},
		},
		{
			"when the time off is added",
			&ntpClock{right: evening, asked: true}, &ntpClock{wrong: evening.AddDate(14, 0, 0), right: evening},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) {
				time.Sleep(2 * time.Minute) // so that the next commit stores the running time
				q.accept(order("a", "grill"))
				q.o.Clock = tt.then
				q.killed()
				synctest.Wait()
				r := q.clock.running()
				wantTrue(t, r <= time.Hour, r)
				q.wantDuplicate(order("a", "grill"))
			}, func(o *Options) { o.Clock = tt.before })
		})
	}
}

// TestADiskThatOurHistoryHasFilledTakesOrders: finished jobs make room, but for the last hour's.
func TestADiskThatOurHistoryHasFilledTakesOrders(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		r := order("old", "grill")
		r.Body = make([]byte, 3*store.MinFree)
		q.accept(r)
		q.print("grill")
		time.Sleep(historyAtLeast + time.Minute)
		q.accept(order("new", "grill"))
		q.print("grill")
		q.must(q.do(bg, opOnce, 1, func(*batch) error {
			free := store.MinFree - 1 - q.reusable()
			q.space.Free = func(string) (int64, error) { return free, nil }
			return nil
		}))
		q.wantRefused(order("refused", "grill"), ErrStorageFull)
		time.Sleep(2 * store.FullCheckEvery)
		q.wantNew(order("refused", "grill"))
		q.wantCount(bucketRequests, 2)
		q.wantDuplicate(r)
	})
}

func TestRequestsAreTakenAgainWhenThereIsSpaceForTheReserveAndMore(t *testing.T) {
	const reserve = 1 << 20
	var log queuetest.Log
	inBubble(t, func(t *testing.T, q *testQueue) {
		synctest.Wait()
		left := int64(1 << 40)
		q.space.Free = func(string) (int64, error) { return left - q.reusable(), nil }
		refused := func(n int64, id string) {
			t.Helper()
			left = n
			q.wantRefused(order(id, "grill"), ErrStorageFull)
			wantErr(t, q.Ready(), ErrStorageFull)
		}
		taken := func(n int64, id string) {
			t.Helper()
			left = n
			q.wantNew(order(id, "grill"))
			wantErr(t, q.Ready(), nil)
		}

		taken(store.MinFree, "a")
		refused(store.MinFree-1, "b")
		const mb = 1_000_000
		wantErrText(t, q.Ready(),
			fmt.Sprintf("%d MB are free, %d MB are needed", (store.MinFree-1)/mb, 2*store.MinFree/mb+1))
		refused(2*store.MinFree-1, "b")
		taken(2*store.MinFree, "b")
		refused(store.MinFree-1, "c")
		q.must(os.Remove(store.ReservePath(q.o.Path)))
		refused(2*store.MinFree+reserve-1, "c")
		taken(2*store.MinFree+reserve, "c")
		wantEqual(t, strings.Count(log.String(), fmt.Sprintf("need_bytes=%d\n", 2*store.MinFree)), 2, &log)
	}, logTo(&log), func(o *Options) { o.Reserve = reserve })
}

// A cachedDisk is a disk that knows which bytes are only in the page cache and which are durable. bbolt
// writes the meta page last and syncs it alone. So the worst that a power cut leaves is the data
// pages as they are now, with the meta pages of the last sync.
type cachedDisk struct {
	*disk
	q          *testQueue
	meta       []byte      // the two meta pages as they are on the disk
	syncFails  atomic.Bool // syncs fail
	powerFails bool        // check after each commit the file that a power cut would leave
	powerCuts  int
}

func (p *cachedDisk) hooks() store.Hooks {
	return store.Hooks{Commit: p.commit, Sync: p.sync, Link: os.Link}
}

func (p *cachedDisk) commit(tx *bolt.Tx) error {
	err := p.disk.commit(tx)
	if p.powerFails {
		p.checkAfterPowerCut()
	}
	if err == nil {
		p.meta = p.q.content()[:2*os.Getpagesize()]
	}
	return err
}

func (p *cachedDisk) sync(f *os.File) error {
	if f.Name() != p.q.o.Path { // the directory
		return nil
	}
	if p.syncFails.Load() {
		return syscall.EIO
	}
	p.meta = p.q.content()[:2*os.Getpagesize()]
	return nil
}

// checkAfterPowerCut checks the file that a power cut would leave now.
func (p *cachedDisk) checkAfterPowerCut() {
	left := p.q.content()
	copy(left, p.meta)
	file := filepath.Join(p.q.t.TempDir(), "left.db")
	p.q.must(os.WriteFile(file, left, 0o600))
	if err := Check(file); err != nil { // not must: this is the committer's goroutine
		p.q.t.Errorf("a power cut at commit %d: %v", p.commits(), err)
	}
	p.powerCuts++
}

// onCachedDisk runs f with queues that have been used for a while. With each number of tickets other pages are free.
func onCachedDisk(t *testing.T, f func(t *testing.T, q *testQueue, p *cachedDisk)) {
	for n := range int(rounds(2, 6)) {
		inBubble(t, func(t *testing.T, q *testQueue) {
			tickets := 20 + n
			q.orders(tickets, "grill")
			for range tickets / 3 {
				q.print("grill")
			}
			q.stop()

			p := &cachedDisk{disk: q.disk, q: q}
			p.open()
			f(t, q, p)
		})
	}
}

func (p *cachedDisk) open() {
	opened, err := open(p.q.o, p.hooks())
	p.q.must(err)
	p.q.Queue = opened
}

// An ntpClock is wrong until it is asked whether it is synchronized: at that moment NTP answers.
type ntpClock struct {
	wrong, right time.Time
	asked        bool
}

func (c *ntpClock) Now() time.Time {
	if c.asked {
		return c.right
	}
	return c.wrong
}

func (c *ntpClock) Synchronized() bool { c.asked = true; return true }
