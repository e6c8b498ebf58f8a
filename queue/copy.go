package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A copier keeps what restores a damaged file: base copies, and the log of what was committed since. It never makes
// anybody wait: lines that it cannot write are dropped, and a new base copy has what they said.
const (
	copyEvery  = time.Hour
	copyAgain  = time.Minute // after something has failed
	syncEvery  = time.Second
	keptBases  = 2
	maxNotes   = 4096     // batches that may wait for the log
	maxWaiting = 32 << 20 // and their size together, in bytes
	// copyRoom must be free beside the file after a base copy of it: a copy must not be what fills the disk.
	copyRoom = 64 << 20
)

// A copyRecord is stored in the file: which database it is, and the number of the log that began last. A file with a
// lower number than the oldest log is older than the copies; one of another database was put there by somebody.
type copyRecord struct {
	Database string `json:"database"`
	Number   uint64 `json:"number"`
}

var keyCopy = []byte("copy")

func readCopyRecord(tx *bolt.Tx) (r copyRecord, err error) {
	raw := tx.Bucket(bucketNames[bucketMeta]).Get(keyCopy)
	if raw == nil { // it was made before there were copies
		return r, nil
	}
	if err := unsealJSON(raw, &r); err != nil {
		return r, fmt.Errorf("%w: the number of its copy: %w", ErrDamaged, err)
	}
	return r, nil
}

type copier struct {
	q      *Queue
	dir    string
	record copyRecord // what the file has; used by Open, then by the goroutine of a base copy, of which there is one

	notes   chan []note
	waiting atomic.Int64       // bytes in notes
	gap     atomic.Bool        // the log does not have all: a base copy must be made
	now     chan chan error    // asks for a base copy at once
	cancel  context.CancelFunc // ends a base copy
	ended   chan struct{}

	// Of run only.
	log    *logWriter // nil: there is none that can be written
	number uint64     // of log

	mu      sync.Mutex // guards the fields below
	last    time.Time  // when the newest base copy was made; zero: none by this process
	problem error      // why the copies are not complete; nil: they are
}

func newCopier(q *Queue) *copier {
	return &copier{
		q: q, dir: q.o.Copy, notes: make(chan []note, maxNotes), now: make(chan chan error, 1),
		ended: make(chan struct{}),
	}
}

// add hands the lines of a commit to the log. It never blocks.
func (c *copier) add(notes []note) {
	size := int64(0)
	for i := range notes {
		size += int64(notes[i].size())
	}
	if len(notes) == 0 {
		return
	}
	if c.waiting.Load()+size > maxWaiting {
		c.gap.Store(true)
		return
	}
	c.waiting.Add(size)
	select {
	case c.notes <- notes:
	default:
		c.waiting.Add(-size)
		c.gap.Store(true)
	}
}

// run writes the log and has base copies made until the queue is closed. A crash loses of the log what was not synced
// yet, a second, and what still waited in memory. The file has all of it, and the next start makes a base copy.
func (c *copier) run(ctx context.Context) {
	defer close(c.ended)
	c.open()
	made := make(chan error, 1)
	copying, soon := false, false
	var asked chan error
	next := time.After(copyEvery)
	if c.gap.Load() {
		next, soon = time.After(0), true
	}
	var syncAt <-chan time.Time
	for {
		select {
		case notes := <-c.notes:
			c.write(notes)
			if syncAt == nil {
				syncAt = time.After(syncEvery)
			}
		case <-syncAt:
			syncAt = nil
			c.sync()
		case <-next:
			next, soon = time.After(copyEvery), false
			if n, ok := c.rotate(); ok {
				copying = true
				go func() { made <- c.base(ctx, n) }()
			} else if asked != nil {
				asked <- c.failure()
				asked = nil
			}
		case asked = <-c.asks(copying || asked != nil):
			next = time.After(0)
		case err := <-made:
			copying = false
			c.finished(err)
			if asked != nil {
				asked <- err
				asked = nil
			}
		case <-c.q.ended:
			if copying {
				<-made
			}
			c.end()
			return
		}
		if c.gap.Load() && !copying && !soon {
			next, soon = time.After(copyAgain), true
		}
	}
}

// asks is c.now, but not while a base copy is made or was asked for.
func (c *copier) asks(busy bool) chan chan error {
	if busy {
		return nil
	}
	return c.now
}

// open continues the newest log. If the process before did not end it, or there is none, a base copy is due at once.
func (c *copier) open() {
	files, err := readCopyFiles(c.dir)
	complete := false
	if n := files.newest(); err == nil && n > 0 && slices.Contains(files.logs, n) {
		_, err = files.read(n, func(line []byte) error {
			var l logLine
			complete = json.Unmarshal(line, &l) == nil && l.Closed
			return nil
		})
		if err == nil {
			c.log, err = openLog(files.log(n))
			c.number = n
		}
	}
	if err != nil {
		c.failed(err)
	}
	if !complete || len(files.bases) == 0 {
		c.gap.Store(true)
	}
}

// write appends lines. After an error nothing is written until a new log begins.
func (c *copier) write(notes []note) {
	var lines []byte
	for i := range notes {
		c.waiting.Add(-int64(notes[i].size()))
		line, err := notes[i].encode()
		if err != nil {
			c.lost(err)
			return
		}
		lines = append(lines, line...)
	}
	if c.log == nil {
		c.gap.Store(true)
		return
	}
	if err := c.log.append(lines); err != nil {
		c.lost(err)
	}
}

func (c *copier) sync() {
	if c.log == nil {
		return
	}
	if err := c.log.sync(); err != nil {
		c.lost(err)
	}
}

// lost ends the log after an error.
func (c *copier) lost(err error) {
	_ = c.log.file.Close()
	c.log = nil
	c.gap.Store(true)
	c.failed(err)
}

// rotate begins the next log. What is committed from now on is in it.
func (c *copier) rotate() (n uint64, ok bool) {
	c.sync()
	files, err := readCopyFiles(c.dir)
	if err == nil {
		err = c.identify()
	}
	var next *logWriter
	if err == nil {
		n = max(files.newest(), c.number, c.record.Number) + 1
		next, err = createLog(files.log(n), logHeader{n, c.record.Database, c.q.clock.wall().UTC()}, c.q.hooks)
	}
	if err != nil {
		c.failed(err)
		return 0, false
	}
	if c.log != nil {
		_ = c.log.file.Close()
	}
	c.log, c.number = next, n
	c.gap.Store(false)
	return n, true
}

// identify gives the database its name, once.
func (c *copier) identify() error {
	if c.record.Database != "" {
		return nil
	}
	r := copyRecord{Database: rand.Text()}
	if err := c.store(context.Background(), r); err != nil {
		return err
	}
	c.record = r
	return nil
}

func (c *copier) store(ctx context.Context, r copyRecord) error {
	return c.q.do(ctx, opOnce, smallOp, func(b *batch) error {
		b.putJSON(bucketMeta, keyCopy, r)
		return nil
	})
}

// base makes base copy n, when log n has begun:
//
//  1. The file gets the number. A crash before this: the log of before continues with this one. A crash after it: as
//     before, and the start reads this log only.
//  2. A snapshot is written beside the file, so that a disk of copies that hangs never holds a transaction, and
//     checked. A crash leaves PATH.new-*, which the next start removes.
//  3. It gets its name in the folder, durably. A crash before that leaves a temporary file, after it the base copy.
//  4. What is older than the base copy before it is removed. A crash leaves too much.
func (c *copier) base(ctx context.Context, n uint64) error {
	r := copyRecord{Database: c.record.Database, Number: n}
	if err := c.store(ctx, r); err != nil {
		return err
	}
	c.record = r
	temp, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if err := c.q.o.CheckCopy(ctx, temp); err != nil {
		return fmt.Errorf("a base copy is not sound: %w", err)
	}
	files, err := readCopyFiles(c.dir)
	if err == nil {
		err = place(ctx, temp, files.base(n), c.q.hooks)
	}
	if err != nil {
		return err
	}
	return files.removeOld(n)
}

// snapshot writes the file as of the last commit under another name beside it.
func (c *copier) snapshot(ctx context.Context) (path string, err error) {
	info, err := os.Stat(c.q.o.Path)
	if err != nil {
		return "", err
	}
	if free, err := c.q.space.free(c.q.space.dir); err == nil && free < info.Size()+copyRoom {
		return "", fmt.Errorf("%w: a base copy needs %d MB beside the database, and %d MB are free",
			ErrStorageFull, (info.Size()+copyRoom)/1e6, free/1e6)
	}
	f, err := os.CreateTemp(c.q.space.dir, tempPattern(c.q.o.Path))
	if err != nil {
		return "", err
	}
	_, err = c.q.Backup(stoppable{ctx, f})
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// place copies a file to a name, durably, and replaces what has that name.
func place(ctx context.Context, from, to string, s storageHooks) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(to + tempSuffix)
	_, err = io.Copy(stoppable{ctx, out}, in)
	if err == nil {
		err = s.sync(out)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := s.rename(to+tempSuffix, to); err != nil {
		return err
	}
	return syncDir(to, s)
}

// removeOld removes what is not needed once base copy n is there: the base copies before the last keptBases of those
// up to n, and the logs before them.
func (c *copyFiles) removeOld(n uint64) error {
	bases := slices.DeleteFunc(slices.Clone(c.bases), func(b uint64) bool { return b >= n })
	bases = append(bases, n)
	oldest := bases[max(len(bases)-keptBases, 0)]
	var err error
	for _, b := range c.bases {
		if b < oldest {
			err = errors.Join(err, os.Remove(c.base(b)))
		}
	}
	for _, l := range c.logs {
		if l < oldest {
			err = errors.Join(err, os.Remove(c.log(l)))
		}
	}
	return err
}

// A stoppable is a file whose writing ends with a context.
type stoppable struct {
	ctx context.Context
	f   *os.File
}

func (s stoppable) Write(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.f.Write(b)
}

// end writes what still waits, and that the log is complete.
func (c *copier) end() {
	for {
		select {
		case notes := <-c.notes:
			c.write(notes)
			continue
		default:
		}
		break
	}
	if c.log == nil {
		return
	}
	if !c.gap.Load() {
		closed := note{logLine: logLine{
			At: c.q.clock.wall().UTC(), Running: c.q.clock.running().Milliseconds(), Closed: true,
		}}
		c.write([]note{closed})
	}
	c.sync()
	if c.log != nil {
		_ = c.log.file.Close()
	}
}

// failed notes why the copies are not complete.
func (c *copier) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem == nil || c.problem.Error() != err.Error() { // a broken disk must not fill the log
		c.q.log.Warn("the copy of the database is not complete", "directory", c.dir, "err", err)
	}
	c.problem = err
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
		c.q.log.Info("the copy of the database is complete again", "directory", c.dir)
	}
	c.last = time.Now()
	if !c.gap.Load() {
		c.problem = nil
	}
}

func (c *copier) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.problem
}

// CopyProblem says why the copy of the file is not complete; nil if it is, or if there is to be none.
func (q *Queue) CopyProblem() error {
	if q.copier == nil {
		return nil
	}
	return q.copier.failure()
}
