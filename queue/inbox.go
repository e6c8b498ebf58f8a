package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A kind decides how the committer treats an operation whose commit failed: the operation may or
// may not be on the disk.
type kind int

const (
	// opAccept is refused. The service sends the request again, and the dedup key answers it.
	opAccept kind = iota
	// opOnce is refused, because done again it could happen twice. The caller looks at the state and
	// asks again: a person, or a loop that checks first.
	opOnce
	// opBegin stores that a ticket may come out. It is refused, and then the ticket is not printed.
	// Only if its own commit found the disk full it is kept and done again: nothing was written, and printing must
	// go on with a full disk.
	opBegin
	// opSettle is the settlement of a lease. It is kept and done again until it is on the disk,
	// because a ticket that came out did come out. Storing it twice is the same as storing it once.
	opSettle
)

// About how many bytes a change of one job writes, and a copy of one. They need not be exact, because
// they only bound transactions and the waiting operations.
const (
	smallOp = 512
	copyOp  = 4 << 10
)

// An op is one change that waits for the committer.
type op struct {
	kind  kind
	apply func(*batch) error // its error is the answer; if it returns one it must not have written anything
	size  int                // bytes it will write, about
	since time.Time
	ctx   context.Context // only of an accept: when it has ended, the op is skipped
	done  chan error      // gets exactly one answer
}

// Limits. A box has little memory, so requests that the disk cannot keep up with are refused; the
// service sends them again. A transaction must stay short, because a ticket that is next waits for
// it.
const (
	maxAccepts     = 4096     // requests that may wait; above it ErrBusy
	maxAcceptBytes = 64 << 20 // and their size together
	maxBatch       = 512      // operations in a transaction
	maxBatchBytes  = 4 << 20  // and their size
)

// The inbox is where operations wait for the committer. All operations but new requests go first: a
// station must not wait for its next ticket because many orders come in.
type inbox struct {
	mu          sync.Mutex // guards the fields below
	urgent      []*op
	accepts     []*op
	acceptBytes int       // of accepts
	working     time.Time // since when the oldest operation of the current batch has waited; zero: none is under way
	closed      bool
	wake        chan struct{} // holds one token when there may be something to do
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// put adds an operation, or returns ErrClosed or ErrBusy. One request larger than the limit is
// still taken if it is alone: the receiver has its own limit for a body.
func (in *inbox) put(o *op) error {
	in.mu.Lock()
	defer in.mu.Unlock()

	switch {
	case in.closed:
		return ErrClosed
	case o.kind != opAccept:
		in.urgent = append(in.urgent, o)
	case len(in.accepts) >= maxAccepts || len(in.accepts) > 0 && in.acceptBytes+o.size > maxAcceptBytes:
		return fmt.Errorf("%w: %d wait already, with %d bytes", ErrBusy, len(in.accepts), in.acceptBytes)
	default:
		in.accepts = append(in.accepts, o)
		in.acceptBytes += o.size
	}

	in.wakeCommitter()
	return nil
}

// wakeCommitter never blocks: one token is enough, because the committer takes all that waits.
func (in *inbox) wakeCommitter() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// nextBatch takes the operations of the next transaction. closed says that no more will come. A
// single operation above the size limit gets a transaction of its own.
func (in *inbox) nextBatch() (ops []*op, closed bool) {
	in.mu.Lock()
	defer in.mu.Unlock()

	size := 0
	take := func(from *[]*op) {
		taken := 0
		for _, o := range *from {
			if len(ops) >= maxBatch || (len(ops) > 0 && size+o.size > maxBatchBytes) {
				break
			}
			taken++
			if o.kind == opAccept {
				in.acceptBytes -= o.size
			}

			if o.ctx != nil && o.ctx.Err() != nil { // its caller has given up: the service sends it again
				o.done <- o.ctx.Err()
				continue
			}
			size += o.size
			ops = append(ops, o)
		}

		*from = slices.Delete(*from, 0, taken) // in place, so that the array does not grow for ever
	}

	take(&in.urgent)
	take(&in.accepts)
	if in.working = (time.Time{}); len(ops) > 0 {
		in.working = slices.MinFunc(ops, func(x, y *op) int { return x.since.Compare(y.since) }).since
	}
	return ops, in.closed
}

// markWorking notes that the committer uses the disk for work of its own, so that waiting shows it
// if the disk hangs then. The next call of nextBatch ends it.
func (in *inbox) markWorking() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.working = time.Now()
}

// close refuses further operations. Those that wait are still committed.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.wakeCommitter()
}

// waiting is how long the oldest operation has waited for its answer. It is read while the disk
// hangs, so it must not wait for it.
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

// do hands a change to the committer and waits for its answer. If ctx ends first, do returns its
// error, and the change may still happen: only an accept that has not started is then skipped.
// Everything else is wanted even if its caller has gone.
func (q *Queue) do(ctx context.Context, k kind, size int, apply func(*batch) error) error {
	asked := &op{kind: k, apply: apply, size: size, since: time.Now(), done: make(chan error, 1)}

	if k == opAccept {
		asked.ctx = ctx
	}

	if err := q.in.put(asked); err != nil {
		return err
	}

	select {
	case err := <-asked.done:
		return err
	case <-ctx.Done():
		select { // both may be ready: an answer says more than ctx.Err()
		case err := <-asked.done:
			return err
		default:
			return ctx.Err()
		}
	}
}
