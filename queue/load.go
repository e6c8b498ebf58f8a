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

// firstPos leaves as much room before the first job in a line as behind it.
const firstPos = uint64(1) << 62

// formatVersion is raised by a change that an older program would read wrongly.
const formatVersion = 1

var keyFormat = []byte("format")

// memory is what load read from a file.
type loadedState struct {
	lanes      map[string]*lane
	open       int
	head, tail uint64 // the outermost positions in use
	clock      clockRecord
	youngest   int64                // the latest running time that anything was stamped with
	repairs    []func(*batch) error // of what was found damaged
}

func (m *loadedState) lane(name string) *lane {
	l := m.lanes[name]
	if l == nil {
		l = newLane(name)
		m.lanes[name] = l
	}
	return l
}

// load reads what has to be in memory: the open jobs and the books. Its length depends on
// the backlog, not on the history.
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

// sound says whether the file is one that this program can work with.
func checkFormat(tx *bolt.Tx) error {
	meta := tx.Bucket(bucketNames[bucketMeta])
	if meta == nil {
		return fmt.Errorf("%w: it is a bbolt file, but not ticketrail's", ErrDamaged)
	}
	raw, err := unseal(meta.Get(keyFormat))
	if err != nil {
		return fmt.Errorf("%w: format: %w", ErrDamaged, err)
	}
	v, err := strconv.Atoi(string(raw))
	switch {
	case err != nil || v < 1:
		return fmt.Errorf("%w: format %q", ErrDamaged, raw)
	case v > formatVersion:
		return fmt.Errorf("the file has format %d, this program knows up to %d: install the newer ticketrail that wrote it", v, formatVersion)
	}
	for _, name := range bucketNames {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: no bucket %q", ErrDamaged, name)
		}
	}
	return nil
}

func (m *loadedState) readClock(tx *bolt.Tx) {
	raw := tx.Bucket(bucketNames[bucketMeta]).Get(keyClock)
	sure := true
	if raw != nil {
		if err := unsealJSON(raw, &m.clock); err != nil {
			sure = false
			m.clock = clockRecord{}
			// Running time starts again from the youngest stamp found below: nothing expires early.
			bad := slices.Clone(raw)
			m.repairs = append(m.repairs, func(b *batch) error {
				b.quarantine(bucketMeta, keyClock, bad, err)
				return nil
			})
		}
	}
	if k, _ := tx.Bucket(bucketNames[bucketFinished]).Cursor().Last(); len(k) == 16 {
		// Keys have no checksum. This one is believed as far as the clock's own record bears it
		// out, which was at most a minute old whenever something finished.
		if y := int64(un64(k[:8])); !sure || y <= int64(m.clock.Running+writeClockIdle) {
			m.youngest = y
		}
	}
}

// readWaiting fills the lines in their order.
func (m *loadedState) readWaiting(tx *bolt.Tx) {
	states := tx.Bucket(bucketNames[bucketState])
	lost := map[uint64][]byte{} // positions whose place cannot be read
	c := tx.Bucket(bucketNames[bucketWaiting]).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		pos := un64(k)
		m.head, m.tail = min(m.head, pos), max(m.tail, pos)
		job, station, err := decodeWaiting(v)
		if err != nil {
			lost[pos] = slices.Clone(v)
			continue
		}
		raw := states.Get(key64(job))
		s, err := decodeState(raw)
		if err == nil && (!s.State.Open() || s.Pos != pos) {
			err = fmt.Errorf("it is %s at %d, its place in the line is %d", s.State, s.Pos, pos)
		}
		if err != nil {
			m.open++
			l := m.lane(station)
			l.pending = append(l.pending, entry{pos: pos, job: job})
			m.failLater(job, station, pos, slices.Clone(raw), err)
			continue
		}
		m.add(job, s)
	}
	if len(lost) > 0 {
		m.findLost(tx, lost)
	}
}

func (m *loadedState) add(job uint64, s jobState) {
	m.open++
	m.youngest = max(m.youngest, s.Enqueued)
	l := m.lane(s.Station)
	if s.State == ticket.Held {
		l.held[s.Pos] = s.entry(job)
		return
	}
	l.pending = append(l.pending, s.entry(job))
}

// findLost looks for the jobs of unreadable places the long way, through every state.
func (m *loadedState) findLost(tx *bolt.Tx, lost map[uint64][]byte) {
	c := tx.Bucket(bucketNames[bucketState]).Cursor()
	found := map[uint64]bool{}
	for k, v := c.First(); k != nil; k, v = c.Next() {
		s, err := decodeState(v)
		if err != nil || !s.State.Open() {
			continue
		}
		raw, ok := lost[s.Pos]
		if !ok || found[s.Pos] {
			continue
		}
		found[s.Pos] = true
		job := un64(k)
		m.add(job, s)
		m.repairs = append(m.repairs, func(b *batch) error {
			b.quarantine(bucketWaiting, key64(s.Pos), raw, errors.New("the place in the line is unreadable; it was found again from the job"))
			b.put(b.bucket(bucketWaiting), key64(s.Pos), encodeWaiting(job, s.Station))
			return nil
		})
	}
	for pos, raw := range lost {
		if found[pos] {
			continue
		}
		m.repairs = append(m.repairs, func(b *batch) error {
			b.quarantine(bucketWaiting, key64(pos), raw, errors.New("the place in the line is unreadable and no job stands there"))
			b.del(b.bucket(bucketWaiting), key64(pos))
			return nil
		})
	}
	for _, l := range m.lanes {
		slices.SortFunc(l.pending, func(a, b entry) int { return cmp.Compare(a.pos, b.pos) })
	}
}

// buryLater has a job whose state cannot be read buried where it stood, for a person.
func (m *loadedState) failLater(job uint64, station string, pos uint64, raw []byte, cause error) {
	m.repairs = append(m.repairs, func(b *batch) error {
		b.quarantine(bucketState, key64(job), raw, cause)
		s := jobState{Station: station, State: ticket.Pending, Pos: pos, Enqueued: int64(b.now), Received: b.wall.UnixMilli(), Req: b.requestOf(job)}
		b.finish(job, s, ticket.Failed, "its stored state is damaged: "+cause.Error())
		return nil
	})
}

// requestOf finds the request of a job that cannot say so itself; 0 if there is none.
func (b *batch) requestOf(job uint64) uint64 {
	c := b.bucket(bucketReqJobs).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) == 16 && un64(k[8:]) == job {
			return un64(k[:8])
		}
	}
	return 0
}

// readStations reads the books. A damaged page is started anew with what is in the line.
func (m *loadedState) readStations(tx *bolt.Tx) {
	c := tx.Bucket(bucketNames[bucketStations]).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		l := m.lane(string(k))
		var r stationRecord
		if err := unsealJSON(v, &r); err != nil {
			l.books.Enqueued = uint64(l.open())
			bad := slices.Clone(v)
			m.repairs = append(m.repairs, func(b *batch) error {
				b.quarantine(bucketStations, []byte(l.name), bad, fmt.Errorf("%w; its books start again, a hold is forgotten", err))
				b.record(l.name)
				return nil
			})
			continue
		}
		l.books, l.hold = r.Books, r.Hold
		if l.books.Outcomes == nil {
			l.books.Outcomes = map[ticket.State]uint64{}
		}
	}
}

// install makes what load read the truth. Leases live on: their stations are in the
// middle of a ticket.
func (q *Queue) install(m *loadedState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	old := q.lanes
	q.lanes, q.open = m.lanes, m.open
	q.head, q.tail = m.head, m.tail
	for name, was := range old {
		l := q.lane(name)
		l.lease, l.configured = was.lease, was.configured
		was.notify()
	}
}

// nextPos hands out a place at the end of all lines or before them. Only the committer calls it.
func (q *Queue) nextPos(front bool) uint64 {
	if front {
		q.head--
		return q.head
	}
	q.tail++
	return q.tail
}

// repair commits what load wants changed, before anything is lent.
func (q *Queue) repair(repairs []func(*batch) error) error {
	if len(repairs) == 0 {
		return nil
	}
	_, err := q.commit([]*op{{kind: once, apply: func(b *batch) error {
		for _, r := range repairs {
			if err := r(b); err != nil {
				return err
			}
		}
		return nil
	}}})
	return err
}
