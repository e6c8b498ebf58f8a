package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ticketrail/queue/ticket"
)

// expireAtOnce bounds the lines of a slip. Each takes two lines of paper, so 500 are about four metres.
const expireAtOnce = 500

const (
	gatherQuiet = 2 * time.Second  // a relay's next order comes sooner, unless something is wrong
	gatherMost  = 10 * time.Second // a cook must be told soon, however many come
)

// AwaitOld returns at once unless all tickets that wait for the station are older than olderThan: it delays no order
// that is still wanted. Then it waits until no ticket has come for gatherQuiet, gatherMost at most: a box that was cut
// off gets its orders one after another, and a cook should get one slip and not one for each.
//
// It writes nothing: after a crash the tickets are there, as old as they are.
func (q *Queue) AwaitOld(ctx context.Context, station string, olderThan time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, gatherMost)
	defer cancel()

	for {
		_, all, changed := q.old(station, olderThan)
		if !all {
			return
		}

		select {
		case <-changed:
		case <-time.After(gatherQuiet):
			return
		case <-ctx.Done():
			return
		}
	}
}

// old says whether some tickets of a lane are too old, and whether all of them are, slips apart. Both are false while a
// slip is the first in the lane. changed is closed when they may have changed.
func (q *Queue) old(station string, olderThan time.Duration) (some, all bool, changed <-chan struct{}) {
	now := q.clock.running()
	q.mu.Lock()
	defer q.mu.Unlock()

	lane := q.lane(station)
	first := true
	all = true
	for e := range lane.notHeld() {
		if first && e.fromDaemon {
			return false, false, lane.changed
		}
		first = false

		old := e.tooOld(now, olderThan)
		some, all = some || old, all && (old || e.fromDaemon)
	}
	return some, some && all, lane.changed
}

// Expire removes tickets from a station's queue that have waited longer than olderThan of running time: they are too
// old to be cooked. One slip in front of the queue lists them, at most 500, so that a cook can ask. It does nothing
// while a slip waits in front: tickets that are too old are then listed on the next one. So a printer that is off for a
// night prints two slips, and none has changed after somebody has seen it. It returns how many tickets expired.
//
// A ticket and its line on the slip change in one transaction. A crash before its commit: nothing
// expired. After it: the slip prints first. So no ticket is lost silently, and none is both listed
// and printed.
func (q *Queue) Expire(ctx context.Context, station string, olderThan time.Duration) (int, error) {
	if some, _, _ := q.old(station, olderThan); !some { // nearly always; it costs no transaction
		return 0, nil
	}

	expired := 0
	err := q.do(ctx, opOnce, 64<<10, func(b *batch) error {
		expired = b.expire(station, olderThan)
		return nil
	})
	if err != nil {
		return 0, wrap(err, "expire tickets of %s", station)
	}
	return expired, nil
}

// tooOld is never true of a slip, because it is the last trace of the tickets it lists.
func (e entry) tooOld(now, olderThan time.Duration) bool {
	return !e.fromDaemon && now-time.Duration(e.enqueued) > olderThan
}

// expire expires up to expireAtOnce tickets, and returns how many. The ticket that is lent stays:
// it may be printing. A damaged one stays for Take.
func (b *batch) expire(station string, olderThan time.Duration) int {
	lent := b.blockLending(station)
	var lines []ticket.Line
	var first ticket.Ticket

	for _, e := range b.q.openOf(station) {
		if len(lines) == expireAtOnce {
			break
		}
		if e.held || e.job == lent || !e.tooOld(b.now, olderThan) {
			continue
		}

		state, err1 := b.state(e.job)
		old, err2 := ticketIn(b.tx, e.job)
		if errors.Join(err1, err2) != nil || state.State != ticket.Pending {
			continue // damaged, or finished by an earlier operation of this batch
		}

		if len(lines) == 0 {
			first = old // the slip takes its venue and time zone
		}
		lines = append(lines, slipLine(old, e.job, state.Doubts > 0))
		b.finish(e.job, state, ticket.Expired, fmt.Sprintf("it waited longer than %s", olderThan))
	}

	if len(lines) == 0 {
		return 0
	}

	b.enqueueSlip(jobState{Station: station}, ticket.Ticket{
		Kind: ticket.ExpiredList, Venue: first.Venue, VenueName: first.VenueName, Zone: first.Zone, Lines: lines,
		Received: b.wall.UTC(),
	}, true)
	return len(lines)
}
