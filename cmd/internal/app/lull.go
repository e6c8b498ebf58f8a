package app

import (
	"context"
	"runtime"
	gauge "runtime/metrics"
	"sync"
	"time"

	"ticketrail/queue/ticket"
)

// lullAfter is how long no order has come in when a lull begins. The tickets of the last one have
// begun by then.
const lullAfter = 4 * time.Millisecond

// A Lull has garbage collected while no order waits for its answer. The collector begins when
// the heap is full, and a heap fills only while somebody works: left alone it falls on an
// order more often than not, and that answer takes twice as long. In a lull half a full heap is
// reason enough. When orders leave no lull, the collector begins by itself as ever.
//
// It stands between the receiver and the queue, and is safe for concurrent use.
type Lull struct {
	queue Waiter
	timer *time.Timer

	mu      sync.Mutex // guards what follows; held while garbage is collected
	heap    []gauge.Sample
	stopped bool
}

// A Waiter takes print requests, and says how long the oldest change has waited for the disk.
type Waiter interface {
	Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error)
	Waiting() time.Duration
}

// NewLull puts a lull before a queue. Stop ends it.
func NewLull(q Waiter) *Lull {
	l := &Lull{queue: q, heap: []gauge.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"},
	}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(lullAfter, l.look)
	return l
}

// Accept passes a request on.
func (l *Lull) Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	defer l.timer.Reset(lullAfter)
	return l.queue.Accept(ctx, r)
}

// Stop ends it; requests are still passed on.
func (l *Lull) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.timer.Stop()
}

func (l *Lull) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped || !l.halfFull():
	case l.queue.Waiting() > 0:
		l.timer.Reset(lullAfter)
	default:
		runtime.GC()
	}
}

// halfFull says whether half of what the collector allows has become garbage, or is new.
func (l *Lull) halfFull() bool {
	gauge.Read(l.heap)
	used, live, goal := l.heap[0].Value.Uint64(), l.heap[1].Value.Uint64(), l.heap[2].Value.Uint64()
	return goal > live && used > live+(goal-live)/2
}
