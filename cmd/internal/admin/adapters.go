package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// Of is the options of a server that answers from a queue. Kick ends the pause of a station's
// queue, so that the next ticket is tried now.
func Of(q *queue.Queue, kick func(station string)) Options {
	return Options{Jobs: q, Desk: q, Stations: stations{q, kick}, Tester: tester{q}}
}

// stations is the queue's stations with one addition: who resumes a station has just done
// something about it, so its queue need not sit out its pause.
type stations struct {
	*queue.Queue
	kick func(station string)
}

func (s stations) ResumeStation(ctx context.Context, station string) error {
	if err := s.Queue.ResumeStation(ctx, station); err != nil {
		return err
	}
	s.kick(station)
	return nil
}

// tester prints test tickets the way orders go: through the queue, so that a test that
// comes out has tried everything an order needs.
type tester struct{ queue *queue.Queue }

func (t tester) TestTicket(ctx context.Context, station string) (uint64, error) {
	id := uuid.NewString()
	now := time.Now().UTC()
	_, err := t.queue.Accept(ctx, ticket.Request{
		ID: id, Received: now, Body: []byte("{}"),
		Drafts: []ticket.Draft{{Station: station, Ticket: ticket.Ticket{
			// What a test shows is the layout's business.
			Kind: ticket.Test, Request: id, Number: "TEST", Received: now,
		}}},
	})
	if err != nil {
		return 0, err
	}
	jobs, err := t.queue.Jobs(ctx, queue.Filter{Request: id, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(jobs) == 0 {
		return 0, fmt.Errorf("find test ticket %s: it is gone", id)
	}
	return jobs[0].ID, nil
}
