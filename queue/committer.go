package queue

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/store"
)

// The committer is the only goroutine that writes. Its rules:
//
//  1. Memory changes, and answers are given, only after Commit returned nil. A crash before that
//     loses only changes that no caller was told of. A crash after it loses nothing.
//  2. A Commit that returns an error says nothing about the disk: if the last fsync returns EIO,
//     the transaction is visible and perhaps durable. From then on nothing in memory is trusted.
//     The file is reopened, memory is read from it, and a probe commit, which changes nothing,
//     must succeed before any caller gets a yes again, duplicates included. Before the probe, the newest transaction
//     of the file is made durable (rewriteMeta in package store): the probe may overwrite pages which that transaction
//     has freed, and if the disk had only the state before it, a power cut would leave neither. A start does the same:
//     the process before may have ended in the middle of this.
//  3. The outcome of a ticket that came out during that time is kept in memory and stored as soon as that
//     is possible. It is written so that storing it twice is the same as storing it once.

const maintenanceEvery = time.Minute

// run is the committer. It ends after Close, when everything that waited has its answer. Operations
// come before pruning and maintenance, which can wait a minute; the probe of a failed disk comes
// before both, because nothing prints until it succeeds.
func (q *Queue) run() {
	defer close(q.ended)

	tick := time.Tick(maintenanceEvery)
	// A person who has just deleted files wants to know whether that was enough.
	whileFull := time.Tick(store.FullCheckEvery)
	q.maintain()
	for {
		if !q.nextReopen.IsZero() && !time.Now().Before(q.nextReopen) {
			q.recoverStorage()
		}

		ops, closed := q.in.nextBatch()
		if len(ops) > 0 {
			q.handle(ops)
			continue
		}

		if closed {
			q.shutDown()
			return
		}

		if q.morePruning {
			q.maintain()
			continue
		}

		select {
		case <-q.in.wake:
		case <-tick:
			q.maintain()
		case <-q.untilReopen():
		case <-whileFull:
			if q.space.IsFull.Load() {
				q.maintain() // which makes room of our own history, and looks
			}
		}
	}
}

// handle commits operations, or answers them while storage fails: settlements are kept, all
// others are refused, because their callers can ask again.
func (q *Queue) handle(ops []*op) {
	if q.nextReopen.IsZero() {
		q.commitAndAnswer(ops)
		return
	}
	for _, o := range ops {
		if o.kind == opSettle {
			q.kept = append(q.kept, o)
		} else {
			o.done <- q.Ready() // not nil while nextReopen is set
		}
	}
}

// commitAndAnswer commits operations together. When the commit fails it keeps the settlements, which must not be lost,
// and answers the rest with the failure.
func (q *Queue) commitAndAnswer(ops []*op) {
	errs, err := q.commit(ops)
	if err == nil {
		q.backoff = 0
		for i, o := range ops {
			o.done <- errs[i]
		}
		return
	}

	failed, full := q.commitFailed(err)
	for _, o := range ops {
		// On a full disk nothing was written, and printing must go on: a Begin is tried again when the
		// reserve file has been deleted. After any other failure the station must not print.
		if o.kind == opSettle || (full && o.kind == opBegin) {
			q.kept = append(q.kept, o)
		} else {
			o.done <- failed
		}
	}
}

// commit runs operations in one transaction. errs are the answers of the operations themselves,
// such as ErrConflict. err is the failure of the transaction; then the state of the disk is unknown.
func (q *Queue) commit(ops []*op) (errs []error, err error) {
	started := time.Now()
	batched := &batch{q: q, now: q.clock.running(), wall: q.clock.wall(), stations: map[string]*stationRecord{}}

	// The free space is checked only for new requests: everything else is needed to print.
	if slices.ContainsFunc(ops, func(o *op) bool { return o.kind == opAccept }) {
		q.mu.Lock()
		batched.refusal = cmp.Or(q.damage, q.checkInPlace())
		q.mu.Unlock()
		if q.space.CheckFull(q.reusable()) {
			batched.refusal = ErrStorageFull
		}
	}

	if batched.tx, err = q.db.Load().Begin(true); err != nil {
		return nil, err
	}

	errs = make([]error, len(ops))
	for i, o := range ops {
		errs[i] = o.apply(batched)
	}

	batched.writeRecords()
	if batched.err == nil && batched.dirty {
		err = q.hooks.Commit(batched.tx)
		// A failed one too: a disk that takes seconds to fail must show.
		q.metrics.commitSeconds.Observe(time.Since(started).Seconds())
	} else { // a write has failed; or nothing was written, for example all are duplicates of earlier requests
		err = errors.Join(batched.err, batched.tx.Rollback())
	}

	// Here a nil err means that everything in the batch survives a power cut. A crash before this
	// line: the callers get no answer and ask again. A crash after it: it is all on the disk.

	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		q.open += batched.open
		// In the order of the operations: a later one may have removed from a lane a job that an earlier one added.
		for _, f := range batched.onCommit {
			f()
		}
		if q.copier != nil && q.replayed {
			q.copier.add(batched.copyLines())
		}
	}

	batched.allowLending() // after the changes of memory: a lane must not lend a job that was just cancelled
	return errs, err
}

// untilReopen fires when the next attempt to reopen is due; never while the file works.
func (q *Queue) untilReopen() <-chan time.Time {
	if q.nextReopen.IsZero() {
		return nil
	}
	return time.After(time.Until(q.nextReopen))
}

// shutDown ends the committer: all that waited has its answer, except settlements that storage
// did not take. They get ErrClosed, and their tickets are in doubt at the next start.
func (q *Queue) shutDown() {
	if len(q.kept) > 0 {
		q.recoverStorage() // a last attempt: a ticket that came out would otherwise print again
	}

	for _, o := range q.kept {
		o.done <- ErrClosed
	}

	if q.nextReopen.IsZero() { // the exact running time, so that a clean stop loses none
		_, err := q.commit([]*op{{kind: opOnce, apply: func(b *batch) error { b.writeClock(); return nil }}})
		if err != nil {
			q.closeErr = fmt.Errorf("close %s: %w", q.o.Path, err)
		}
	}

	if db := q.db.Swap(nil); db != nil {
		q.closeErr = errors.Join(q.closeErr, db.Close())
	}
}

// Ready returns nil if a new request could be stored now, else why not. The health checks ask it.
func (q *Queue) Ready() error {
	q.mu.Lock()
	defer q.mu.Unlock()

	switch {
	case q.closed:
		return ErrClosed
	// Before the error of a full disk, which does not say how much room is missing.
	case q.space.IsFull.Load() && (q.storageErr == nil || errors.Is(q.storageErr, ErrStorageFull)):
		return q.space.Full(q.reusable())
	case q.storageErr != nil:
		return q.storageErr
	}

	return cmp.Or(q.damage, q.checkInPlace())
}

// checkInPlace returns an error if the open file is no longer at its path. Then its content would be gone
// after the next restart. Tickets that wait still print.
func (q *Queue) checkInPlace() error {
	if q.db.Load() == nil {
		return nil // it is being reopened, or compacted and replaced
	}

	info, err := os.Stat(q.o.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, q.file.Load().(fs.FileInfo)) {
		return fmt.Errorf("%w: %s was removed, renamed or replaced under the running daemon: move it back, "+
			"or save it with ticketrail db backup before a restart", ErrStorageFailed, q.o.Path)
	}

	return nil // another error says nothing about the name; the next commit shows it
}

// view runs f in a read transaction. f must be short and must not block: bbolt cannot reuse freed
// pages while it runs, so the file grows, and the committer cannot reopen the file.
//
// While the file is being reopened view waits, at most a second. That takes milliseconds unless the
// disk is gone.
func (q *Queue) view(f func(tx *bolt.Tx) error) error {
	for range 100 {
		if db := q.db.Load(); db != nil {
			return db.View(f)
		}
		if errors.Is(q.Ready(), ErrClosed) {
			return ErrClosed
		}
		time.Sleep(10 * time.Millisecond)
	}
	return cmp.Or(q.Ready(), fmt.Errorf("%w: the file is being reopened", ErrStorageFailed))
}

// reusable is how many bytes of the file are free: room for new requests also on a full disk.
func (q *Queue) reusable() int64 {
	db := q.db.Load()
	if db == nil { // the file is to be reopened
		return 0
	}
	return int64(db.Stats().FreeAlloc)
}
