package app

import (
	"context"
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
	waiting  atomic.Int64
}

func (c *counter) Accept(context.Context, ticket.Request) (ticket.Receipt, error) {
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
func fill(t *testing.T, l *Lull) {
	t.Helper()
	for range 1 << 20 {
		l.mu.Lock()
		enough := l.halfFull()
		l.mu.Unlock()
		if enough {
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
				l := NewLull(c)
				defer l.Stop()
				time.Sleep(2 * lullAfter) // the look at the start
				synctest.Wait()
				runtime.GC()
				if k.full {
					fill(t, l)
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

func order(t *testing.T, l *Lull) {
	t.Helper()
	if r, err := l.Accept(t.Context(), ticket.Request{}); err != nil || r.Jobs != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
}
