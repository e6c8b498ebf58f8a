package app

import (
	"context"
	"encoding/json"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// recordFrom returns a function that finds the record of a ticket as the service sent it: the queue
// stores the whole request. A third-party display with include_raw gets it beside our own ticket.
// It is read at each attempt and not kept in the ticket: the queue has the body already, and few
// displays want it.
func recordFrom(q *queue.Queue) func(context.Context, ticket.Delivery) (json.RawMessage, error) {
	return func(ctx context.Context, d ticket.Delivery) (json.RawMessage, error) {
		_, _, body, err := q.Job(ctx, d.Job)
		if err != nil {
			return nil, err
		}
		return contract.RawRecord(body, d.Ticket.Record)
	}
}
