package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// Everything that can be damaged is read here with its checksum, and nothing damaged is dropped in
// silence: it is put into quarantine, its ticket is made failed for a person to see, and the rest
// of the queue works. Reading changes nothing; the repairs are one transaction after the probe
// commit.

// firstPos is the position of the first job ever. There is as much room before it as behind it,
// because slips are enqueued in front.
const firstPos = uint64(1) << 62

// formatVersion is the format of the file. It is raised by a change that an older program would
// misread; a program refuses a newer format than its own.
const formatVersion = 1

// keyFormat is the key of formatVersion in the meta bucket.
var keyFormat = []byte("format")

// A loadedState is what load read from the file, and what must be repaired in it.
type loadedState struct {
	lanes      map[string]*lane
	open       int
	head, tail uint64 // the lowest and highest position in use
	clock      clockRecord
	youngest   int64          // the latest running time that is recorded with any job
	repairs    []func(*batch) // to be committed before anything is lent
}

// lane returns the lane of a station, and creates it if there is none.
func (m *loadedState) lane(name string) *lane {
	l := m.lanes[name]
	if l == nil {
		l = newLane(name)
		m.lanes[name] = l
	}
	return l
}

// load reads what is kept in memory: the open jobs and the books. How long that takes depends on
// the backlog, not on the history, so a box with a week of history starts at once.
func load(db *bolt.DB) (*loadedState, error) {
	m := &loadedState{lanes: map[string]*lane{}, head: firstPos, tail: firstPos}
	err := db.View(func(tx *bolt.Tx) error {
		if err := checkFormat(tx); err != nil {
			return err
		}
		m.readClock(tx)
		m.readWaiting(tx)
		m.readStations(tx)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// checkFormat returns an error if this program cannot work with the file.
func checkFormat(tx *bolt.Tx) error {
	meta := tx.Bucket(bucketNames[bucketMeta])
	if meta == nil {
		return fmt.Errorf("%w: it is a bbolt file, but not a queue of ticketrail", ErrDamaged)
	}
	raw, err := unseal(meta.Get(keyFormat))
	if err != nil {
		return fmt.Errorf("%w: format: %w", ErrDamaged, err)
	}
	v, err := strconv.Atoi(string(raw))
	switch {
	case err != nil || v < 1:
		return fmt.Errorf("%w: format %q", ErrDamaged, raw)
	case v > formatVersion: // not damaged: the file must be left alone, not quarantined
		return newerFormat(v)
	}
	for _, name := range bucketNames {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: no bucket %q", ErrDamaged, name)
		}
	}
	return nil
}

func newerFormat(v int) error {
	return fmt.Errorf("the file has format %d, this program reads up to %d: install the newer ticketrail that "+
		"wrote it", v, formatVersion)
}

// readClock reads the running time, and the latest one recorded with a finished job.
func (m *loadedState) readClock(tx *bolt.Tx) {
	raw := tx.Bucket(bucketNames[bucketMeta]).Get(keyClock)
	readable := true
	if raw != nil {
		if err := unsealJSON(raw, &m.clock); err != nil {
			readable = false
			m.clock = clockRecord{}
			// Running time continues from the latest one recorded with a job: nothing expires early.
			bad := slices.Clone(raw)
			m.repairs = append(m.repairs, func(b *batch) { b.quarantine(bucketMeta, keyClock, bad, err) })
		}
	}
	if k, _ := tx.Bucket(bucketNames[bucketFinished]).Cursor().Last(); len(k) == 16 {
		// Keys have no checksum, and a flipped bit can mean years. The clock record is at most
		// writeClockEvery, a minute, older than the last finished job. So a key that is later than the
		// record by more than writeClockIdle, an hour, is damaged.
		if y := int64(un64(k[:8])); !readable || y <= int64(m.clock.Running+writeClockIdle) {
			m.youngest = y
		}
	}
}

// readWaiting fills the lanes, in the order of the positions. A job whose state is damaged or
// contradicts its position keeps its place, and is made failed by a repair.
func (m *loadedState) readWaiting(tx *bolt.Tx) {
	states := tx.Bucket(bucketNames[bucketState])
	lost := map[uint64][]byte{} // position → its unreadable value
	c := tx.Bucket(bucketNames[bucketWaiting]).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		pos := un64(k)
		// Also of damaged entries: a new job must not get a position that is still in the file.
		m.head, m.tail = min(m.head, pos), max(m.tail, pos)
		job, station, err := decodeWaiting(v)
		if err != nil {
			lost[pos] = slices.Clone(v)
			continue
		}
		raw := states.Get(key64(job))
		s, err := decodeState(raw)
		if err == nil && (!s.State.Open() || s.Pos != pos) {
			err = fmt.Errorf("it is %s at position %d, but its entry is at position %d", s.State, s.Pos, pos)
		}
		if err != nil {
			// It is in memory until the repair, which finishes it, so that the books balance.
			m.open++
			l := m.lane(station)
			l.pending = append(l.pending, entry{pos: pos, job: job})
			m.failLater(job, station, pos, slices.Clone(raw), err)
			continue
		}
		m.add(job, s)
	}
	if len(lost) > 0 {
		m.recoverPositions(tx, lost)
	}
}

// add puts an open job into its lane.
func (m *loadedState) add(job uint64, s jobState) {
	m.open++
	m.youngest = max(m.youngest, s.Enqueued)
	l := m.lane(s.Station)
	if s.State == ticket.Held {
		l.held[s.Pos] = s.laneEntry(job)
		return
	}
	l.pending = append(l.pending, s.laneEntry(job))
}

// recoverPositions finds the jobs of unreadable positions by reading the state of every job. That
// is slow, and only done when there is damage.
func (m *loadedState) recoverPositions(tx *bolt.Tx, lost map[uint64][]byte) {
	c := tx.Bucket(bucketNames[bucketState]).Cursor()
	found := map[uint64]bool{}
	for k, v := c.First(); k != nil; k, v = c.Next() {
		s, err := decodeState(v)
		if err != nil || !s.State.Open() {
			continue
		}
		raw, ok := lost[s.Pos]
		if !ok || found[s.Pos] { // two jobs at one position: only one of them can have been there
			continue
		}
		found[s.Pos] = true
		job := un64(k)
		m.add(job, s)
		m.repairs = append(m.repairs, func(b *batch) {
			b.quarantine(bucketWaiting, key64(s.Pos), raw,
				errors.New("the entry of this position is unreadable; its job was found by its state"))
			b.put(b.bucket(bucketWaiting), key64(s.Pos), encodeWaiting(job, s.Station))
		})
	}
	for pos, raw := range lost {
		if found[pos] {
			continue
		}
		m.repairs = append(m.repairs, func(b *batch) {
			b.quarantine(bucketWaiting, key64(pos), raw,
				errors.New("the entry of this position is unreadable and no job has this position"))
			b.del(b.bucket(bucketWaiting), key64(pos))
		})
	}
	for _, l := range m.lanes { // those just found were added at the end
		slices.SortFunc(l.pending, func(a, b entry) int { return cmp.Compare(a.pos, b.pos) })
	}
}

// failLater has a job whose state cannot be read made failed, for a person to look at. Its ticket
// is kept.
func (m *loadedState) failLater(job uint64, station string, pos uint64, raw []byte, cause error) {
	m.repairs = append(m.repairs, func(b *batch) {
		b.quarantine(bucketState, key64(job), raw, cause)
		s := jobState{
			Station: station, State: ticket.Pending, Pos: pos, Enqueued: int64(b.now),
			Received: b.wall.UnixMilli(), Req: b.requestOf(job),
		}
		b.finish(job, s, ticket.Failed, "its stored state is damaged: "+cause.Error())
	})
}

// requestOf finds the request of a job whose state is unreadable; 0 if there is none. It reads all
// keys of the bucket, which is acceptable for damage only.
func (b *batch) requestOf(job uint64) uint64 {
	c := b.bucket(bucketReqJobs).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) == 16 && un64(k[8:]) == job {
			return un64(k[:8])
		}
	}
	return 0
}

// readStations reads the books and holds. Damaged books start again with the open jobs of the lane,
// so that they balance.
func (m *loadedState) readStations(tx *bolt.Tx) {
	c := tx.Bucket(bucketNames[bucketStations]).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		l := m.lane(string(k))
		var r stationRecord
		if err := unsealJSON(v, &r); err != nil {
			l.books.Enqueued = uint64(l.open())
			bad := slices.Clone(v)
			m.repairs = append(m.repairs, func(b *batch) {
				b.quarantine(bucketStations, []byte(l.name), bad,
					fmt.Errorf("%w; the books of this station start again, and a hold is forgotten", err))
				b.station(l.name) // writeRecords then stores the new books
			})
			continue
		}
		l.books, l.stationHold = r.Books, r.Hold
	}
}

// install replaces what is in memory by what load read. Leases are kept: their stations are
// printing, whatever the disk does.
func (q *Queue) install(m *loadedState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	old := q.lanes
	q.lanes, q.open = m.lanes, m.open
	q.head, q.tail = m.head, m.tail
	for name, was := range old {
		l := q.lane(name)
		l.lease, l.configured = was.lease, was.configured
		was.notify() // callers of Take wait for a change of the old lane
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

// repair commits the repairs, before anything is lent. A crash before its commit: the next start
// finds the same damage. After it: the damage is in the quarantine.
func (q *Queue) repair(repairs []func(*batch)) error {
	_, err := q.commit([]*op{{kind: opOnce, apply: func(b *batch) error {
		for _, r := range repairs {
			r(b)
		}
		return nil
	}}})
	return err
}
