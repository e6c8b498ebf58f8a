package queue

import (
	"errors"
	"fmt"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

// What is kept in memory is read here with its checksums. Anything damaged makes the whole file damaged: its copy takes
// its place.

// firstPos is the position of the first job ever. There is as much room before it as behind it,
// because slips are enqueued in front.
const firstPos = uint64(1) << 62

// formatVersion is the format of the file. It is raised by a change that an older program would
// misread; a program refuses a newer format than its own.
const formatVersion = 1

// keyFormat is the key of formatVersion in the meta bucket.
var keyFormat = []byte("format")

// A loadedState is what load read from the file.
type loadedState struct {
	lanes      map[string]*lane
	open       int
	head, tail uint64 // the lowest and highest position in use
	clock      clockRecord
	copy       store.CopyRecord
	youngest   int64 // the latest running time that is recorded with any job
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
func load(tx *bolt.Tx) (*loadedState, error) {
	m := &loadedState{lanes: map[string]*lane{}, head: firstPos, tail: firstPos}
	if err := checkFormat(tx); err != nil {
		return nil, err
	}
	var err error
	m.copy, err = readCopyRecord(tx)
	if err = errors.Join(err, m.readClock(tx), m.readWaiting(tx), m.readStations(tx)); err != nil {
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
func (m *loadedState) readClock(tx *bolt.Tx) error {
	if raw := tx.Bucket(bucketNames[bucketMeta]).Get(keyClock); raw != nil {
		if err := unsealJSON(raw, &m.clock); err != nil {
			return fmt.Errorf("%w: the running time: %w", ErrDamaged, err)
		}
	}
	if k, _ := tx.Bucket(bucketNames[bucketFinished]).Cursor().Last(); len(k) == 16 {
		// Keys have no checksum, and a flipped bit can mean years. The clock record is at most
		// writeClockEvery, a minute, older than the last finished job. So a key that is later than the
		// record by more than writeClockIdle, an hour, is damaged.
		if y := int64(un64(k[:8])); y <= int64(m.clock.Running+writeClockIdle) {
			m.youngest = y
		}
	}
	return nil
}

// readWaiting fills the lanes, in the order of the positions.
func (m *loadedState) readWaiting(tx *bolt.Tx) error {
	states := tx.Bucket(bucketNames[bucketState])
	c := tx.Bucket(bucketNames[bucketWaiting]).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		pos := un64(k)
		job, _, err := decodeWaiting(v)
		var s jobState
		if err == nil {
			s, err = decodeState(states.Get(key64(job)))
		}
		if err == nil && (!s.State.Open() || s.Pos != pos) {
			err = fmt.Errorf("job %d is %s at position %d", job, s.State, s.Pos)
		}
		if err != nil {
			return fmt.Errorf("%w: position %d: %w", ErrDamaged, pos, err)
		}
		m.head, m.tail = min(m.head, pos), max(m.tail, pos)
		m.add(job, s)
	}
	return nil
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

// readStations reads the books and holds.
func (m *loadedState) readStations(tx *bolt.Tx) error {
	c := tx.Bucket(bucketNames[bucketStations]).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		var r stationRecord
		if err := unsealJSON(v, &r); err != nil {
			return fmt.Errorf("%w: the books of %.64q: %w", ErrDamaged, k, err)
		}
		l := m.lane(string(k))
		l.books, l.stationHold = r.Books, r.Hold
	}
	return nil
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
