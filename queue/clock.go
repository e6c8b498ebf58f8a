package queue

import (
	"sync/atomic"
	"time"

	"ticketrail/queue/ticket"
)

var keyClock = []byte("clock")

const (
	writeClockEvery = time.Minute // with a commit that happens anyway
	writeClockIdle  = time.Hour   // with one of its own
)

// systemClock is the wall clock when nobody says whether it is right.
type systemClock struct{}

func (systemClock) Now() time.Time     { return time.Now() }
func (systemClock) Synchronized() bool { return false }

// clock counts running time: what the process has run for, ever, and what the box was
// switched off for if that is known for sure. It never goes back and never jumps, so a
// box that boots in 1970 forgets no key and expires no ticket.
type clock struct {
	wallClock    Clock
	started      time.Time     // monotonic
	base         atomic.Int64  // running time at started, ns
	last         clockRecord   // as found in the file
	timeOffAdded bool          // the time switched off has been added, or never will be
	written      time.Duration // running time when it was last stored
}

func newClock(c Clock) *clock {
	if c == nil {
		c = systemClock{}
	}
	return &clock{wallClock: c, started: time.Now()}
}

func (c *clock) running() time.Duration {
	return time.Duration(c.base.Load()) + time.Since(c.started)
}

func (c *clock) wall() time.Time { return c.wallClock.Now() }

// start continues from what a file says. youngest is the latest running time found in it:
// up to an hour may be missing from the record after a crash.
func (c *clock) start(r clockRecord, youngest time.Duration) {
	c.last = r
	c.base.Store(int64(max(r.Running, youngest, 0)))
	c.written = max(r.Running, 0)
	c.addTimeOff()
}

// credit adds the time the box was switched off, once, if the wall clock was right before
// and is right now. That may turn out only after a while, when NTP has answered.
func (c *clock) addTimeOff() {
	if c.timeOffAdded || !c.last.Synchronized {
		return
	}
	if !c.wallClock.Synchronized() {
		return
	}
	now := c.wallClock.Now() // after: it was right by then
	c.timeOffAdded = true
	passed := now.Sub(c.last.Wall)          // since the record was written
	counted := c.running() - c.last.Running // of which this much is counted already
	if off := passed - counted; off > 0 {
		c.base.Add(int64(off))
	}
}

// writeClock stores the running time with a batch.
func (b *batch) writeClock() {
	c := b.q.clock
	sure := c.wallClock.Synchronized() // before the clock is read: it may be set between
	v, err := sealJSON(clockRecord{b.now, c.wall().UTC(), sure})
	b.fail(err)
	b.put(b.bucket(bucketMeta), keyClock, v)
	b.afterCommit(func() { c.written = b.now })
}

// keepHouse does what time brings: forget keys, prune history, note the time. Each of its
// transactions is small, so that it can never be what a cook waits for. A crash before or
// after any of them is the same to everybody: what was not forgotten is forgotten next time.
func (q *Queue) maintain() {
	q.pruning = false
	if !q.nextReopen.IsZero() {
		return
	}
	q.in.busy()
	q.clock.addTimeOff()
	q.space.checkFull()
	o := &op{kind: once, since: time.Now(), done: make(chan error, 1), apply: func(b *batch) error {
		b.dropGenerations(b.now, q.o.DedupRetention)
		q.pruning = b.prune(q.o.HistoryRetention)
		if b.now-q.clock.written >= writeClockIdle {
			b.dirty = true // the time is noted with it
		}
		return nil
	}}
	q.process([]*op{o})
}

const pruneAtOnce = 100

// prune removes finished jobs whose history is over, oldest first. It says whether there are more.
func (b *batch) prune(retention time.Duration) bool {
	limit := b.now - retention
	if limit <= 0 {
		return false
	}
	finished := b.bucket(bucketFinished)
	var over [][]byte
	c := finished.Cursor()
	for k, _ := c.First(); len(k) == 16 && un64(k[:8]) <= uint64(limit); k, _ = c.Next() {
		if len(over) == pruneAtOnce {
			break
		}
		over = append(over, append([]byte(nil), k...))
	}
	for _, k := range over {
		b.forget(un64(k[8:]))
		b.del(finished, k)
	}
	return len(over) == pruneAtOnce
}

// forget removes a job and, when it was the last one made from it, the body of its request.
func (b *batch) forget(job uint64) {
	s, err := b.state(job)
	if err == nil && (s.State.Open() || s.State == ticket.Failed) {
		return // the entry is not what was written: keys have no checksum
	}
	req := s.Req
	if err != nil {
		req = b.requestOf(job)
	}
	b.del(b.bucket(bucketState), key64(job))
	b.del(b.bucket(bucketJobs), key64(job))
	if req == 0 {
		return
	}
	siblings := b.bucket(bucketReqJobs)
	b.del(siblings, key128(req, job))
	if k, _ := siblings.Cursor().Seek(key64(req)); len(k) != 16 || un64(k[:8]) != req {
		b.del(b.bucket(bucketRequests), key64(req))
	}
}
