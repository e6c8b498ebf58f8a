package queue

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A salvagedJob is a job as it will be in the new file.
type salvagedJob struct {
	id    uint64
	state jobState
}

// jobs decides what becomes of each job that was found, see the type salvage. They are in the order of their ids.
func (s *salvage) jobs() (all []salvagedJob) {
	waits := map[uint64]uint64{} // job → position, of which a tree says that it waits
	for pos, w := range s.waiting {
		waits[w.job] = pos
	}
	replaced := map[uint64]bool{}
	for id, v := range s.states {
		n := v.jobState
		pos, waiting := waits[id]
		switch {
		case n.State.Open() && waiting:
			n.Pos = pos
		case n.State.Open() && s.isOver(id, &v):
			continue
		case !n.State.Open() && waiting && !v.tree: // a page of a transaction that the tree does not have
			n.State, n.Pos, n.Why, n.Finished = ticket.Pending, pos, "", 0
		}
		replaced[n.MadeFrom] = true
		all = append(all, salvagedJob{id, n})
	}
	all = slices.DeleteFunc(all, func(j salvagedJob) bool {
		_, waiting := waits[j.id]
		return j.state.State.Open() && !waiting && !s.states[j.id].tree && replaced[j.id]
	})
	for id, pos := range waits {
		if _, known := s.states[id]; known {
			continue
		}
		n := jobState{
			Station: s.waiting[pos].station, State: ticket.Pending, Pos: pos, Req: s.requests[id],
			Enqueued: int64(s.clock.Running), Received: time.Now().UnixMilli(),
		}
		n.fail("its stored state is damaged, and was not found when the database was salvaged")
		all = append(all, salvagedJob{id, n})
	}
	for i := range all {
		n := &all[i].state
		if n.State.Open() && s.ticket(all[i].id, n.Req).n == 0 {
			n.fail("its stored ticket is damaged, and was not found when the database was salvaged")
		}
		n.doubtIfOwed()
	}
	slices.SortFunc(all, func(a, b salvagedJob) int { return cmp.Compare(a.id, b.id) })
	return all
}

// isOver says whether a job that is open in the version that was found is not open any more, or was accepted again.
func (s *salvage) isOver(id uint64, v *stateVersion) bool {
	_, finished := s.finished[id]
	switch {
	case !v.tree && finished:
		return true
	case !s.newer(bucketJobs, id):
		return !s.isLost(contents(bucketWaiting), key64(v.Pos))
	}
	// A transaction that the tree has lost, and that perhaps nobody was answered: the service has sent it again.
	t, err := decodePayload(s.value(s.ticket(id, v.Req)))
	if err != nil || v.MadeFrom != 0 || t.Kind != ticket.Order {
		return false
	}
	_, known := s.keys[keyOf(t.Venue, t.Request)]
	return known
}

func (s *jobState) fail(why string) {
	s.State, s.Pos, s.Why, s.Finished = ticket.Failed, 0, why, time.Now().UnixMilli()
}

// value reads a value; nil if there is none.
func (s *salvage) value(r ref) []byte {
	if r.n == 0 {
		return nil
	}
	return readAt(s.f, r.at, r.n)
}

// ticket chooses the ticket of a job. If pages contradict each other, it is one of the job's request.
func (s *salvage) ticket(job, request uint64) ref {
	all := s.tickets[job]
	if len(all) == 0 {
		return ref{}
	}
	m, _, err := decodeBody(s.value(s.bodies[request]))
	for _, r := range all {
		if t, bad := decodePayload(s.value(r)); len(all) > 1 && err == nil && bad == nil &&
			t.Request == m.ID && t.Venue == m.Venue {
			return r
		}
	}
	return all[0]
}

// skippedNumbers is how many numbers are left out if it is not known which were given out: a display that
// recognizes a ticket by its job must not take a new one for one that it has.
const skippedNumbers = 1 << 20

// write writes what was found into an empty file.
func (s *salvage) write(path string) (r Salvaged, err error) {
	noSync := storageHooks{sync: func(*os.File) error { return nil }} // synced once, by the caller
	if err := createEmpty(path, Options{NoSync: true}, noSync); err != nil {
		return r, err
	}
	db, err := bolt.Open(path, 0o600, boltOptions(true))
	if err != nil {
		return r, err
	}
	db.AllocSize = 64 << 10
	w := salvageWriter{db: db}
	w.begin()
	all := s.jobs()
	for _, j := range all {
		if enqueued := time.Duration(j.state.Enqueued); enqueued > s.clock.Running {
			// The wall clock of the record is that of an earlier time: what passed since would count twice.
			s.clock = clockRecord{Running: enqueued}
		}
	}
	s.writeJobs(&w, all, &r)
	s.writeKeys(&w, all, &r)
	for station, hold := range s.holds {
		w.stations(station).Hold = hold
	}
	for station, record := range w.records {
		w.json(bucketStations, []byte(station), record)
	}
	for number, at := range s.aside {
		w.copy(s, at, key64(number), bucketNames[bucketQuarantine])
	}
	for name, values := range s.kv {
		for key, at := range values {
			w.copy(s, at, []byte(key), bucketNames[bucketKV], []byte(name))
		}
	}
	// Outcomes continue, also if none is kept: a lower one would be forgotten with those that are, untold.
	told := s.sequences[contents(bucketKV)+outcomesName]
	for key := range s.kv[outcomesName] {
		told = max(told, un64([]byte(key)))
	}
	w.sequence(told, bucketNames[bucketKV], []byte(outcomesName))
	w.json(bucketMeta, keyClock, s.clock)
	for _, bucket := range []int{bucketRequests, bucketJobs} {
		name := bucketNames[bucket]
		given, known := s.sequences[string(name)]
		if given = max(given, s.highest[string(name)]); !known {
			given += skippedNumbers
		}
		w.sequence(given, name)
	}
	last := uint64(0)
	for number := range s.aside {
		last = max(last, number)
	}
	w.sequence(last, bucketNames[bucketQuarantine])
	w.commit()
	return r, errors.Join(w.err, db.Close())
}

// writeJobs writes the jobs with their tickets and bodies, each open one at its own position.
func (s *salvage) writeJobs(w *salvageWriter, all []salvagedJob, r *Salvaged) {
	taken, last := map[uint64]bool{}, firstPos
	for _, j := range all {
		if j.state.State.Open() && j.state.Pos < 1<<63 {
			last = max(last, j.state.Pos)
		}
	}
	bodies := map[uint64]bool{}
	for _, j := range all {
		n := j.state
		switch {
		case n.State.Open():
			if n.Pos == 0 || n.Pos >= 1<<63 || taken[n.Pos] {
				last++
				n.Pos = last
			}
			taken[n.Pos] = true
			w.put(key64(n.Pos), encodeWaiting(j.id, n.Station), bucketNames[bucketWaiting])
			w.stations(n.Station).Books.Enqueued++
			if n.State == ticket.Held {
				r.Held++
			} else {
				r.Pending++
			}
		case n.State == ticket.Failed:
			w.stations(n.Station).Books.Enqueued++
			w.stations(n.Station).Books.Outcomes[ticket.Failed]++
			r.Failed++
		default:
			ended, known := s.finished[j.id]
			if !known || time.Duration(ended) > s.clock.Running {
				ended = uint64(s.clock.Running)
			}
			w.put(key128(ended, j.id), nil, bucketNames[bucketFinished])
			r.Ended++
		}
		w.json(bucketState, key64(j.id), n)
		w.copy(s, s.ticket(j.id, n.Req), key64(j.id), bucketNames[bucketJobs])
		if n.Req == 0 {
			continue
		}
		w.put(key128(n.Req, j.id), nil, bucketNames[bucketReqJobs])
		if !bodies[n.Req] {
			bodies[n.Req] = true
			w.copy(s, s.bodies[n.Req], key64(n.Req), bucketNames[bucketRequests])
		}
	}
}

// writeKeys writes the keys of requests. A key whose record is lost gets one that cannot be read: what comes
// under it is then compared with the tickets (see acceptUnreadable).
func (s *salvage) writeKeys(w *salvageWriter, all []salvagedJob, r *Salvaged) {
	now := generationOf(s.clock.Running)
	known := map[requestKey]bool{}
	put := func(k requestKey, generation uint64, record []byte) {
		if generation == 0 || generation > now {
			generation = now
		}
		known[k] = true
		w.put(k[:], record, bucketNames[bucketDedup], key64(generation))
	}
	lost := seal([]byte("salvaged"))
	for k, at := range s.keys {
		record := s.value(at.ref)
		if record == nil {
			record = lost
		}
		put(k, at.generation, record)
	}
	for _, j := range all {
		t, err := decodePayload(s.value(s.ticket(j.id, j.state.Req)))
		if k := keyOf(t.Venue, t.Request); err == nil && t.Request != "" && j.state.State.Open() && !known[k] {
			put(k, now, lost)
		}
	}
	for k := range s.seen {
		if !known[k] && s.lostAny(bucketDedup) {
			put(k, now, lost)
		}
	}
	r.Keys = len(known)
}

// A salvageWriter writes a new file in transactions of a size that a small box has memory for.
type salvageWriter struct {
	db      *bolt.DB
	tx      *bolt.Tx
	size    int
	records map[string]*stationRecord
	err     error // the first one; nothing is written after it
}

func (w *salvageWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *salvageWriter) begin() {
	tx, err := w.db.Begin(true)
	w.fail(err)
	w.tx, w.size = tx, 0
}

func (w *salvageWriter) commit() {
	switch {
	case w.err == nil:
		w.fail(w.tx.Commit())
	case w.tx != nil:
		_ = w.tx.Rollback()
	}
}

// sequence sets the last number that a bucket has given out.
func (w *salvageWriter) sequence(last uint64, path ...[]byte) {
	if b := w.bucket(path); b != nil {
		w.fail(b.SetSequence(last))
	}
}

// put writes a value into a bucket, which may be within another one.
func (w *salvageWriter) put(key, value []byte, path ...[]byte) {
	if w.size > 1<<20 && w.err == nil {
		if w.commit(); w.err == nil {
			w.begin()
		}
	}
	if b := w.bucket(path); b != nil {
		w.size += len(key) + len(value) + elementSize
		w.fail(b.Put(key, value))
	}
}

// bucket makes a bucket; nil after an error.
func (w *salvageWriter) bucket(path [][]byte) *bolt.Bucket {
	if w.err != nil {
		return nil
	}
	b := w.tx.Bucket(path[0])
	for _, name := range path[1:] {
		inner, err := b.CreateBucketIfNotExists(name)
		if err != nil {
			w.fail(err)
			return nil
		}
		b = inner
	}
	return b
}

func (w *salvageWriter) json(bucket int, key []byte, v any) {
	raw, err := sealJSON(v)
	w.fail(err)
	w.put(key, raw, bucketNames[bucket])
}

// copy copies a value of the damaged file. One that cannot be read again, because the disk is failing, is missing.
func (w *salvageWriter) copy(s *salvage, at ref, key []byte, path ...[]byte) {
	if value := s.value(at); value != nil {
		if _, err := unseal(value); err == nil {
			w.put(key, value, path...)
		}
	}
}

// stations is the record of a station, to be changed. Its books begin again, with what the file has.
func (w *salvageWriter) stations(name string) *stationRecord {
	if w.records == nil {
		w.records = map[string]*stationRecord{}
	}
	if w.records[name] == nil {
		w.records[name] = &stationRecord{Books: Books{Outcomes: map[ticket.State]uint64{}}}
	}
	return w.records[name]
}
