package queue

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// An entry is an open job in memory: 48 bytes. After a bad evening fifty thousand jobs
// may wait, on a box with little memory.
type entry struct {
	pos        uint64
	job        uint64
	enqueued   int64 // running time when it was enqueued first, ns
	attempts   int   // without interrupted ones
	doubts     int
	fromDaemon bool // no request made it
	late       bool // see MarkLate
	held       bool
}

// A lane is the queue of one station: its open jobs, in order. Queue.mu guards it. It mirrors the file and is changed
// only after a commit, by the committer, but for lease, configured, lendingBlocked and changed, which are in memory
// alone.
type lane struct {
	name  string
	jobs  []entry // by position; the one that is lent stays among them
	lease *Lease
	stationRecord
	configured     bool
	lendingBlocked bool          // a transaction that may cancel or move a job is under way, see blockLending
	changed        chan struct{} // closed and replaced when there may be something to lend
}

func newLane(name string) *lane {
	return &lane{
		name: name, changed: make(chan struct{}),
		stationRecord: stationRecord{Books: Books{Outcomes: map[ticket.State]uint64{}}},
	}
}

// lanes are the lanes of all stations, by name.
type lanes map[string]*lane

// of returns the lane of a station, and creates it if there is none.
func (l lanes) of(station string) *lane {
	if l[station] == nil {
		l[station] = newLane(station)
	}
	return l[station]
}

// lane returns the lane of a station, and creates it if there is none. It needs Queue.mu.
func (q *Queue) lane(station string) *lane { return q.lanes.of(station) }

// notify wakes the callers of Take that wait for this lane. All of them wake and look again; there is one for each
// station, so that costs nothing. Adding or removing a job changes the books, so writeRecords has notify called after
// the commit.
func (l *lane) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// find returns the index of the job at a position, or where it would be.
func (l *lane) find(pos uint64) (int, bool) {
	return slices.BinarySearchFunc(l.jobs, pos, func(e entry, pos uint64) int { return cmp.Compare(e.pos, pos) })
}

// place adds an open job, or updates it from its state. A new one is nearly always the last one. Only slips, which go
// in front, are inserted elsewhere.
func (l *lane) place(job uint64, s *jobState) {
	placed := entry{
		pos: s.Pos, job: job, enqueued: s.Enqueued, attempts: s.Attempts, doubts: s.Doubts,
		fromDaemon: s.FromDaemon, late: s.Late, held: s.State == ticket.Held,
	}

	if at, known := l.find(s.Pos); known {
		l.jobs[at] = placed
	} else {
		l.jobs = slices.Insert(l.jobs, at, placed)
	}
}

// remove takes a job out of the lane. Nearly always it is among the first, and few are held in front of it: these are
// moved, and not all that wait behind it.
func (l *lane) remove(pos uint64) {
	if at, ok := l.find(pos); ok {
		copy(l.jobs[1:], l.jobs[:at])
		l.jobs = l.jobs[1:]
	}
}

// notHeld are the jobs that no person must decide about, in order, with the one that is lent.
func (l *lane) notHeld() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, e := range l.jobs {
			if !e.held && !yield(e) {
				return
			}
		}
	}
}

// printing is 1 while a job is lent, else 0. After a reopen the file may have the lease's settlement, although its
// caller has not been answered yet.
func (l *lane) printing() int {
	if l.lease != nil {
		if at, known := l.find(l.lease.pos); known && !l.jobs[at].held {
			return 1
		}
	}
	return 0
}

// head returns the job that Take may lend now. Whether a station may print now is decided here, and
// in lend while storage fails.
func (l *lane) head() (entry, bool) {
	if l.lease == nil && !l.lendingBlocked && l.Hold == nil {
		for e := range l.notHeld() {
			return e, true
		}
	}
	return entry{}, false
}

// clone copies the counters, so that a caller cannot change those in memory through the map.
func (b Books) clone() Books {
	copied := b
	copied.Outcomes = make(map[ticket.State]uint64)
	maps.Copy(copied.Outcomes, b.Outcomes)
	return copied
}

// SetStations says which stations are configured. A station that is not configured but has jobs is
// an orphan: no printer takes its jobs, and they wait until a person moves them. It is not stored:
// the configuration says it at each start.
func (q *Queue) SetStations(names []string) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for _, l := range q.lanes {
		l.configured = false
	}

	for _, n := range names {
		q.lane(n).configured = true
	}
}

// Stations returns the configured stations and the orphans, sorted by name.
func (q *Queue) Stations() []StationState {
	q.mu.Lock()
	defer q.mu.Unlock()

	now := q.clock.running() // under the lock, so that no job is younger
	var all []StationState
	for _, l := range q.lanes {
		if l.configured || len(l.jobs) > 0 {
			all = append(all, l.state(now))
		}
	}

	slices.SortFunc(all, func(a, b StationState) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// state copies a lane's state for people. It needs Queue.mu.
func (l *lane) state(now time.Duration) StationState {
	s := StationState{
		Name: l.name, Printing: l.printing(), Books: l.Books.clone(), Configured: l.configured,
		Hold: l.Hold, // which is replaced and never changed
	}

	waiting := 0
	for e := range l.notHeld() {
		waiting++
		s.Oldest = max(s.Oldest, now-time.Duration(e.enqueued)) // not always the head: moved jobs keep their age
	}
	s.Pending, s.Held = waiting-s.Printing, len(l.jobs)-waiting
	return s
}

// HoldOf returns why a person has stopped a station; nil if it is not stopped.
func (q *Queue) HoldOf(station string) *StationHold {
	q.mu.Lock()
	defer q.mu.Unlock()
	if lane := q.lanes[station]; lane != nil {
		return lane.Hold
	}
	return nil
}

// Unaccounted is by how many jobs the books do not balance, over all stations. Anything but 0 is a
// bug or a damaged file. The differences are added without their signs, or one station's lost
// ticket would hide another's doubled one.
func (q *Queue) Unaccounted() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()

	var off int64
	for _, l := range q.lanes {
		in, out := l.Books.Enqueued+l.Books.Reprinted+l.Books.MovedIn, uint64(len(l.jobs))+l.Books.MovedOut
		for _, n := range l.Books.Outcomes {
			out += n
		}
		off += max(int64(in-out), int64(out-in))
	}
	return off
}

// HoldStation stops lending a station's tickets until ResumeStation, also after restarts. The
// ticket that is printing is finished. To hold a held station replaces the reason. A crash before
// the commit: the station prints on. After it: it is held.
func (q *Queue) HoldStation(ctx context.Context, station, reason string) error {
	return q.setHold(ctx, "hold", station, &StationHold{Reason: reason, Since: q.clock.wall().UTC()}, nil)
}

// ResumeStation ends HoldStation. If since is given, it ends only a hold that began then, and the error is
// ErrConflict for any other.
func (q *Queue) ResumeStation(ctx context.Context, station string, since ...time.Time) error {
	return q.setHold(ctx, "resume", station, nil, since)
}

// setHold stores the hold of a station, or its end. The hold is written with the station's books,
// so it survives a restart: a station that a person stopped must not start to print by itself after
// a power cut.
func (q *Queue) setHold(ctx context.Context, verb, station string, h *StationHold, since []time.Time) error {
	if err := checkName("station", station); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}

	return wrap(q.do(ctx, opOnce, smallOp, func(b *batch) error {
		b.blockLending(station) // from here on no ticket is lent
		record := b.station(station)
		if len(since) > 0 && (record.Hold == nil || !record.Hold.Since.Equal(since[0])) {
			return fmt.Errorf("%w: somebody has resumed it meanwhile: look at it again", ErrConflict)
		}

		record.Hold = h
		return nil
	}), "%s %s", verb, station)
}
