package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// expireAtOnce bounds one transaction of Expire, and the lines of a slip.
const expireAtOnce = 500

// Expire takes tickets that have waited longer than olderThan of running time out of the
// station's line, and has one slip at its head list them; a slip that waits there already is
// replaced by a longer one, up to 500 tickets. A ticket and its place on the slip change in one
// transaction, so a crash can neither lose it silently nor list it and print it. It returns how
// many expired.
func (q *Queue) Expire(ctx context.Context, station string, olderThan time.Duration) (int, error) {
	total := 0
	for {
		n := 0
		if !q.anyOlder(station, olderThan) { // nothing to write, which is nearly always
			return total, nil
		}
		err := q.do(ctx, once, 64<<10, func(b *batch) error {
			n = b.expire(station, olderThan)
			return nil
		})
		if err != nil {
			return total, fmt.Errorf("expire tickets of %s: %w", station, err)
		}
		if total += n; n < expireAtOnce {
			return total, nil
		}
	}
}

func (q *Queue) anyOlder(station string, olderThan time.Duration) bool {
	now := q.clock.running()
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.lane(station).pending, func(e entry) bool { return e.tooOld(now, olderThan) })
}

// tooOld is never true of a slip: it is the last trace of what it lists.
func (e entry) tooOld(now, olderThan time.Duration) bool {
	return !e.slip && since(now, e.enqueued) > olderThan
}

// waiting copies what stands in a line. The caller must have frozen it.
func (b *batch) pendingOf(station string) []entry {
	b.q.mu.Lock()
	defer b.q.mu.Unlock()
	return slices.Clone(b.q.lane(station).pending)
}

func (b *batch) expire(station string, olderThan time.Duration) int {
	lent := b.pause(station)
	var lines []ticket.Line
	var first ticket.Ticket
	n := 0
	pending := b.pendingOf(station)
	for _, e := range pending {
		if n == expireAtOnce {
			break
		}
		if e.job == lent || !e.tooOld(b.now, olderThan) {
			continue
		}
		s, err := b.state(e.job)
		if err != nil || s.State != ticket.Pending {
			continue // Take finds the damage; what an earlier operation finished is finished
		}
		t, err := decodePayload(b.bucket(bucketJobs).Get(key64(e.job)))
		if err != nil {
			continue
		}
		if n == 0 {
			first = t
		}
		n++
		lines = append(lines, slipLine(t, e.job, s.Doubts > 0))
		b.finish(e.job, s, ticket.Expired, fmt.Sprintf("it waited longer than %s", olderThan))
	}
	if n > 0 {
		b.slip(station, pending, lent, first, lines)
	}
	return n
}

// slip puts lines on the slip at the head of the line, or on a new one there.
func (b *batch) slip(station string, pending []entry, lent uint64, first ticket.Ticket, lines []ticket.Line) {
	s := jobState{Station: station, Enqueued: int64(max(b.now, 0)), Slip: true, Received: b.wall.UnixMilli()}
	t := ticket.Ticket{
		Kind: ticket.Slip, Venue: first.Venue, VenueName: first.VenueName, Zone: first.Zone,
		Received: b.wall.UTC(), Lines: lines,
	}
	old, oldState, extends := b.extensible(pending[0], lent, len(lines))
	if extends {
		s, t = oldState, old
		s.Of, s.Why = pending[0].job, ""
		t.Lines = append(slices.Clip(old.Lines), lines...)
	}
	longer := b.enqueue(s, b.slipPayload(t), true)
	if !extends {
		b.books(station).Enqueued++
		return
	}
	// The longer slip is a new job: who saw the shorter one and cancels it by its number has not
	// seen what was added. Its lines are kept once; there may be many versions of a long slip.
	b.books(station).MovedIn++
	b.finish(s.Of, oldState, ticket.Moved, fmt.Sprintf("extended as job %d", longer))
	old.Lines = nil
	b.put(b.bucket(bucketJobs), key64(s.Of), b.slipPayload(old))
}

// extensible returns a slip to which so many lines can be added. One in doubt may be out
// already, and a reprint is known to be: what is added might not be read. One that was on a screen
// may be taken back. Clean failures left
// no trace anywhere.
func (b *batch) extensible(e entry, lent uint64, lines int) (ticket.Ticket, jobState, bool) {
	if !e.slip || e.job == lent || e.doubts > 0 {
		return ticket.Ticket{}, jobState{}, false
	}
	t, err := decodePayload(b.bucket(bucketJobs).Get(key64(e.job)))
	s, bad := b.state(e.job)
	may := err == nil && bad == nil && s.State == ticket.Pending && !s.Reprint && s.From == "" && len(t.Lines)+lines <= expireAtOnce
	return t, s, may
}

func (b *batch) slipPayload(t ticket.Ticket) []byte {
	payload, err := ticket.Marshal(t)
	b.fail(err)
	return seal(payload)
}

// slipLine says which ticket it was in the words people would call it by.
func slipLine(t ticket.Ticket, job uint64, doubt bool) ticket.Line {
	var name []string
	for _, s := range []string{ticket.NumberLabel(t.Number), ticket.TableLabel(t.Table), t.Type, t.Server} {
		if s != "" {
			name = append(name, s)
		}
	}
	if len(name) == 0 {
		name = append(name, fmt.Sprintf("job %d", job))
	}
	what := ticket.Plural(len(t.Lines), "line")
	if t.Kind == ticket.Correction {
		what = "correction, " + what
	}
	zone, err := time.LoadLocation(t.Zone)
	if err != nil {
		zone = time.UTC
	}
	notes := []string{fmt.Sprintf("%s, %s, id %s", t.Received.In(zone).Format("15:04"), what, ticket.Short(t.Request))}
	if doubt {
		notes = append(notes, "a copy may have come out: check the rail")
	}
	return ticket.Line{Quantity: "1", Name: strings.Join(name, " · "), Notes: notes, Void: t.Void, Refire: t.Refire}
}
