package queue

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"ticketrail/queue/ticket"
)

// Why not the wall clock: a box without a battery boots in 1970, and NTP then jumps it by decades.
// By the wall clock every key would be forgotten in that moment, so a retry prints twice, and every
// waiting ticket would expire.

// keyClock is the key of the clockRecord in the meta bucket.
var keyClock = []byte("clock")

// How often the running time is stored. A power cut forgets the time since then, and then tickets
// expire and keys are forgotten that much later, never earlier. So it is not worth many commits.
const (
	writeClockEvery = time.Minute // at most, together with other changes
	writeClockIdle  = time.Hour   // alone, if nothing else was committed
)

// systemClock is the Clock of a caller that gives none: it cannot say that it is right.
type systemClock struct{}

func (systemClock) Now() time.Time     { return time.Now() }
func (systemClock) Synchronized() bool { return false }

// A clock counts running time: how long the queue has been open, in all processes since the file
// was created, plus the time that the box was switched off if that is known for sure. Running time
// never goes back and never jumps ahead. So a box that boots in 1970 forgets no key and expires no
// ticket.
type clock struct {
	wallClock Clock
	started   time.Time     // monotonic: steps of the wall clock do not change it
	base      atomic.Int64  // running time at started, ns
	last      clockRecord   // as found in the file at the start
	written   time.Duration // running time when it was last stored
}

// running is the running time now. It may be called by any goroutine.
func (c *clock) running() time.Duration {
	return time.Duration(c.base.Load()) + time.Since(c.started)
}

func (c *clock) wall() time.Time { return c.wallClock.Now() }

// start continues the running time that the file has. youngest is the latest running time recorded
// anywhere in it. After a crash the clock record may be up to writeClockEvery older than that, because
// not every commit stores it.
func (c *clock) start(r clockRecord, youngest time.Duration) {
	c.last = r
	c.base.Store(int64(max(r.Running, youngest)))
	c.written = r.Running
}

// maxTimeOff is the longest time off that counts. A time server can be wrong, and so can a clock that it once
// set: a year too much would expire every ticket and forget every key.
const maxTimeOff = 31 * 24 * time.Hour

// addTimeOff adds the time that the box was switched off, once. That time is known only if the wall
// clock was synchronized when the record was written and is synchronized now. NTP may take minutes
// to answer after a boot, so this is called again until it is known.
func (c *clock) addTimeOff(log *slog.Logger) {
	if !c.last.Synchronized || !c.wallClock.Synchronized() {
		return
	}

	now := c.wallClock.Now()    // read after Synchronized, so that it is a time that was right
	c.last.Synchronized = false // it must not be added twice

	passed := now.Sub(c.last.Wall)          // of wall clock, since the record was written
	counted := c.running() - c.last.Running // the part that this process has counted already
	if passed-counted > maxTimeOff {
		log.Warn("the wall clock has jumped while the daemon was stopped: the time is not counted; check it",
			"before", c.last.Wall.Format(time.RFC3339), "after", now.UTC().Format(time.RFC3339))
		return
	}
	c.base.Add(int64(max(passed-counted, 0)))
}

// writeClock stores the running time together with the other changes of the batch. A crash before its
// commit: the next start continues from the older record.
func (b *batch) writeClock() {
	clock := b.q.clock
	synchronized := clock.wallClock.Synchronized() // asked before the clock is read: NTP may step it in between
	b.putJSON(bucketMeta, keyClock, clockRecord{b.now, clock.wall().UTC(), synchronized})
	b.afterCommit(func() { clock.written = b.now })
}

// maintain does the periodic work: forget keys, prune history, store the running time. Each
// transaction is small, because tickets wait while it commits. A crash before or after one changes
// nothing for anybody: the rest is removed the next time. While storage fails there is
// nothing to maintain.
func (q *Queue) maintain() {
	q.morePruning = false
	if !q.nextReopen.IsZero() {
		return
	}

	q.in.markWorking()
	q.clock.addTimeOff(q.log)
	q.space.CheckFull(q.reusable())

	lost := 0 // outcomes
	once := &op{kind: opOnce, since: time.Now(), done: make(chan error, 1), apply: func(b *batch) error {
		b.dropGenerations(b.now, q.o.DedupRetention)
		q.morePruning = b.prune(q.historyKept())
		removed := b.pruneOutcomes(q.o.HistoryRetention)
		q.morePruning = removed == outcomesAtOnce || q.morePruning
		b.afterCommit(func() { lost = removed })
		if b.now-q.clock.written >= writeClockIdle {
			b.dirty = true // writeRecords then stores the running time
		}
		return nil
	}}

	q.commitAndAnswer([]*op{once})
	if lost > 0 {
		q.metrics.outcomesLost.Add(float64(lost))
		q.log.Warn("outcomes that nobody has taken were removed", "count", lost, "older_than", q.o.HistoryRetention)
	}
}

// pruneAtOnce is how many jobs one transaction of prune removes, so that an order never waits long for one: on an SD
// card they take about 0.1 s.
const pruneAtOnce = 30

// historyKept is how long finished jobs are kept. A disk that is full, perhaps of them, takes orders again when they
// have made room in the file: history yields first.
func (q *Queue) historyKept() time.Duration {
	if q.space.IsFull.Load() {
		return min(q.o.HistoryRetention, historyAtLeast)
	}
	return q.o.HistoryRetention
}

// historyAtLeast is how long a finished job is kept on a full disk: a cook may ask for it again.
const historyAtLeast = time.Hour

// prune removes finished jobs that are older than retention, oldest first. It returns true if more
// of them are left. Keys begin with the running time, so the first key that is young enough ends
// the search.
func (b *batch) prune(retention time.Duration) bool {
	limit := int64(b.now - retention) // negative in the first days
	finished := b.bucket(bucketFinished)

	cursor := finished.Cursor()
	for range pruneAtOnce {
		key, _ := cursor.First()
		if len(key) != 16 || int64(un64(key[:8])) > limit {
			return false
		}
		b.forget(un64(key[8:]))
		b.del(finished, slices.Clone(key))
	}
	return true
}

// forget removes a job, and the body of its request when no other job was made from it.
func (b *batch) forget(job uint64) {
	state, err := b.state(job)
	if err != nil || state.State.Open() || state.State == ticket.Failed {
		return // the finished key is damaged, keys have no checksum: this job is still needed
	}

	req := state.Req
	b.del(b.bucket(bucketState), key64(job))
	b.del(b.bucket(bucketJobs), key64(job))

	if req == 0 {
		return
	}

	siblings := b.bucket(bucketReqJobs)
	b.del(siblings, key128(req, job))
	if key, _ := siblings.Cursor().Seek(key64(req)); len(key) != 16 || un64(key[:8]) != req {
		b.del(b.bucket(bucketRequests), key64(req))
	}
}
