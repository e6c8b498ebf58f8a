package queue

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// kind says what becomes of an operation whose commit failed, that is: of which
// nobody knows whether it is on the disk.
type kind int

const (
	// accept is refused; the service sends it again and is answered by the dedup key.
	accept kind = iota
	// once is refused: done again it could be done twice. A person or a loop looks and asks again.
	once
	// doubt is refused, unless the disk was merely full. Refused, the ticket does not go out.
	doubt
	// settle is kept and done again until it is on the disk: what came out of a printer
	// did come out. Doing it twice is the same as doing it once.
	settle
)

// An op is one change on its way to the committer.
type op struct {
	kind  kind
	apply func(*batch) error // its error is the answer; having returned one it must not have written
	size  int                // bytes, roughly
	since time.Time
	ctx   context.Context // of an accept: nobody waits for the answer once it has ended
	done  chan error      // gets exactly one answer
}

const (
	maxAccepts     = 4096     // requests that may wait; above it ErrBusy
	maxAcceptBytes = 64 << 20 // and their size together
	maxBatch       = 512      // operations in a transaction
	maxBatchBytes  = 4 << 20  // and their size
)

// inbox is where operations wait for the committer. Everything but new requests goes
// first: a line must not stand still because many orders come in.
type inbox struct {
	mu          sync.Mutex // guards all below
	urgent      []*op
	accepts     []*op
	acceptBytes int       // of accepts
	working     time.Time // since when the oldest operation in the current batch has waited
	closed      bool
	wake        chan struct{} // holds one token when there may be something to do
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (in *inbox) put(o *op) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
		return ErrClosed
	case o.kind != accept:
		in.urgent = append(in.urgent, o)
	case len(in.accepts) >= maxAccepts || len(in.accepts) > 0 && in.acceptBytes+o.size > maxAcceptBytes:
		return fmt.Errorf("%w: %d already do, with %d bytes", ErrBusy, len(in.accepts), in.acceptBytes)
	default:
		in.accepts = append(in.accepts, o)
		in.acceptBytes += o.size
	}
	in.wakeCommitter()
	return nil
}

func (in *inbox) wakeCommitter() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// next takes what waits, as much as one transaction should hold.
func (in *inbox) next() (ops []*op, closed bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	size := 0
	move := func(from *[]*op) {
		n := 0
		for _, o := range *from {
			if len(ops) >= maxBatch || (len(ops) > 0 && size+o.size > maxBatchBytes) {
				break
			}
			n++
			if o.kind == accept {
				in.acceptBytes -= o.size
			}
			if o.ctx != nil && o.ctx.Err() != nil {
				o.done <- o.ctx.Err()
				continue
			}
			size += o.size
			ops = append(ops, o)
		}
		rest := copy(*from, (*from)[n:])
		clear((*from)[rest:])
		*from = (*from)[:rest]
	}
	move(&in.urgent)
	move(&in.accepts)
	in.working = time.Time{}
	for _, o := range ops {
		if in.working.IsZero() || o.since.Before(in.working) {
			in.working = o.since
		}
	}
	return ops, in.closed
}

// busy notes that the committer goes to the disk for something that nobody handed in. The
// next call of next takes it back.
func (in *inbox) busy() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.working = time.Now()
}

func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.wakeCommitter()
}

// waiting is how long the oldest operation has had no answer.
func (in *inbox) waiting() time.Duration {
	in.mu.Lock()
	defer in.mu.Unlock()
	oldest := in.working
	for _, ops := range [][]*op{in.urgent, in.accepts} {
		if len(ops) > 0 && (oldest.IsZero() || ops[0].since.Before(oldest)) {
			oldest = ops[0].since
		}
	}
	if oldest.IsZero() {
		return 0
	}
	return time.Since(oldest)
}

// do hands a change to the committer and waits for the answer. When ctx ends first its
// error is returned, and the change may still happen.
func (q *Queue) do(ctx context.Context, k kind, size int, apply func(*batch) error) error {
	o := &op{kind: k, apply: apply, size: size, since: time.Now(), done: make(chan error, 1)}
	if k == accept {
		o.ctx = ctx
	}
	if err := q.in.put(o); err != nil {
		return err
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		select { // an answer that is there is better than none
		case err := <-o.done:
			return err
		default:
			return ctx.Err()
		}
	}
}
