package queue

import (
	"errors"
	"fmt"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/store"
)

// The state in memory is read here with its checksums. Anything damaged makes the whole file damaged: its copy takes
// its place.

// firstPos is the position of the first job ever. There is as much room before it as behind it,
// because slips are enqueued in front.
const firstPos = uint64(1) << 62

// formatVersion is the format of the file. It is raised by a change that an older program would
// misread; a program refuses a newer format than its own.
const formatVersion = 1

// keyFormat is the key of formatVersion in the meta bucket.
var keyFormat = []byte("format")

// A loadedState is the result of load.
type loadedState struct {
	lanes      lanes
	open       int
	head, tail uint64 // the lowest and highest position in use
	clock      clockRecord
	copy       store.CopyRecord
	youngest   int64 // the latest running time that is recorded with any job
}

// load reads the state that is kept in memory: the open jobs and the books. How long that takes depends on
// the backlog, not on the history, so a box with a week of history starts at once.
func load(tx *bolt.Tx) (*loadedState, error) {
	loaded := &loadedState{lanes: lanes{}, head: firstPos, tail: firstPos}
	if err := checkFormat(tx); err != nil {
		return nil, err
	}

	err := errors.Join(readMeta(tx, keyCopy, &loaded.copy), loaded.readClock(tx), loaded.readWaiting(tx),
		loaded.readStations(tx))
	if err != nil {
		return nil, err
	}
	return loaded, nil
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

	version, err := strconv.Atoi(string(raw))
	switch {
	case err != nil || version < 1:
		return fmt.Errorf("%w: format %q", ErrDamaged, raw)
	case version > formatVersion: // not damaged: the file must be left alone, not quarantined
		return fmt.Errorf("the file has format %d, this program reads up to %d: install the newer ticketrail that "+
			"wrote it", version, formatVersion)
	}

	for _, name := range bucketNames {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: no bucket %q", ErrDamaged, name)
		}
	}
	return nil
}

// readClock reads the running time, and the latest one recorded with a finished job.
func (m *loadedState) readClock(tx *bolt.Tx) error {
	if err := readMeta(tx, keyClock, &m.clock); err != nil {
		return err
	}

	if key, _ := tx.Bucket(bucketNames[bucketFinished]).Cursor().Last(); len(key) == 16 {
		// Keys have no checksum, and a flipped bit can mean years. The clock record is at most
		// writeClockEvery, a minute, older than the last finished job. So a key that is later than the
		// record by more than writeClockIdle, an hour, is damaged.
		if youngest := int64(un64(key[:8])); youngest <= int64(m.clock.Running+writeClockIdle) {
			m.youngest = youngest
		}
	}
	return nil
}

// readWaiting fills the lanes, in the order of the positions.
func (m *loadedState) readWaiting(tx *bolt.Tx) error {
	return tx.Bucket(bucketNames[bucketWaiting]).ForEach(func(key, value []byte) error {
		pos := un64(key)
		job, err := decodeWaiting(value)

		var s jobState
		if err == nil {
			s, err = stateIn(tx, job)
		}
		if err == nil && (!s.State.Open() || s.Pos != pos) {
			err = fmt.Errorf("job %d is %s at position %d", job, s.State, s.Pos)
		}
		if err != nil {
			return fmt.Errorf("%w: position %d: %w", ErrDamaged, pos, err)
		}

		m.head, m.tail, m.open = min(m.head, pos), max(m.tail, pos), m.open+1
		m.youngest = max(m.youngest, s.Enqueued)
		m.lanes.of(s.Station).place(job, &s)
		return nil
	})
}

// readStations reads the books and holds.
func (m *loadedState) readStations(tx *bolt.Tx) error {
	return tx.Bucket(bucketNames[bucketStations]).ForEach(func(key, value []byte) error {
		err := unsealJSON(value, &m.lanes.of(string(key)).stationRecord)
		if err != nil {
			return fmt.Errorf("%w: the books of %.64q: %w", ErrDamaged, key, err)
		}
		return nil
	})
}

// install replaces the state in memory by the loaded one. Leases are kept: their stations are
// printing, whatever the disk does.
func (q *Queue) install(m *loadedState) {
	q.mu.Lock()
	defer q.mu.Unlock()

	old := q.lanes
	q.lanes, q.open = m.lanes, m.open
	q.head, q.tail = m.head, m.tail

	for name, was := range old {
		lane := q.lane(name)
		lane.lease, lane.configured = was.lease, was.configured
		was.notify() // callers of Take wait for a change of the old lane
	}
}
