package queue

import (
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// The buckets. Bodies and tickets are written once and never touched again, so they
// live apart from the small values that change.
const (
	bucketMeta       = iota // format version, clock
	bucketRequests          // request sequence → bodies as received
	bucketReqJobs           // request sequence, job → nothing: which jobs a body is kept for
	bucketJobs              // job → ticket
	bucketState             // job → jobState
	bucketWaiting           // position → place: the open jobs of all stations
	bucketFinished          // running time, job → nothing: what retention may remove
	bucketStations          // name → stationRecord
	bucketDedup             // last hour of a day of running time → bucket of request key → seen
	bucketQuarantine        // sequence → a damaged record as it was found
	bucketKV                // name → bucket of key → value
	bucketCount
)

var bucketNames = [bucketCount][]byte{
	[]byte("meta"), []byte("requests"), []byte("reqjobs"), []byte("jobs"), []byte("state"),
	[]byte("waiting"), []byte("finished"), []byte("stations"), []byte("dedup"), []byte("aside"), []byte("shelf"),
}

// A batch is one transaction in the making. Operations read from the transaction, so
// they see what the ones before them did; what they want changed in memory they leave
// in after, which runs only once all of it is on disk.
type batch struct {
	q    *Queue
	tx   *bolt.Tx
	now  time.Duration // running time
	wall time.Time
	full bool // the disk is: nothing new may be taken

	dirty    bool  // there is something to commit
	err      error // the first failed write; the whole batch is lost
	buckets  [bucketCount]*bolt.Bucket
	gens     []generation
	records  map[string]*stationRecord // as they will be
	open     int                       // change in the number of open jobs
	onCommit []func()                  // under Queue.mu
	paused   []*lane
}

func (b *batch) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *batch) afterCommit(f func()) { b.onCommit = append(b.onCommit, f) }

func (b *batch) bucket(n int) *bolt.Bucket {
	if b.buckets[n] == nil {
		k := b.tx.Bucket(bucketNames[n])
		switch n {
		case bucketRequests, bucketReqJobs, bucketJobs, bucketWaiting, bucketFinished, bucketState:
			k.FillPercent = 0.9 // keys only grow: half-empty pages would stay so
		}
		b.buckets[n] = k
	}
	return b.buckets[n]
}

func (b *batch) put(k *bolt.Bucket, key, value []byte) {
	b.dirty = true
	if b.err == nil {
		b.fail(k.Put(key, value))
	}
}

func (b *batch) del(k *bolt.Bucket, key []byte) {
	b.dirty = true
	if b.err == nil {
		b.fail(k.Delete(key))
	}
}

func (b *batch) sequence(n int) uint64 {
	b.dirty = true
	seq, err := b.bucket(n).NextSequence()
	b.fail(err)
	return seq
}

// state reads where a job stands. The error wraps ErrNotFound or ErrDamaged.
func (b *batch) state(job uint64) (jobState, error) {
	raw := b.bucket(bucketState).Get(key64(job))
	if raw == nil {
		return jobState{}, fmt.Errorf("job %d: %w", job, ErrNotFound)
	}
	s, err := decodeState(raw)
	if err != nil {
		return jobState{}, fmt.Errorf("state of job %d: %w: %v", job, ErrDamaged, err)
	}
	return s, nil
}

func (b *batch) setState(job uint64, s jobState) {
	v, err := sealJSON(s)
	b.fail(err)
	b.put(b.bucket(bucketState), key64(job), v)
}

// record is a station's books and hold, to be changed: it is written when the batch
// is complete, once however many operations touched it.
func (b *batch) record(station string) *stationRecord {
	if r := b.records[station]; r != nil {
		return r
	}
	b.q.mu.Lock()
	l := b.q.lane(station)
	r := &stationRecord{Books: l.books.clone(), Hold: l.hold}
	b.q.mu.Unlock()
	if b.records == nil {
		b.records = map[string]*stationRecord{}
	}
	b.records[station] = r
	return r
}

func (b *batch) books(station string) *Books { return &b.record(station).Books }

// freeze keeps a line from lending until this batch has ended, and says which job it has
// lent already. Without it a ticket could be lent while the transaction that cancels it
// is under way, and print although a person was told that it will not.
func (b *batch) pause(station string) (lent uint64) {
	b.q.mu.Lock()
	defer b.q.mu.Unlock()
	l := b.q.lane(station)
	if !l.paused {
		l.paused = true
		b.paused = append(b.paused, l)
	}
	if l.lease != nil {
		return l.lease.job
	}
	return 0
}

// thaw needs Queue.mu.
func (b *batch) resume() {
	for _, l := range b.paused {
		l.paused = false
		l.notify()
	}
}

// enter puts a job in a line: at its end, or before its head. It is the caller who counts
// it in the books, since it knows on which page.
func (b *batch) enqueue(s jobState, payload []byte, front bool) uint64 {
	job := b.sequence(bucketJobs)
	s.State = ticket.Pending
	s.Pos = b.q.nextPos(front)
	b.put(b.bucket(bucketJobs), key64(job), payload)
	b.put(b.bucket(bucketWaiting), key64(s.Pos), encodeWaiting(job, s.Station))
	b.setState(job, s)
	if s.Req != 0 {
		b.put(b.bucket(bucketReqJobs), key128(s.Req, job), nil)
	}
	b.open++
	b.afterCommit(func() { b.q.lane(s.Station).add(s.entry(job)) })
	return job
}

// finish takes a job to its final state, out of its line and on to the right page of
// the books. A buried job may be finished once more, by a person.
func (b *batch) finish(job uint64, s jobState, to ticket.State, why string) {
	books := b.books(s.Station)
	if s.State.Open() {
		b.del(b.bucket(bucketWaiting), key64(s.Pos))
		b.open--
		pos, station := s.Pos, s.Station
		b.afterCommit(func() { b.q.lane(station).remove(pos) })
	} else if books.Outcomes[s.State] > 0 {
		books.Outcomes[s.State]--
		books.FailedCancelled++
	} else {
		books.Enqueued++ // a page that was damaged and started anew has never heard of it
	}
	if to == ticket.Moved {
		books.MovedOut++
	} else {
		books.Outcomes[to]++
	}
	s.State, s.Pos, s.Why, s.Finished = to, 0, why, b.wall.UnixMilli()
	b.setState(job, s)
	if to != ticket.Failed { // buried jobs wait for a person, however long that takes
		b.put(b.bucket(bucketFinished), key128(uint64(max(b.now, 0)), job), nil)
	}
}

// aside keeps the original bytes of a record that cannot be read, for whoever has to
// find out what it was. The caller replaces or removes the record itself.
func (b *batch) quarantine(bucket int, key, raw []byte, cause error) {
	v, err := sealJSON(quarantined{string(bucketNames[bucket]), key, raw, cause.Error(), b.wall.UTC()})
	b.fail(err)
	b.put(b.bucket(bucketQuarantine), key64(b.sequence(bucketQuarantine)), v)
	b.afterCommit(func() { b.q.damaged++ })
	b.q.log.Error("stored record is damaged; it was set aside",
		"bucket", string(bucketNames[bucket]), "key", fmt.Sprintf("%x", key), "err", cause)
}

type quarantined struct {
	Bucket string    `json:"bucket"`
	Key    []byte    `json:"key"`
	Value  []byte    `json:"value"`
	Cause  string    `json:"cause"`
	Found  time.Time `json:"found"`
}

// close writes what was collected over the whole batch.
func (b *batch) writeRecords() {
	for name, r := range b.records {
		v, err := sealJSON(r)
		b.fail(err)
		b.put(b.bucket(bucketStations), []byte(name), v)
		b.afterCommit(func() {
			l := b.q.lane(name)
			l.books, l.hold = r.Books, r.Hold
			l.notify()
		})
	}
	if b.dirty && b.now-b.q.clock.written >= writeClockEvery {
		b.writeClock()
	}
}
