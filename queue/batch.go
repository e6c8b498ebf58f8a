package queue

import (
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// The top-level buckets of the file. Bodies and tickets are written once and never change, so they
// are apart from the small values that do: an update then rewrites a small page.
const (
	bucketMeta     = iota // format version, clock
	bucketRequests        // request sequence → bodies as received
	bucketReqJobs         // request sequence, job → nothing: a body is kept as long as one of its jobs
	bucketJobs            // job → ticket
	bucketState           // job → jobState
	bucketWaiting         // position → job and station: the open jobs of all lanes, in order
	bucketFinished        // running time, job → nothing: finished jobs, oldest first, for pruning
	bucketStations        // name → stationRecord
	bucketDedup           // generation → bucket of request key → dedupRecord
	bucketUnused          // earlier versions kept damaged records in it
	bucketKV              // name → bucket of key → value
	bucketCount
)

// bucketNames are stored: they never change, whatever the constants are called. "shelf" is an older word for KV.
var bucketNames = [bucketCount][]byte{
	[]byte("meta"), []byte("requests"), []byte("reqjobs"), []byte("jobs"), []byte("state"),
	[]byte("waiting"), []byte("finished"), []byte("stations"), []byte("dedup"), []byte("aside"), []byte("shelf"),
}

// A batch is one transaction while it is built. Operations read from the transaction, so each sees
// the changes of those before it. Changes of memory are left in onCommit, which runs only after
// everything is on disk.
type batch struct {
	q       *Queue
	tx      *bolt.Tx
	now     time.Duration // running time; the same for all operations of the batch
	wall    time.Time
	refusal error // why no new request may be accepted; nil: it may

	dirty    bool                      // something was written: a commit is needed
	err      error                     // the first failed write; the whole batch is then rolled back
	stations map[string]*stationRecord // by station: its record as it will be stored
	open     int                       // change in the number of open jobs
	onCommit []func()                  // run under Queue.mu
	blocked  []*lane                   // lanes that lend nothing until the batch ends
	numbers  []uint64                  // of the next jobs, if they are free; see jobNumber

	newJobLines, stateLines []copyLine // for the copy's log; see copyLines
}

// fail makes the whole transaction fail, with the first error; nil changes nothing. An operation that has written
// anything must not return an error of its own: that would be committed.
func (b *batch) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// afterCommit runs f under Queue.mu once the transaction is on the disk, and never if it fails. All
// changes of memory belong in such a function.
func (b *batch) afterCommit(f func()) { b.onCommit = append(b.onCommit, f) }

// bucket returns a top-level bucket.
func (b *batch) bucket(n int) *bolt.Bucket {
	opened := b.tx.Bucket(bucketNames[n])
	switch n {
	case bucketRequests, bucketReqJobs, bucketJobs, bucketWaiting, bucketFinished, bucketState:
		opened.FillPercent = 0.9 // keys only grow, so half-filled pages would never be filled
	}
	return opened
}

// put writes one value.
func (b *batch) put(k *bolt.Bucket, key, value []byte) {
	b.dirty = true
	b.fail(k.Put(key, value))
}

// putJSON writes one of the small records. A time after the year 9999 cannot be encoded, for example.
func (b *batch) putJSON(bucket int, key []byte, v any) {
	b.dirty = true
	b.fail(putJSON(b.bucket(bucket), key, v))
}

// del is put for a deletion.
func (b *batch) del(k *bolt.Bucket, key []byte) {
	b.dirty = true
	b.fail(k.Delete(key))
}

// sequence returns the next number of a bucket. bbolt stores it with the bucket, so no number is
// given out twice, also after a crash.
func (b *batch) sequence(n int) uint64 {
	b.dirty = true
	seq, _ := b.bucket(n).NextSequence() // in a transaction that can write it cannot fail
	return seq
}

// jobNumber is the number of the next job: the next of b.numbers if the file does not know that yet, else a new one.
func (b *batch) jobNumber() uint64 {
	if len(b.numbers) == 0 {
		return b.sequence(bucketJobs)
	}

	number := b.numbers[0]
	b.numbers = b.numbers[1:]
	if b.bucket(bucketJobs).Get(key64(number)) != nil || b.bucket(bucketState).Get(key64(number)) != nil {
		return b.sequence(bucketJobs)
	}

	b.raiseSequence(number)
	return number
}

// raiseSequence makes sure that no new job gets a number that the copy's log knows.
func (b *batch) raiseSequence(number uint64) {
	if jobs := b.bucket(bucketJobs); jobs.Sequence() < number {
		b.dirty = true
		b.fail(jobs.SetSequence(number))
	}
}

// state reads the state of a job. The error wraps ErrNotFound or ErrDamaged. A job that was pruned
// and one that never was look the same.
func (b *batch) state(job uint64) (jobState, error) {
	raw := b.bucket(bucketState).Get(key64(job))
	if raw == nil {
		return jobState{}, fmt.Errorf("job %d: %w", job, ErrNotFound)
	}

	decoded, err := decodeState(raw)
	if err != nil {
		return jobState{}, b.q.foundDamage(fmt.Sprintf("state of job %d", job), err)
	}
	return decoded, nil
}

// setState stores the state of a job, and gives it to the lane of an open one.
func (b *batch) setState(job uint64, s jobState) {
	b.putJSON(bucketState, key64(job), s)
	b.logState(job, s)
	if s.State.Open() {
		b.place(job, s)
	}
}

// place has memory follow the state of an open job, once it is on the disk.
func (b *batch) place(job uint64, s jobState) {
	b.afterCommit(func() { b.q.lane(s.Station).place(job, &s) })
}

// station returns the books and the hold of a station, for the caller to change. writeRecords stores
// it once, however many operations changed it. It is a copy, because the batch may fail; the lane
// gets it only after the commit.
func (b *batch) station(station string) *stationRecord {
	if known := b.stations[station]; known != nil {
		return known
	}

	b.q.mu.Lock()
	lane := b.q.lane(station)
	record := &stationRecord{Books: lane.Books.clone(), Hold: lane.Hold}
	b.q.mu.Unlock()

	b.stations[station] = record
	return record
}

// books returns the counters of a station, for the caller to change.
func (b *batch) books(station string) *Books { return &b.station(station).Books }

// blockLending stops a lane from lending until this batch ends, and returns the job that is lent already,
// 0 for none. Without it, a ticket could be lent while the transaction that cancels it is being
// written, and print although a person was told that it is cancelled.
func (b *batch) blockLending(station string) (lent uint64) {
	b.q.mu.Lock()
	defer b.q.mu.Unlock()

	lane := b.q.lane(station)
	if !lane.lendingBlocked {
		lane.lendingBlocked = true
		b.blocked = append(b.blocked, lane)
	}

	if lane.lease != nil {
		return lane.lease.job
	}

	return 0
}

// allowLending ends the block of blockLending, whether the commit succeeded or not. It needs Queue.mu.
func (b *batch) allowLending() {
	for _, l := range b.blocked {
		l.lendingBlocked = false
		l.notify()
	}
}

// enqueue adds a job at the end of its lane, or in front of it. The caller counts it in the books,
// because only the caller knows whether it is new, a copy, or moved.
func (b *batch) enqueue(s jobState, payload []byte, front bool) uint64 {
	job := b.jobNumber()

	s.State = ticket.Pending
	s.Pos = b.q.nextPos(front)
	if slices.Contains(s.RefusedBy, s.Station) { // a person sends it there again
		s.RefusedBy = nil
	}

	b.put(b.bucket(bucketJobs), key64(job), payload)
	b.put(b.bucket(bucketWaiting), key64(s.Pos), encodeWaiting(job, s.Station))
	b.putJSON(bucketState, key64(job), s)

	if s.MadeFrom != 0 || s.FromDaemon { // no request made it
		b.newJobLines = append(b.newJobLines, copyLine{
			logLine: logLine{Made: &loggedMade{job, s}}, payloads: [][]byte{payload}, size: smallOp + len(payload),
		})
	}
	if s.Req != 0 {
		b.put(b.bucket(bucketReqJobs), key128(s.Req, job), nil)
	}

	b.storeJobOutcome(job, s, Accepted)
	b.open++
	b.place(job, s)

	return job
}

// finish takes a job to a final state, out of its lane, and counts it in the books. A failed job
// may be finished once more, when a person cancels or reprints it: it has been counted.
func (b *batch) finish(job uint64, s jobState, to ticket.State, why string) {
	if s.State.Open() {
		b.del(b.bucket(bucketWaiting), key64(s.Pos))
		b.open--
		pos, station := s.Pos, s.Station
		b.afterCommit(func() { b.q.lane(station).remove(pos) })

		books := b.books(s.Station)
		if to == ticket.Moved {
			books.MovedOut++
		} else {
			books.Outcomes[to]++
		}
	}

	s.State, s.Pos, s.Why, s.Finished = to, 0, why, b.wall.UnixMilli()
	b.setState(job, s)
	b.storeJobOutcome(job, s, string(to))

	if to != ticket.Failed { // a failed job is never pruned: a person must see it
		b.put(b.bucket(bucketFinished), key128(uint64(b.now), job), nil)
	}
}

// writeRecords stores the station records that the operations have changed, and at most once a
// minute the running time.
func (b *batch) writeRecords() {
	for name, r := range b.stations {
		b.putJSON(bucketStations, []byte(name), r)
		b.afterCommit(func() {
			lane := b.q.lane(name)
			lane.stationRecord = *r
			lane.notify()
		})
	}

	if b.dirty && b.now-b.q.clock.written >= writeClockEvery {
		b.writeClock()
	}
}

// nextPos returns a position behind all others, or before them. Only the committer calls it.
// Neither end can run out: at a thousand jobs a second it would take a hundred million years.
func (q *Queue) nextPos(front bool) uint64 {
	if front {
		q.head--
		return q.head
	}
	q.tail++
	return q.tail
}

// storeJobOutcome stores an event of a job for other systems, in the transaction that changes the job.
func (b *batch) storeJobOutcome(job uint64, s jobState, what string) {
	b.storeOutcome(Outcome{
		Job: job, What: what, Station: s.Station, Reason: s.Why, Attempts: s.Attempts, Doubt: s.Doubts > 0,
	})
}

// storeOutcome stores an outcome with the time, if somebody is to be told.
func (b *batch) storeOutcome(o Outcome) {
	if !b.q.keepOutcomes.Load() {
		return
	}

	outcomes, err := b.bucket(bucketKV).CreateBucketIfNotExists([]byte(outcomesName))
	if err != nil { // the tree is damaged there; the ticket matters more
		b.afterCommit(func() { b.q.metrics.outcomesLost.Inc() })
		b.q.log.Error("an outcome cannot be stored", "job", o.Job, "outcome", o.What, "err", err)
		return
	}

	outcomes.FillPercent = 0.9        // keys only grow
	seq, _ := outcomes.NextSequence() // in a transaction that can write it cannot fail
	b.dirty = true
	b.fail(putJSON(outcomes, key64(seq), storedOutcome{o, b.wall.UnixMilli(), b.now}))
}
