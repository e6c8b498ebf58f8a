package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/store"
)

// open continues the newest log. If the process before did not end it, or there is none, a base copy is due at once.
func (c *copier) open() {
	files, err := c.folder.List()
	complete := false
	newest := files.Newest()
	if err == nil && slices.Contains(files.Logs, newest) && files.Database() == c.record.Database {
		var last store.LogEnd
		if last, err = files.Last(); err == nil {
			c.log, err = store.OpenLog(files.Log(newest))
			c.number, complete = newest, last.Closed
		}
	}

	if err != nil {
		c.failed(err)
	}

	if complete && c.log != nil { // not any more, also if this process dies before its first line
		c.write([]copyLine{{logLine: c.line()}})
		c.sync()
	}

	if !complete || len(files.Bases) == 0 {
		c.gap.Store(true)
	}
}

// rotate begins the next log. It has the commits from now on.
func (c *copier) rotate() (n uint64, ok bool) {
	c.sync()
	err := os.MkdirAll(c.folder.Dir, 0o700)

	var files store.Copies
	if err == nil {
		files, err = c.folder.List()
	}

	if c.record.Database == "" { // base stores it; a crash before that makes this log one of another database
		c.record.Database = rand.Text()
	}

	var next *os.File
	if err == nil {
		n = max(files.Newest(), c.number, c.record.Number) + 1
		header := store.LogHeader{Log: n, Database: c.record.Database, Began: c.q.clock.wall().UTC()}
		next, err = store.CreateLog(files.Log(n), header, c.q.hooks)
	}

	if err != nil {
		c.failed(err)
		return 0, false
	}

	if c.log != nil {
		_ = c.log.Close()
	}

	c.log, c.number = next, n
	c.gap.Store(false)

	if err := files.Bound(); err != nil {
		c.failed(err)
	}

	return n, true
}

// base makes base copy n, when log n has begun:
//
//  1. The file gets the number. A crash before this: the log of before continues with this one. A crash after it: as
//     before, and the start reads this log only.
//  2. A snapshot is written beside the file, so that a disk of copies that hangs never holds a transaction, and
//     checked. A crash leaves PATH.new-*, which the next start removes.
//  3. It gets its name in the folder, durably. A crash before that leaves a temporary file, after it the base copy.
//  4. Older files than the base copy before it are removed. A crash leaves too many.
func (c *copier) base(ctx context.Context, n uint64) error {
	record := store.CopyRecord{Database: c.record.Database, Number: n}
	err := c.q.do(ctx, opOnce, smallOp, func(b *batch) error {
		b.putJSON(bucketMeta, keyCopy, record)
		return nil
	})
	if err != nil {
		return err
	}

	c.record = record

	temp, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if err := c.q.o.CheckCopy(ctx, temp); err != nil {
		return fmt.Errorf("a base copy is not sound: %w", err)
	}

	files, err := store.ReadCopies(c.folder.Dir)
	if err == nil {
		err = store.Place(ctx, temp, files.Base(n), c.q.hooks)
	}
	if err != nil {
		return err
	}

	return files.RemoveOld(n)
}

// snapshot writes the file as of the last commit under another name beside it.
func (c *copier) snapshot(ctx context.Context) (path string, err error) {
	info, err := os.Stat(c.q.o.Path)
	if err != nil {
		return "", err
	}

	if free, err := c.q.space.Free(c.q.space.Dir); err == nil && free < info.Size()+copyRoom {
		return "", fmt.Errorf("%w: a base copy needs %d MB beside the database, and %d MB are free",
			ErrStorageFull, (info.Size()+copyRoom)/1e6, free/1e6)
	}

	file, err := os.CreateTemp(c.q.space.Dir, store.TempPattern(c.q.o.Path))
	if err != nil {
		return "", err
	}

	_, err = c.q.Backup(&store.PacedFile{Ctx: ctx, File: file, Sync: c.q.hooks.Sync})
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}

	return file.Name(), nil
}

// Backup writes the file as of the last commit to w. Commits go on during that, but freed pages cannot be
// reused: w must not block for longer than a minute. A commit that fails ends it, because the file is then reopened,
// which waits for it, and until then nothing prints.
func (q *Queue) Backup(w io.Writer) (n int64, err error) {
	err = q.view(func(tx *bolt.Tx) (err error) {
		n, err = tx.WriteTo(untilFailure{q, w})
		return err
	})

	return n, wrap(err, "back up %s", q.o.Path)
}

// untilFailure is a writer that fails when a commit has failed.
type untilFailure struct {
	q *Queue
	w io.Writer
}

func (u untilFailure) Write(b []byte) (int, error) {
	u.q.mu.Lock()
	err := u.q.storageErr
	u.q.mu.Unlock()

	if err != nil {
		return 0, err
	}
	return u.w.Write(b)
}

// finished notes how a base copy has ended.
func (c *copier) finished(err error) {
	if err != nil {
		c.gap.Store(true)
		c.failed(err)
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem != nil && !c.gap.Load() {
		c.q.log.Info("the copy of the database is complete again", "directory", c.folder.Dir)
	}

	c.last = time.Now()
	if !c.gap.Load() {
		c.problem = nil
	}
}

// CopyProblem says why the copy of the file is not complete; nil if it is, or if there is to be none.
func (q *Queue) CopyProblem() error {
	copier := q.copier
	if copier == nil {
		return nil
	}

	copier.mu.Lock()
	defer copier.mu.Unlock()
	if copier.problem == nil && time.Since(copier.last) > copyLate {
		return errSlow
	}

	return copier.problem
}

// end writes the lines that still wait, and that the log is complete.
func (c *copier) end() {
	defer c.folder.Unlock()
	for len(c.commits) > 0 { // the committer has ended: there will be no more
		c.write(<-c.commits)
	}

	if c.log == nil {
		return
	}

	if !c.gap.Load() {
		closed := c.line()
		closed.Closed = true
		c.write([]copyLine{{logLine: closed}})
	}

	c.sync()
	if c.log != nil {
		_ = c.log.Close()
	}
}
