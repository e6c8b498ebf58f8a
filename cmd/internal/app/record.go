package app

import (
	"context"
	"encoding/json"
	"log/slog"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// recordFrom returns a function that finds the record of a ticket as the service sent it: the queue
// stores the whole request. A third-party display with include_raw gets it beside our own ticket.
// It is read at each attempt and not kept in the ticket: the queue has the body already, and few
// displays want it. Without it, which is nil, the ticket is sent all the same.
func recordFrom(q *queue.Queue, log *slog.Logger) func(context.Context, ticket.Delivery) json.RawMessage {
	return func(ctx context.Context, d ticket.Delivery) json.RawMessage {
		_, _, body, err := q.Job(ctx, d.Job)
		var record json.RawMessage
		if err == nil {
			record, err = contract.RawRecord(body, d.Ticket.Record)
		}
		if err != nil {
			log.Debug("cannot read the original record; the ticket is sent without it", "job", d.Job, "err", err)
		}

		return record
	}
}
