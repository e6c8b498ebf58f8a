package queue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	copyAgain  = time.Minute             // after something has failed; twice that each time that it fails again
	copyLate   = copyEvery + 5*copyAgain // then something does not answer
	syncEvery  = time.Second
	keptBases  = 2
	maxNotes   = 4096     // batches that may wait for the log
	maxWaiting = 32 << 20 // and their size together, in bytes
	maxLines   = 1 << 20  // bytes of lines that are written at once, and one line more
	// copyRoom must be free beside the file after a base copy of it: a copy must not be what fills the disk.
	copyRoom = 64 << 20
	// maxLogs bounds all logs together, in bytes, while no base copy succeeds: they may be on the disk of the database.
	// A restaurant writes less than a hundredth of it between two base copies.
	maxLogs = 256 << 20
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

	// Used by Open, then by run.
	folder *os.File // locked; nil: it is not there, or another daemon's
	shared error    // that it is another daemon's; nil: it is not

	notes   chan []note
	waiting atomic.Int64       // bytes in notes
	gap     atomic.Bool        // the log does not have all: a base copy must be made
	cancel  context.CancelFunc // ends a base copy
	ended   chan struct{}

	// Of run only.
	log    *os.File // nil: there is none that can be written
	number uint64   // of log
	lines  bytes.Buffer

	mu      sync.Mutex // guards the fields below
	last    time.Time  // when the newest base copy was made, else the start
	problem error      // why the copies are not complete; nil: they are
}

func newCopier(q *Queue) *copier {
	return &copier{
		q: q, dir: q.o.Copy, notes: make(chan []note, maxNotes), ended: make(chan struct{}), last: time.Now(),
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
	if c.waiting.Load()+size <= maxWaiting {
		c.waiting.Add(size)
		select {
		case c.notes <- notes:
			return
		default:
			c.waiting.Add(-size)
		}
	}
	c.gap.Store(true)
	c.failed(errSlow)
}

var errSlow = errors.New("its disk is too slow, or does not answer")

// run writes the log and has base copies made until the queue is closed. A crash loses of the log what was not synced
// yet, a second, and what still waited in memory. The file has all of it, and the next start makes a base copy.
func (c *copier) run(ctx context.Context) {
	defer close(c.ended)
	c.open()
	made := make(chan error, 1)
	copying, soon, again := false, false, copyAgain
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
			if copying { // its disk does not answer
				continue
			}
			if n, ok := c.rotate(); ok {
				copying = true
				go func() { made <- c.base(ctx, n) }()
			}
		case err := <-made:
			copying = false
			if c.finished(err); err == nil {
				again = copyAgain
			}
		case <-c.q.ended:
			if copying && <-made != nil { // the log before is not complete, perhaps
				c.gap.Store(true)
			}
			c.end()
			return
		}
		if c.gap.Load() && !copying && !soon {
			next, soon = time.After(again), true
			again = min(2*again, copyEvery) // each attempt writes the whole database: that wears out an SD card
		}
	}
}

// list lists the folder, and locks it if it is there. A daemon that did not get the lock leaves the folder alone until
// it is started again: the other one may have ended only for a moment.
func (c *copier) list() (files copyFiles, err error) {
	if c.folder == nil && c.shared == nil {
		if c.folder, err = lockFolder(c.dir); errors.Is(err, errShared) {
			c.shared = err
		}
	}
	if err = cmp.Or(c.shared, err); err != nil {
		return files, err
	}
	return readCopyFiles(c.dir)
}

// unlock leaves the folder to others.
func (c *copier) unlock() {
	if c.folder != nil {
		_ = c.folder.Close()
	}
}

// open continues the newest log. If the process before did not end it, or there is none, a base copy is due at once.
func (c *copier) open() {
	files, err := c.list()
	complete := false
	if n := files.newest(); err == nil && slices.Contains(files.logs, n) && files.database() == c.record.Database {
		var last logEnd
		if last, err = files.end(n); err == nil {
			c.log, err = openLog(files.log(n))
			c.number, complete = n, last.Closed
		}
	}
	if err != nil {
		c.failed(err)
	}
	if complete && c.log != nil { // not any more, also if this process dies before its first line
		c.write([]note{{logLine: c.line()}})
		c.sync()
	}
	if !complete || len(files.bases) == 0 {
		c.gap.Store(true)
	}
}

// line is one of the log that says when it was written.
func (c *copier) line() logLine {
	return logLine{At: c.q.clock.wall().UTC(), Running: c.q.clock.running().Milliseconds()}
}

// write appends lines. After an error nothing is written until a new log begins.
func (c *copier) write(notes []note) {
	for i := range notes {
		c.waiting.Add(-int64(notes[i].size()))
		if c.log == nil {
			c.gap.Store(true)
			continue
		}
		err := notes[i].appendTo(&c.lines)
		if err == nil && (c.lines.Len() > maxLines || i == len(notes)-1) {
			_, err = c.log.Write(c.lines.Bytes())
			c.lines.Reset()
		}
		if err != nil {
			c.lost(err)
		}
	}
}

func (c *copier) sync() {
	if c.log == nil {
		return
	}
	err := c.log.Sync()
	if info, bad := c.log.Stat(); err == nil && bad == nil && info.Size() > maxLogs/2 {
		err = fmt.Errorf("a log of %d MB is too much between two base copies", info.Size()/1e6)
	}
	if err != nil {
		c.lost(err)
	}
}

// lost ends the log after an error.
func (c *copier) lost(err error) {
	if c.log != nil {
		_ = c.log.Close()
	}
	c.log = nil
	c.lines.Reset()
	c.gap.Store(true)
	c.failed(err)
}

// rotate begins the next log. What is committed from now on is in it.
func (c *copier) rotate() (n uint64, ok bool) {
	c.sync()
	err := os.MkdirAll(c.dir, 0o700)
	var files copyFiles
	if err == nil {
		files, err = c.list()
	}
	if c.record.Database == "" { // base stores it; a crash before that makes this log one of another database
		c.record.Database = rand.Text()
	}
	var next *os.File
	if err == nil {
		n = max(files.newest(), c.number, c.record.Number) + 1
		next, err = createLog(files.log(n), logHeader{n, c.record.Database, c.q.clock.wall().UTC()}, c.q.hooks)
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
	if err := files.bound(); err != nil {
		c.failed(err)
	}
	return n, true
}

// store gives the file its name and number.
func (c *copier) store(ctx context.Context, r copyRecord) error {
	return c.q.do(ctx, opOnce, smallOp, func(b *batch) error {
		b.putJSON(bucketMeta, keyCopy, r)
		return nil
	})
}

// end writes what still waits, and that the log is complete.
func (c *copier) end() {
	defer c.unlock()
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
		closed := c.line()
		closed.Closed = true
		c.write([]note{{logLine: closed}})
	}
	c.sync()
	if c.log != nil {
		_ = c.log.Close()
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

// CopyProblem says why the copy of the file is not complete; nil if it is, or if there is to be none.
func (q *Queue) CopyProblem() error {
	c := q.copier
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem == nil && time.Since(c.last) > copyLate {
		return errSlow
	}
	return c.problem
}
