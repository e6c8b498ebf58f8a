package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/store"
)

// The committer after a commit that failed: rule 2 of committer.go. Reopening is tried at once after the
// first failure, because most failures are short, and then less and less often, because each attempt reads all open
// jobs and a broken disk may block on it.
const (
	minBackoff = time.Second
	maxBackoff = 30 * time.Second
)

// probeCommit commits a transaction that changes nothing. Only when it succeeds can the state that was read
// be trusted: this process, or the one before, may have left it in the page cache and nowhere else.
func (q *Queue) probeCommit(db *bolt.DB) error {
	tx, err := db.Begin(true)
	if err != nil {
		return err
	}
	meta := tx.Bucket(bucketNames[bucketMeta])
	return errors.Join(meta.Put(keyFormat, slices.Clone(meta.Get(keyFormat))), q.hooks.Commit(tx))
}

// commitFailed records that memory cannot be trusted, and why. Lanes lend nothing until recoverStorage has succeeded.
// It is tried at once after a first failure, then after minBackoff and twice that each time.
func (q *Queue) commitFailed(err error) (failed error, full bool) {
	failed = fmt.Errorf("%w: %w", ErrStorageFailed, err)
	text := "commit failed; new requests are refused until one succeeds: check the disk"
	if full = store.IsFull(err); full { // told apart, because printing goes on with the space of the reserve
		failed = fmt.Errorf("%w: %w", ErrStorageFull, err)
		text = "disk is full; new requests are refused, accepted tickets still print: free disk space"
	}

	q.mu.Lock()
	q.storageErr = failed
	q.mu.Unlock()
	if q.copier != nil { // it may be on the disk, and is not in the log
		q.copier.gap.Store(true)
	}
	if full {
		q.space.FreeReserve()
	}
	if err.Error() != q.lastFailure { // a broken disk must not fill the journal
		q.lastFailure = err.Error()
		q.log.Error(text, "err", failed)
	}

	q.nextReopen = time.Now().Add(q.backoff)
	q.backoff = min(max(2*q.backoff, minBackoff), maxBackoff)
	return failed, full
}

// recoverStorage reopens the file, reads memory from it and proves that it can be written. Then it
// stores what was kept: settlements, and begins on a full disk.
func (q *Queue) recoverStorage() {
	q.in.markWorking()
	if err := q.reopen(); err != nil {
		q.commitFailed(err)
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
	kept := q.kept
	q.kept = nil

	// In small transactions: on a full disk a large one may need more space than the reserve gave.
	for part := range slices.Chunk(kept, 16) {
		q.handle(part)
	}
}

// reopen closes the file, opens it again and reads memory from it. Callers of view wait for it.
// That drops bbolt's memory of a failed commit.
func (q *Queue) reopen() error {
	if db := q.db.Swap(nil); db != nil {
		_ = db.Close() // waits for read transactions, which are short
	}

	db, loaded, err := q.openFile()
	if err != nil {
		return err
	}

	if err := q.probeCommit(db); err != nil {
		_ = db.Close()
		return err
	}
	// Only now: readers must not see a state that the probe commit has not proved.
	q.db.Store(db)
	q.install(loaded)
	return q.replay()
}

// openFile opens the file, and reads the state that is kept in memory.
func (q *Queue) openFile() (db *bolt.DB, m *loadedState, err error) {
	db, identity, err := store.Open(q.o.Path, q.o.NoSync, q.hooks.Sync)
	if err != nil {
		return nil, nil, err
	}
	if err := db.View(func(tx *bolt.Tx) (err error) { m, err = load(tx); return err }); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w", q.o.Path, err), db.Close())
	}

	q.file.Store(identity)
	return db, m, nil
}
