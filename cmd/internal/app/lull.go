package app

import (
	"context"
	"runtime"
	gauge "runtime/metrics"
	"sync"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// lullAfter is how long no order has come in when a lull begins. The tickets of the last one have
// begun by then.
const lullAfter = 4 * time.Millisecond

// A Lull has garbage collected while no order waits for its answer. The collector begins when
// the heap is full, and a heap fills only while somebody works: left alone it begins in the middle
// of an order, whose answer may take twice as long. In a lull half a full heap is reason enough.
// When orders leave no lull, the collector begins by itself as ever.
//
// It stands between the receiver and the queue, and is safe for concurrent use.
type Lull struct {
	intake  receiver.Intake
	waiting func() time.Duration
	timer   *time.Timer

	mu      sync.Mutex // guards what follows; held while garbage is collected, so no order may wait for it
	heap    heap
	stopped bool
}

// NewLull puts a lull before an intake. waiting says how long the oldest change has waited for
// the disk. Stop ends it.
func NewLull(in receiver.Intake, waiting func() time.Duration) *Lull {
	l := &Lull{intake: in, waiting: waiting, heap: newHeap()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(lullAfter, l.look)
	return l
}

// Accept passes a request on.
func (l *Lull) Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	defer l.timer.Reset(lullAfter)
	return l.intake.Accept(ctx, r)
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
	case l.stopped || !halfFull(l.heap.read()):
	case l.waiting() > 0:
		l.timer.Reset(lullAfter)
	default:
		runtime.GC()
	}
}

// heap is the gauges that a lull reads.
type heap []gauge.Sample

func newHeap() heap {
	return heap{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"}}
}

// read returns, in bytes, what is used, what of it was in use when garbage was collected last,
// and where the collector begins by itself.
func (h heap) read() (used, live, goal uint64) {
	gauge.Read(h)
	return h[0].Value.Uint64(), h[1].Value.Uint64(), h[2].Value.Uint64()
}

// leastRoom is how much room a heap must have for it to matter when it is full: one with less
// is collected all the time.
const leastRoom = 1 << 20

// halfFull says whether half of what the collector allows has become garbage, or is new.
func halfFull(used, live, goal uint64) bool {
	return goal >= live+leastRoom && used > live+(goal-live)/2
}
