package dispatch

import (
	"context"
	"time"

	"ticketrail/queue/ticket"
)

// A Queue lends out tickets. [From] makes one of a *queue.Queue.
type Queue interface {
	// Take lends the head of a station's line, at most one at a time. It blocks until there
	// is one and nobody holds the station, or ctx ends.
	Take(ctx context.Context, station string) (Lease, error)
	// Expire ends what has waited in the line for longer than olderThan and puts the slip
	// that lists it at the head. It returns how many tickets that were.
	Expire(ctx context.Context, station string, olderThan time.Duration) (int, error)
}

// A Lease is one ticket on loan. Exactly one of Ack, Retry, Return, Hold and Bury ends it.
// These keep trying while the storage fails and give up when ctx ends; the ticket is then as
// it was after Begin, or as if never taken, whichever happened last.
type Lease interface {
	Delivery() ticket.Delivery
	Waited() time.Duration           // since the ticket was accepted; never shrinks
	Begin(ctx context.Context) error // makes the doubt durable; once; after an error nothing may be printed

	Known(is bool) // before Begin: whether the station never brings a ticket out twice; see [Idempotent]
	Untouched()    // takes a Begin back: no ticket byte went out after all

	Ack(ctx context.Context, proof ticket.Proof, detail string) error // it went out
	Retry(ctx context.Context, reason string) error                   // it was an attempt; in doubt iff begun
	Return(ctx context.Context, reason string) error                  // it was no attempt; in doubt iff begun or before
	Hold(ctx context.Context, reason string) error                    // a person must say; the line goes on
	Bury(ctx context.Context, reason string) error                    // it cannot be delivered; the line goes on
}

// From makes a Queue of q, whose Take returns a lease type of its own.
func From[L Lease](q interface {
	Take(ctx context.Context, station string) (L, error)
	Expire(ctx context.Context, station string, olderThan time.Duration) (int, error)
}) Queue {
	return lender[L]{q.Take, q.Expire}
}

type lender[L Lease] struct {
	take   func(context.Context, string) (L, error)
	expire func(context.Context, string, time.Duration) (int, error)
}

func (l lender[L]) Take(ctx context.Context, station string) (Lease, error) {
	lease, err := l.take(ctx, station)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

func (l lender[L]) Expire(ctx context.Context, station string, olderThan time.Duration) (int, error) {
	return l.expire(ctx, station, olderThan)
}
