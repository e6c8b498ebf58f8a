package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

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
		if l.configured || l.open() > 0 {
			all = append(all, l.state(now))
		}
	}
	slices.SortFunc(all, func(a, b StationState) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// state copies what people see of a lane. It needs Queue.mu.
func (l *lane) state(now time.Duration) StationState {
	s := StationState{
		Name: l.name, Pending: len(l.pending) - l.printing(), Held: len(l.held), Printing: l.printing(),
		Oldest: l.oldest(now), Books: l.books.clone(), Configured: l.configured,
	}
	if l.stationHold != nil {
		h := *l.stationHold
		s.Hold = &h
	}
	return s
}

// Held returns why a person has stopped a station; nil if it is not stopped.
func (q *Queue) Held(station string) *StationHold {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lanes[station]; l != nil && l.stationHold != nil {
		return new(*l.stationHold)
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
		d := l.books.imbalance(l.open())
		off += max(d, -d)
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
func (q *Queue) setHold(ctx context.Context, verb, station string, h *StationHold, seen []time.Time) error {
	if err := checkName("station", station); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	err := q.do(ctx, opOnce, smallOp, func(b *batch) error {
		b.blockLending(station) // from here on no ticket is lent
		r := b.station(station)
		if len(seen) > 0 && (r.Hold == nil || !r.Hold.Since.Equal(seen[0])) {
			return fmt.Errorf("%w: somebody has resumed it meanwhile: look at it again", ErrConflict)
		}
		r.Hold = h
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, station, err)
	}
	return nil
}
