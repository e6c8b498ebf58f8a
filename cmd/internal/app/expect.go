package app

import (
	"context"

	"ticketrail/queue/ticket"
)

// intake is the queue as the receiver sees it. While it writes a request down, the printers that
// will get its tickets at once are connected and asked how they are: the ticket need not wait for
// that. Where others are before it, or a person holds the line, there is no hurry.
type intake struct{ a *App }

func (i intake) Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	if now := i.a.live.Load(); now != nil {
		for _, d := range r.Drafts {
			if i.a.queue.Idle(d.Station) {
				now.expect(d.Station)
			}
		}
	}
	return i.a.queue.Accept(ctx, r)
}

func (r *rules) expect(station string) {
	if s := r.stations[station]; s != nil && s.device.network {
		s.device.Expect()
	}
}
