package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The committer is the one goroutine that writes. Its rules:
//
//  1. Memory changes, and answers are given, only after Commit returned nil. A crash
//     before that loses only what nobody was told; a crash after it loses nothing.
//  2. A Commit that returns an error says nothing: EIO on the last sync leaves the
//     transaction visible and perhaps durable. So nothing in memory is believed any more.
//     The file is opened anew, memory is read from it, and an empty transaction (the
//     canary) must commit before anybody hears yes again, duplicates included. What was read
//     is made durable first, see renew, for the canary reuses pages that it alone sets free.
//     The start is no different: the process before may have ended in the middle of this.
//  3. What came out of a printer meanwhile is kept and written down as soon as that is
//     possible; it is written so that twice is the same as once.

const (
	minBackoff       = time.Second
	maxBackoff       = 30 * time.Second
	maintenanceEvery = time.Minute
)

func (q *Queue) run() {
	defer close(q.ended)
	tick := time.NewTicker(maintenanceEvery)
	defer tick.Stop()
	q.maintain()
	for {
		if !q.nextReopen.IsZero() && !time.Now().Before(q.nextReopen) {
			q.recoverStorage()
		}
		ops, closed := q.in.next()
		if len(ops) > 0 {
			q.serve(ops)
			continue
		}
		if closed {
			q.shutDown()
			return
		}
		if q.pruning {
			q.maintain()
			continue
		}
		select {
		case <-q.in.wake:
		case <-tick.C:
			q.maintain()
		case <-q.untilReopen():
		case <-q.untilSpaceCheck():
			q.in.busy()
			q.space.checkFull()
		}
	}
}

// serve commits operations, or answers them while nothing can be committed.
func (q *Queue) serve(ops []*op) {
	if q.nextReopen.IsZero() {
		q.process(ops)
		return
	}
	for _, o := range ops {
		if o.kind == settle {
			q.unsettled = append(q.unsettled, o)
		} else {
			o.done <- q.Ready()
		}
	}
}

// process commits operations together. It answers all that it does not park.
func (q *Queue) process(ops []*op) {
	errs, err := q.commit(ops)
	if err == nil {
		q.backoff = 0
		for i, o := range ops {
			o.done <- errs[i]
		}
		return
	}
	failed, full := classify(err)
	q.commitFailed(failed, full)
	for _, o := range ops {
		if o.kind == settle || (full && o.kind == doubt) {
			q.unsettled = append(q.unsettled, o)
		} else {
			o.done <- failed
		}
	}
}

// classify says what a failed commit is to whoever waited for it.
func classify(err error) (failed error, full bool) {
	if noRoom(err) {
		return fmt.Errorf("%w: %w", ErrStorageFull, err), true
	}
	return fmt.Errorf("%w: %w", ErrStorageFailed, err), false
}

// prove commits something that changes nothing: the canary. Only then is it known that what was read
// can be believed, for this process or the one before may have left it in the page cache and nowhere else.
func (q *Queue) probeCommit(db *bolt.DB) error {
	tx, err := db.Begin(true)
	if err != nil {
		return err
	}
	meta := tx.Bucket(bucketNames[bucketMeta])
	if err = meta.Put(keyFormat, slices.Clone(meta.Get(keyFormat))); err == nil {
		err = q.hooks.commit(tx)
	}
	if err != nil {
		_ = tx.Rollback() // is closed already, most times
	}
	return err
}

// commit runs operations in one transaction. errs are their own answers. On err the
// outcome is unknown.
func (q *Queue) commit(ops []*op) (errs []error, err error) {
	db := q.db.Load()
	if db == nil {
		return nil, errors.New("the file is not open")
	}
	started := time.Now()
	b := &batch{q: q, now: q.clock.running(), wall: q.clock.wall(), full: q.space.isFull.Load()}
	if slices.ContainsFunc(ops, func(o *op) bool { return o.kind == accept }) {
		b.full = q.space.checkFull()
	}
	if b.tx, err = db.Begin(true); err != nil {
		return nil, err
	}
	errs = make([]error, len(ops))
	for i, o := range ops {
		if errs[i] = o.apply(b); b.err != nil {
			break
		}
	}
	if b.err == nil {
		b.writeRecords()
	}
	switch {
	case b.err != nil:
		err = b.err
		_ = b.tx.Rollback()
	case !b.dirty: // all duplicates, say: what they rest on has been committed before
		_ = b.tx.Rollback()
	default:
		if err = q.hooks.commit(b.tx); err != nil {
			_ = b.tx.Rollback() // is closed already, most times
		}
		q.metrics.committed(time.Since(started), len(ops))
	}
	// At this point a nil err means that everything in the batch would survive a power cut.
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		q.open += b.open
		for _, f := range b.onCommit {
			f()
		}
	}
	b.resume()
	return errs, err
}

// broke notes that nothing can be believed. Lines lend nothing until mend has succeeded.
func (q *Queue) commitFailed(cause error, full bool) {
	q.mu.Lock()
	q.storageErr = cause
	q.mu.Unlock()
	if full {
		q.space.release()
		q.log.Error("disk is full; new requests are refused, printing goes on from the reserve", "err", cause)
	} else {
		q.log.Error("commit failed; nothing is accepted until one succeeds", "err", cause)
	}
	q.scheduleReopen()
}

// retryLater is at once after a first failure, then slower until a commit has succeeded.
func (q *Queue) scheduleReopen() {
	q.nextReopen = time.Now().Add(q.backoff)
	q.backoff = min(max(2*q.backoff, minBackoff), maxBackoff)
}

// mend opens the file anew, reads memory from it and proves that it can be written.
func (q *Queue) recoverStorage() {
	q.in.busy()
	if err := q.reopen(); err != nil {
		failed, full := classify(err)
		if full {
			q.space.release()
		}
		if err.Error() != q.lastFailure {
			q.lastFailure = err.Error()
			q.log.Error("storage still fails", "err", err)
		}
		q.mu.Lock()
		q.storageErr = failed
		q.mu.Unlock()
		q.scheduleReopen()
		return
	}
	q.nextReopen, q.lastFailure = time.Time{}, ""
	q.mu.Lock()
	q.storageErr = nil
	for _, l := range q.lanes {
		l.notify()
	}
	q.mu.Unlock()
	q.log.Info("storage works again")
	parked := q.unsettled
	q.unsettled = nil
	// Small transactions: on a full disk a large one may need more pages than the reserve gave.
	for len(parked) > 0 {
		n := min(16, len(parked))
		q.serve(parked[:n])
		parked = parked[n:]
	}
}

func (q *Queue) reopen() error {
	if db := q.db.Swap(nil); db != nil {
		_ = db.Close() // waits for views, which are short
	}
	db, err := openFile(q.o, q.hooks.sync)
	if err != nil {
		return err
	}
	m, err := load(db)
	if err == nil {
		err = q.probeCommit(db)
	}
	if err != nil {
		_ = db.Close()
		return err
	}
	q.db.Store(db)
	q.install(m)
	return q.repair(m.repairs)
}

func (q *Queue) untilReopen() <-chan time.Time {
	if q.nextReopen.IsZero() {
		return nil
	}
	return time.After(time.Until(q.nextReopen))
}

// untilRoom has the disk asked again while it is full: whoever has just made room looks whether
// it was enough.
func (q *Queue) untilSpaceCheck() <-chan time.Time {
	if !q.space.isFull.Load() {
		return nil
	}
	return time.After(fullCheckEvery)
}

// leave is the committer's end: everything that waited has had its answer, but for what
// storage would not take.
func (q *Queue) shutDown() {
	if len(q.unsettled) > 0 {
		q.recoverStorage() // one last try: a ticket that is out would print again
	}
	for _, o := range q.unsettled {
		o.done <- ErrClosed
	}
	q.unsettled = nil
	if q.nextReopen.IsZero() {
		_, err := q.commit([]*op{{kind: once, apply: func(b *batch) error { b.writeClock(); return nil }}})
		if err != nil {
			q.closeErr = fmt.Errorf("close %s: %w", q.o.Path, err)
		}
	}
	if db := q.db.Swap(nil); db != nil {
		q.closeErr = errors.Join(q.closeErr, db.Close())
	}
}
