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

func (p *platter) seams() seams { return seams{commit: p.commit, sync: p.sync} }

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
func onPlatter(t *testing.T, tickets int) (*kitchen, *platter) {
	k := start(t)
	k.orders(tickets, "grill")
	for range tickets / 3 {
		k.print("grill")
	}
	k.stop()
	p := &platter{disk: k.disk, t: t, path: k.o.Path}
	p.open(k)
	return k, p
}

func (p *platter) open(k *kitchen) {
	var err error
	if k.Queue, err = open(k.o, p.seams()); err != nil {
		p.t.Fatal(err)
	}
}

func TestAPowerCutRightAfterAFailedSyncLeavesAWholeFile(t *testing.T) {
	for tickets := 20; tickets < 26; tickets++ {
		synctest.Test(t, func(t *testing.T) {
			k, p := onPlatter(t, tickets)
			defer k.stop()
			k.accept(order("a", "grill"))
			p.then(failsButPersist)
			p.cutOff = true
			k.refused(order("b", "grill"), ErrStorageFailed)
			k.healed()
			k.known(order("b", "grill"))
			k.print("grill")
			if p.cuts < 3 {
				t.Errorf("power failed at only %d commits", p.cuts)
			}
		})
	}
}

// The process ends when the meta page is written and not yet synced; the next one finds it in
// the page cache.
func TestAPowerCutInTheFirstCommitAfterACrashLeavesAWholeFile(t *testing.T) {
	for tickets := 20; tickets < 26; tickets++ {
		synctest.Test(t, func(t *testing.T) {
			k, p := onPlatter(t, tickets)
			defer k.stop()
			k.accept(order("a", "grill"))
			p.then(failsButPersist, fails, fails, fails) // so that nothing is mended before the end
			p.deaf.Store(true)
			k.refused(order("b", "grill"), ErrStorageFailed)
			k.must(k.Close())
			if q, err := open(k.o, p.seams()); !errors.Is(err, syscall.EIO) {
				t.Fatalf("opened %v, %v", q != nil, err)
			}
			p.heal()
			p.deaf.Store(false)
			p.cutOff = true
			p.open(k)
			k.known(order("b", "grill"))
			if p.cuts == 0 {
				t.Error("power failed at no commit")
			}
		})
	}
}

func TestAFileThatCannotBeSyncedAnewIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, p := onPlatter(t, 3)
		defer k.stop()
		k.accept(order("a", "grill"))
		p.deaf.Store(true)
		p.then(failsButPersist)
		k.refused(order("b", "grill"), ErrStorageFailed)
		time.Sleep(10 * time.Minute)
		k.refused(order("a", "grill"), ErrStorageFailed)
		k.nothing("grill")
		p.deaf.Store(false)
		k.healed()
		k.known(order("b", "grill"))
	})
}

func TestADuplicateAfterARestartRestsOnACommitOfThisProcess(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.disk.then(failsButPersist, fails, fails, fails)
		k.refused(order("a", "grill"), ErrStorageFailed)
		synctest.Wait()
		k.must(k.Close())
		k.disk.heal()
		before := k.disk.commits()
		k.open()
		k.known(order("a", "grill"))
		if k.disk.commits() == before {
			t.Error("it is answered, and nothing has been committed since the failure")
		}
		k.must(k.Close())
		k.disk.then(fails, fails) // the commit at the start, and the one to mend that
		k.open()
		k.refused(order("a", "grill"), ErrStorageFailed)
		k.healed()
		k.print("grill")
	})
}

func TestADamagedRecordOnAFailingDiskDoesNotStopTheStart(t *testing.T) {
	for _, end := range []ending{fails, failsButPersist, noSpace} {
		for name, ends := range map[string][]ending{"first commit": {end}, "repair": {works, end}, "both": {end, works, end}} {
			t.Run(name+" "+end.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, k *kitchen) {
					k.accept(order("a", "grill"))
					k.accept(order("b", "grill"))
					k.change(flip(bucketState, key64(1)))
					k.disk.then(ends...)
					k.open()
					k.healed()
					k.prints("grill", "b")
					k.is(1, ticket.Buried)
				})
			})
		}
	}
}

func TestATicketThatIsOutIsWrittenDownOnTheWayOut(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.accept(order("a", "grill"))
		l := k.begin("grill")
		k.disk.then(fails, fails)
		done := make(chan error, 1)
		go func() { done <- l.Ack(bg, ticket.Confirmed, "") }()
		synctest.Wait()
		if k.Ready() == nil {
			t.Fatal("storage works already")
		}
		k.must(k.Close()) // in the pause before the next try
		k.must(<-done)
		k.open()
		k.nothing("grill")
		k.is(1, ticket.Confirmed)
	})
}

func TestAHungDiskIsSeenWhoeverWaitsForIt(t *testing.T) {
	t.Run("an end that is tried again", func(t *testing.T) {
		inBubble(t, func(t *testing.T, k *kitchen) {
			k.accept(order("a", "grill"))
			l := k.begin("grill")
			k.disk.then(fails, fails) // the end, and the first try to mend
			done := make(chan error, 1)
			go func() { done <- l.Ack(bg, ticket.Sent, "") }()
			synctest.Wait()
			wantHang(t, k, 5*time.Minute)
			k.must(<-done)
		})
	})
	t.Run("housekeeping", func(t *testing.T) {
		inBubble(t, func(t *testing.T, k *kitchen) {
			wantHang(t, k, 2*time.Hour)
		})
	})
}

func wantHang(t *testing.T, k *kitchen, after time.Duration) {
	t.Helper()
	resume := k.disk.hang()
	time.Sleep(after)
	if w := k.Waiting(); w < time.Minute {
		t.Errorf("the disk hangs, and only %s are waited", w)
	}
	resume()
	synctest.Wait()
	if w := k.Waiting(); w != 0 {
		t.Errorf("it goes on, and %s are waited", w)
	}
}

func TestAReserveThatCannotBeMadeCostsNoOrder(t *testing.T) {
	k := start(t, func(o *Options) {
		o.Reserve = 1 << 20
		must(t, os.MkdirAll(filepath.Join(o.Path+".reserve", "in the way"), 0o700))
	})
	k.must(k.Ready())
	k.accept(order("a", "grill"))
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

func TestAClockSetWhileItIsReadMovesNoTime(t *testing.T) {
	evening := time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name         string
		before, then *rightClock
	}{
		{"when the time is noted", &rightClock{wrong: time.Unix(60, 0), right: evening}, &rightClock{right: evening, asked: true}},
		{"when it is credited", &rightClock{right: evening, asked: true}, &rightClock{wrong: evening.AddDate(14, 0, 0), right: evening}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kitchen) {
				time.Sleep(2 * time.Minute) // so that the time is noted with the next commit
				k.accept(order("a", "grill"))
				left, err := os.ReadFile(k.o.Path)
				k.must(err)
				k.stop()
				k.must(os.WriteFile(k.o.Path, left, 0o600)) // power failed after that commit
				k.o.Clock = tt.then
				k.open()
				synctest.Wait()
				if r := k.clock.running(); r > time.Hour {
					t.Errorf("running time jumps to %s", r)
				}
				k.known(order("a", "grill"))
			}, func(o *Options) { o.Clock = tt.before })
		})
	}
}
