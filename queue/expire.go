package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// expireAtOnce bounds the tickets of one transaction of Expire, and the lines of a slip. Each takes
// two lines of paper, so 500 are about four metres.
const expireAtOnce = 500

const (
	gatherQuiet = 2 * time.Second  // a relay's next order comes sooner, unless something is wrong
	gatherMost  = 10 * time.Second // a cook must be told soon, however many come
)

// GatherOld waits until a station's tickets that are older than olderThan are likely to be all that come now: a box
// that was cut off gets its orders one after another, and a cook should get one slip and not one for each. It waits
// only while all that waits there is too old, so it delays no order that is still wanted: that ends it.
//
// It writes nothing: after a crash the tickets are there, as old as they are.
func (q *Queue) GatherOld(ctx context.Context, station string, olderThan time.Duration) {
	most := time.After(gatherMost)
	for {
		only, changed := q.onlyOlder(station, olderThan)
		if !only {
			return
		}
		select {
		case <-changed:
		case <-time.After(gatherQuiet):
			return
		case <-most:
			return
		case <-ctx.Done():
			return
		}
	}
}

// onlyOlder says whether something too old waits in a lane and nothing else but slips does. changed is closed when that
// may have changed.
func (q *Queue) onlyOlder(station string, olderThan time.Duration) (only bool, changed <-chan struct{}) {
	now := q.clock.running()
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(station)
	for _, e := range l.pending {
		if !e.slip && !e.tooOld(now, olderThan) {
			return false, nil
		}
		only = only || !e.slip
	}
	return only, l.changed
}

// Expire removes tickets from a station's queue that have waited longer than olderThan of running
// time: they are too old to be cooked. One slip in front of the queue lists them, so that a cook can
// ask. A slip that still waits there is replaced by a longer one, up to 500 tickets. It returns how
// many tickets expired.
//
// A ticket and its line on the slip change in one transaction. A crash before its commit: nothing
// expired. After it: the slip prints first. So no ticket is lost silently, and none is both listed
// and printed.
func (q *Queue) Expire(ctx context.Context, station string, olderThan time.Duration) (int, error) {
	total := 0
	for {
		if !q.anyOlder(station, olderThan) { // nearly always; it costs no transaction
			return total, nil
		}
		var n int
		err := q.do(ctx, opOnce, 64<<10, func(b *batch) error {
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

// anyOlder says whether Expire has anything to do. It reads memory only.
func (q *Queue) anyOlder(station string, olderThan time.Duration) bool {
	now := q.clock.running()
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.lane(station).pending, func(e entry) bool { return e.tooOld(now, olderThan) })
}

// tooOld is never true of a slip, because it is the last trace of the tickets it lists.
func (e entry) tooOld(now, olderThan time.Duration) bool {
	return !e.slip && now-time.Duration(e.enqueued) > olderThan
}

// pendingOf copies the pending jobs of a lane. The caller must have called blockLending. Others may still
// change the lane in memory: only what blockLending promises holds, and the state is read again for each.
func (b *batch) pendingOf(station string) []entry {
	b.q.mu.Lock()
	defer b.q.mu.Unlock()
	return slices.Clone(b.q.lane(station).pending)
}

// expire expires up to expireAtOnce tickets, and returns how many. The ticket that is lent stays:
// it may be printing. A damaged one stays for Take.
func (b *batch) expire(station string, olderThan time.Duration) int {
	lent := b.blockLending(station)
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
			continue // damaged, or finished by an earlier operation of this batch
		}
		t, err := decodePayload(b.bucket(bucketJobs).Get(key64(e.job)))
		if err != nil {
			continue
		}
		if n == 0 {
			first = t // the slip takes its venue and time zone
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

// slip adds lines to the slip that waits in front of the queue, or enqueues a new one there.
func (b *batch) slip(station string, pending []entry, lent uint64, first ticket.Ticket, lines []ticket.Line) {
	s := jobState{Station: station, Enqueued: int64(b.now), Slip: true, Received: b.wall.UnixMilli()}
	t := ticket.Ticket{
		Kind: ticket.Slip, Venue: first.Venue, VenueName: first.VenueName, Zone: first.Zone,
		Received: b.wall.UTC(), Lines: lines,
	}
	old, oldState, extends := b.extensible(pending[0], lent, len(lines))
	if extends {
		s, t = oldState, old
		s.MadeFrom, s.Why = pending[0].job, ""
		t.Lines = append(slices.Clip(old.Lines), lines...)
	}
	// In front: what a cook must ask about comes before the orders that are still wanted.
	longer := b.enqueue(s, b.encodeTicket(t), true)
	if !extends {
		b.books(station).Enqueued++
		return
	}
	// The longer slip is a new job: a person who cancels the shorter one by its number has not seen
	// what was added. The shorter one gives up its lines, or long slips would be stored many times.
	b.books(station).MovedIn++
	b.finish(s.MadeFrom, oldState, ticket.Moved, fmt.Sprintf("extended as job %d", longer))
	old.Lines = nil
	b.put(b.bucket(bucketJobs), key64(s.MadeFrom), b.encodeTicket(old))
}

// extensible returns the slip e if so many lines can be added to it. A slip in doubt may have come
// out, and one that is reprinted has: a cook would not read the new lines. One that was on a screen
// (From) may be taken back. A slip that only failed cleanly was never on paper.
func (b *batch) extensible(e entry, lent uint64, lines int) (ticket.Ticket, jobState, bool) {
	if !e.slip || e.job == lent || e.doubts > 0 {
		return ticket.Ticket{}, jobState{}, false
	}
	t, err := decodePayload(b.bucket(bucketJobs).Get(key64(e.job)))
	s, bad := b.state(e.job)
	may := err == nil && bad == nil && t.Kind == ticket.Slip && s.State == ticket.Pending && !s.Reprint &&
		s.RescuedFrom == "" &&
		len(t.Lines)+lines <= expireAtOnce
	return t, s, may
}

// encodeTicket encodes a slip, a copy or a changed ticket. An error fails the batch: an expired ticket without its
// slip would be lost.
func (b *batch) encodeTicket(t ticket.Ticket) []byte {
	payload, err := ticket.Marshal(t)
	b.fail(err)
	return seal(payload)
}

// slipLine names an expired ticket as people call it: number, table, type, server. Without the note
// of a doubt, a cook would ask for a dish that is already on the pass.
func slipLine(t ticket.Ticket, job uint64, doubt bool) ticket.Line {
	var name []string
	for _, s := range []string{ticket.NumberLabel(t.Number), ticket.TableLabel(t.Table, t.Type), t.Type, t.Server} {
		if s != "" {
			name = append(name, s)
		}
	}
	if len(name) == 0 {
		name = append(name, fmt.Sprintf("job %d", job))
	}
	what := ticket.Plural(len(t.Lines), "line")
	if t.Changed != nil {
		what = "changed, " + what
	}
	notes := []string{fmt.Sprintf("%s, %s, id %s", ticket.Clock(t.Received, t.Zone), what, ticket.Short(t.Request))}
	if doubt {
		notes = append(notes, "a copy may have come out: check the rail")
	}
	return ticket.Line{Quantity: "1", Name: strings.Join(name, " · "), Notes: notes, Void: t.Void, Refire: t.Refire}
}
