package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

const (
	copyEvery  = time.Hour
	copyAgain  = time.Minute             // after something has failed; twice that each time that it fails again
	copyLate   = copyEvery + 5*copyAgain // then something does not answer
	syncEvery  = time.Second
	maxCommits = 4096     // batches that may wait for the log
	maxWaiting = 32 << 20 // and their size together, in bytes; one line may be all of it, see maxLine in package store
	maxLines   = 1 << 20  // bytes of lines that are written at once, and one line more
	// copyRoom must be free beside the file after a base copy of it: a copy must not fill the disk.
	copyRoom = 64 << 20
)

// A copier keeps the files that restore a damaged one: base copies, and the log of the commits since. It never makes
// anybody wait: lines that it cannot write are dropped, and a new base copy has their changes.
type copier struct {
	q      *Queue
	folder store.Folder
	record store.CopyRecord // of the file; used by Open, then by the goroutine of a base copy

	commits chan []copyLine    // the lines of each
	waiting atomic.Int64       // bytes in commits
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

// add hands the lines of a commit to the log. It never blocks.
func (c *copier) add(lines []copyLine) {
	if len(lines) == 0 {
		return
	}

	size := int64(0)
	for i := range lines {
		size += int64(lines[i].size)
	}

	if c.waiting.Load()+size > maxWaiting || len(c.commits) == cap(c.commits) {
		c.gap.Store(true)
		c.failed(errSlow)
		return
	}

	c.waiting.Add(size)
	c.commits <- lines // it has room: only the committer sends
}

var errSlow = errors.New("its disk is too slow, or does not answer")

// run writes the log and has base copies made until the queue is closed. A crash loses the part of the log that was not
// synced yet, a second, and the lines that waited in memory. The file has all of it, and the next start makes a base
// copy.
func (c *copier) run(ctx context.Context) {
	defer close(c.ended)
	c.open()

	made := make(chan error, 1)
	// retrying: next is earlier than in copyEvery, because a copy is missing.
	copying, retrying, again := false, false, copyAgain
	next := time.After(copyEvery)
	if c.gap.Load() {
		next, retrying = time.After(0), true
	}

	var syncAt <-chan time.Time
	for {
		select {
		case lines := <-c.commits:
			c.write(lines)
			if syncAt == nil {
				syncAt = time.After(syncEvery)
			}
		case <-syncAt:
			syncAt = nil
			c.sync()
		case <-next:
			next, retrying = time.After(copyEvery), false
			if copying { // its disk does not answer
				continue
			}
			if number, ok := c.rotate(); ok {
				copying = true
				go func() { made <- c.base(ctx, number) }()
			}
		case err := <-made:
			copying = false
			c.finished(err)
			if err == nil {
				again = copyAgain
			}
		case <-c.q.ended:
			if copying && <-made != nil { // the base copy failed, and a gap in the log before it stays
				c.gap.Store(true)
			}
			c.end()
			return
		}

		if c.gap.Load() && !copying && !retrying {
			next, retrying = time.After(again), true
			again = min(2*again, copyEvery) // each attempt writes the whole database: that wears out an SD card
		}
	}
}

// line is an empty line of the log, with the time.
func (c *copier) line() logLine {
	return logLine{At: c.q.clock.wall().UTC(), Running: c.q.clock.running().Milliseconds()}
}

// write appends lines. After an error nothing is written until a new log begins.
func (c *copier) write(lines []copyLine) {
	for i := range lines {
		c.waiting.Add(-int64(lines[i].size))
		if c.log == nil {
			c.gap.Store(true)
			continue
		}

		err := lines[i].appendTo(&c.lines)
		if err == nil && (c.lines.Len() > maxLines || i == len(lines)-1) {
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
	var err error
	if !c.q.o.NoSync {
		err = c.log.Sync()
	}

	if info, bad := c.log.Stat(); err == nil && bad == nil && info.Size() > store.MaxLogs/2 {
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

// failed notes why the copies are not complete.
func (c *copier) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem == nil || c.problem.Error() != err.Error() { // a broken disk must not fill the journal
		c.q.log.Warn("the copy of the database is not complete", "directory", c.folder.Dir, "err", err)
	}
	c.problem = err
}

// A copyLine is a line of the copy's log, encoded outside of the committer. Large values are the stored ones.
type copyLine struct {
	logLine
	accepted *acceptOp
	payloads [][]byte // of Made
	size     int      // about how many bytes it keeps in memory
}

// logState adds the state of a job to the copy's log.
func (b *batch) logState(job uint64, s jobState) {
	if s.State == ticket.Shown {
		return // cards are not in the log, so it must be shown again
	}
	line := logLine{Job: &loggedJob{job, s.Station, s.State, s.Doubts, s.Why, s.PrintedBy, s.ReprintedAs}}
	b.stateLines = append(b.stateLines, copyLine{logLine: line, size: smallOp})
}

// copyLines are the lines of a batch. New jobs come first: if the power fails in the middle, the log never says that a
// job ended while the job that replaced it is missing.
func (b *batch) copyLines() []copyLine {
	all := append(b.newJobLines, b.stateLines...)
	for i := range all {
		all[i].At, all[i].Running = b.wall.UTC(), b.now.Milliseconds()
	}
	return all
}

// appendTo appends the line. A ticket is JSON on one line already: to have it encoded once more takes longer than all
// the rest.
func (l *copyLine) appendTo(lines *bytes.Buffer) error {
	line, payloads := l.logLine, l.payloads
	if l.accepted != nil {
		line.Request, payloads = l.accepted.logged(), l.accepted.payloads
	}

	return store.AppendLine(lines, line, func() {
		for i, p := range payloads {
			lines.WriteString([]string{`,"tickets":[`, `,`}[min(i, 1)])
			lines.Write(p[crcSize:])
		}

		if len(payloads) > 0 {
			lines.WriteByte(']')
		}
	})
}

// logged is the request as a log has it. Its caller may have changed the body since, so it is that which was encoded.
func (a *acceptOp) logged() *loggedRequest {
	l := &loggedRequest{
		ID: a.r.ID, Venue: a.r.Venue, Device: a.r.Device, Received: a.r.Received, AgeMS: a.age.Milliseconds(),
		Jobs: a.jobs, Stations: a.stations, Content: a.content.body[:],
	}

	if body := a.body[len(a.body)-len(a.r.Body):]; utf8.Valid(body) {
		l.Body = string(body)
	} else {
		l.Bytes = body
	}
	return l
}
