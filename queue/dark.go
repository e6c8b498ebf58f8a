package queue

import (
	"context"

	"ticketrail/queue/ticket"
)

// PrintShown enqueues t, which lists the tickets of the dark screen from, at the end of station to, and puts values
// into the map kv of the screen's cards, which say that they are on paper.
//
// Both are one transaction. A crash before its commit changed nothing; after it, the ticket prints as any other. The
// error is as for [KV.Put]: after ErrStorageFailed either may be true, so the caller reads its
// cards again.
func (q *Queue) PrintShown(ctx context.Context, from, to string, t ticket.Ticket, kv *KV,
	values map[string][]byte) error {
	size := copyOp
	for key, value := range values {
		size += len(key) + len(value)
	}

	return wrap(q.do(ctx, opOnce, size, func(b *batch) error {
		if err := b.putAll(kv, values); err != nil {
			return err
		}

		b.enqueueSlip(jobState{
			Station: to, ShownOn: from, Why: "it was on the screen " + from + ", and no page of it is open",
		}, t, false)
		return nil
	}), "print what is on the screen %s", from)
}
