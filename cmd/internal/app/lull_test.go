package app

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	gauge "runtime/metrics"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

// counter is a queue that only counts.
type counter struct {
	requests int
	takes    time.Duration // for each
	waiting  atomic.Int64
}

func (c *counter) Accept(context.Context, ticket.Request) (ticket.Receipt, error) {
	time.Sleep(c.takes)
	c.requests++
	return ticket.Receipt{Jobs: 1}, nil
}

func (c *counter) Waiting() time.Duration { return time.Duration(c.waiting.Load()) }

// collections counts those that somebody asked for.
func collections() uint64 {
	s := []gauge.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	gauge.Read(s)
	return s[0].Value.Uint64()
}

var litter []byte

// fill makes garbage until half of what the collector allows is used. It allows so much
// that it does not begin by itself meanwhile.
func fill(t *testing.T) {
	t.Helper()
	runtime.GC()
	h := newHeap()
	for range 1 << 20 {
		if halfFull(h.read()) {
			return
		}
		litter = make([]byte, 64<<10)
	}
	t.Fatal("64 GiB of garbage did not fill half of the heap")
}

func TestGarbageIsCollectedBetweenOrders(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, k := range []struct {
		name string
		full bool
		do   func(t *testing.T, c *counter, l *Lull)
		want uint64
	}{
		{"4 ms after an order", true, func(t *testing.T, c *counter, l *Lull) {
			order(t, l)
			time.Sleep(lullAfter)
		}, 1},
		{"not before", true, func(t *testing.T, c *counter, l *Lull) {
			order(t, l)
			time.Sleep(lullAfter - 1)
		}, 0},
		{"not while orders follow each other", true, func(t *testing.T, c *counter, l *Lull) {
			for range 100 {
				order(t, l)
				time.Sleep(lullAfter - 1)
			}
		}, 0},
		{"not while one waits", true, func(t *testing.T, c *counter, l *Lull) {
			c.takes = 10 * lullAfter
			order(t, l)
		}, 0},
		{"not while the disk is at work", true, func(t *testing.T, c *counter, l *Lull) {
			c.waiting.Store(1)
			order(t, l)
			time.Sleep(10 * lullAfter)
		}, 0},
		{"once the disk has done its work", true, func(t *testing.T, c *counter, l *Lull) {
			c.waiting.Store(1)
			order(t, l)
			time.Sleep(10 * lullAfter)
			c.waiting.Store(0)
			time.Sleep(lullAfter)
		}, 1},
		{"not where there is little", false, func(t *testing.T, c *counter, l *Lull) {
			order(t, l)
			time.Sleep(10 * lullAfter)
		}, 0},
		{"not when it has ended", true, func(t *testing.T, c *counter, l *Lull) {
			l.Stop()
			order(t, l)
			time.Sleep(10 * lullAfter)
		}, 0},
	} {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counter{}
				l := NewLull(c, c.Waiting)
				defer l.Stop()
				time.Sleep(2 * lullAfter) // the look at the start
				synctest.Wait()
				runtime.GC()
				if k.full {
					fill(t)
				}
				before := collections()
				k.do(t, c, l)
				synctest.Wait()
				if got := collections() - before; got != k.want {
					t.Errorf("collected %d times, want %d", got, k.want)
				}
				if c.requests == 0 {
					t.Error("the order did not reach the queue")
				}
			})
		})
	}
}

func TestTheHeapIsHalfFullWhereHalfOfWhatIsAllowedIsUsed(t *testing.T) {
	const mib = 1 << 20
	for _, k := range []struct {
		used, live, goal uint64
		want             bool
	}{
		{20*mib + 1, 12 * mib, 28 * mib, true},
		{20 * mib, 12 * mib, 28 * mib, false},
		{12 * mib, 12 * mib, 28 * mib, false},
		{30 * mib, 30 * mib, 28 * mib, false}, // the limit is below what lives
		{30 * mib, 28 * mib, 28*mib + mib - 1, false},
		{30 * mib, 28 * mib, 28*mib + mib, true},
		{1 << 40, 12 * mib, math.MaxUint64, false}, // the collector is off
	} {
		if got := halfFull(k.used, k.live, k.goal); got != k.want {
			t.Errorf("used %d, live %d, goal %d: %v", k.used, k.live, k.goal, got)
		}
	}
}

func TestTheDaemonCollectsItsGarbageBetweenOrders(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	inBubble(t, func(k *kitchen) {
		k.put("A1", at("grill", "Steak"))
		k.pass(time.Minute)
		fill(t)
		before := collections()
		k.put("A2", at("grill", "Fish"))
		k.pass(time.Second)
		if got := collections() - before; got != 1 {
			t.Errorf("collected %d times after an order, want once", got)
		}
		k.put("A3", at("grill", "Fish"))
		fill(t)
		before = collections()
		k.halt()
		time.Sleep(time.Minute)
		if got := collections() - before; got != 0 {
			t.Errorf("collected %d times after the end", got)
		}
		k.start()
	}, "grill")
}

func order(t *testing.T, l *Lull) {
	t.Helper()
	if r, err := l.Accept(t.Context(), ticket.Request{}); err != nil || r.Jobs != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
}
