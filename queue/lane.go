package queue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// An entry is all that is in memory of an open job: fifty thousand of them must not
// matter to a small box.
type entry struct {
	pos      uint64
	job      uint64
	enqueued int64 // running time, ns
	attempts int   // that ended
	doubts   int
	slip     bool
}

// entry is what is in memory of a job.
func (s *jobState) entry(job uint64) entry {
	return entry{pos: s.Pos, job: job, enqueued: s.Enqueued, attempts: s.Attempts, doubts: s.Doubts, slip: s.Slip}
}

// A line is one station's: what waits for it, in order. Queue.mu guards it. It mirrors
// the file and is changed by the committer after a commit; only lease is its own.
type lane struct {
	name       string
	pending    []entry // by position; the one that is lent stays in its place
	held       map[uint64]entry
	lease      *Lease
	hold       *Hold
	books      Books
	configured bool
	paused     bool          // a transaction that changes the line is under way
	changed    chan struct{} // closed when there may be something to take
}

func newLane(name string) *lane {
	return &lane{name: name, held: map[uint64]entry{}, changed: make(chan struct{}), books: Books{Outcomes: map[ticket.State]uint64{}}}
}

// line returns a station's line, which exists as soon as it is asked for. It needs Queue.mu.
func (q *Queue) lane(name string) *lane {
	l := q.lanes[name]
	if l == nil {
		l = newLane(name)
		q.lanes[name] = l
	}
	return l
}

// stir wakes whoever waits in Take.
func (l *lane) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *lane) find(pos uint64) (int, bool) {
	return slices.BinarySearchFunc(l.pending, pos, func(e entry, pos uint64) int { return cmp.Compare(e.pos, pos) })
}

func (l *lane) add(e entry) {
	if n := len(l.pending); n == 0 || l.pending[n-1].pos < e.pos {
		l.pending = append(l.pending, e)
	} else {
		i, _ := l.find(e.pos)
		l.pending = slices.Insert(l.pending, i, e)
	}
	l.notify()
}

func (l *lane) remove(pos uint64) {
	delete(l.held, pos)
	if i, ok := l.find(pos); ok {
		l.removeAt(i)
	}
	l.notify()
}

func (l *lane) removeAt(i int) {
	if i == 0 { // the usual case; moving fifty thousand entries up one by one is not
		l.pending = l.pending[1:]
		return
	}
	l.pending = slices.Delete(l.pending, i, i+1)
}

// update replaces an entry in its place.
func (l *lane) update(e entry) {
	if i, ok := l.find(e.pos); ok {
		l.pending[i] = e
	}
	l.notify()
}

// park takes an entry out of the way of the others, for a person.
func (l *lane) holdEntry(e entry) {
	if i, ok := l.find(e.pos); ok {
		l.removeAt(i)
	}
	l.held[e.pos] = e
	l.notify()
}

func (l *lane) printing() int {
	if l.lease == nil {
		return 0
	}
	if _, ok := l.find(l.lease.pos); !ok {
		return 0 // settled on disk before a reopening; only the lease's end is missing
	}
	return 1
}

func (l *lane) open() int { return len(l.pending) + len(l.held) }

// head returns what Take may lend now.
func (l *lane) head() (entry, bool) {
	if l.lease != nil || l.paused || l.hold != nil || len(l.pending) == 0 {
		return entry{}, false
	}
	return l.pending[0], true
}

func (l *lane) oldest(now time.Duration) time.Duration {
	if len(l.pending) == 0 {
		return 0
	}
	first := l.pending[0].enqueued
	for _, e := range l.pending {
		first = min(first, e.enqueued)
	}
	return max(0, now-time.Duration(first))
}

func (b Books) clone() Books {
	c := b
	c.Outcomes = make(map[ticket.State]uint64, len(b.Outcomes)+1)
	maps.Copy(c.Outcomes, b.Outcomes)
	return c
}

// off says by how much the books do not balance with so many open jobs.
func (b Books) imbalance(open int) int64 {
	in := int64(b.Enqueued + b.Reprinted + b.MovedIn)
	out := int64(open) + int64(b.MovedOut)
	for _, n := range b.Outcomes {
		out += int64(n)
	}
	return in - out
}
