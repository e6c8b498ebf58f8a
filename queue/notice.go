package queue

import (
	"context"
	"time"

	"ticketrail/queue/ticket"
)

// noticeOf is in a file that took the place of a damaged one, until the stations were told.
type noticeOf struct {
	Before time.Time `json:"before,omitzero"` // orders from before may be missing; zero: none are
}

var keyNotice = []byte("notice")

const restored = "The database was damaged. Tickets that are marked POSSIBLE DUPLICATE may have come out before: " +
	"look at the rail first."

// TellStations puts a slip in front of the tickets of stations if the file took the place of a damaged one: each
// station where something waits or, if orders may be missing, each. Call it before anything is taken. zone is for the
// time on it.
//
// The slips are one transaction with the end of the notice. A crash before its commit: the next start does it. After
// it: they print first.
func (q *Queue) TellStations(ctx context.Context, stations []string, zone string) error {
	return wrap(q.do(ctx, opOnce, copyOp*len(stations), func(b *batch) error {
		raw := b.bucket(bucketMeta).Get(keyNotice)
		if raw == nil {
			return nil
		}

		var n noticeOf
		if err := unsealJSON(raw, &n); err != nil {
			return q.foundDamage("what took the place of a file", err)
		}

		text := restored
		if !n.Before.IsZero() {
			text = "Orders before " + ticket.Clock(n.Before, zone) + " may be missing: check the till"
		}

		for _, station := range stations {
			if !n.Before.IsZero() || len(b.pendingOf(station)) > 0 {
				b.enqueueSlip(jobState{Station: station}, ticket.Ticket{
					Number: "NOTICE", Zone: zone, Notes: []string{text}, Received: b.wall.UTC(),
				}, true)
			}
		}

		b.del(b.bucket(bucketMeta), keyNotice)
		return nil
	}), "tell the stations that the database was damaged")
}
