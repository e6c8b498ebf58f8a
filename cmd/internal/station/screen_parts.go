package station

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"ticketrail/config"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

// siblings tells a pass what becomes of the parts of its orders that its own boards do not have. It is asked
// of the queue each time, so it is also true after a restart.
func (d *screens) siblings(jobs []uint64) ([]board.Sibling, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
	defer cancel()
	all, err := d.s.o.Queue.Siblings(ctx, jobs)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	conf, boards := d.conf, maps.Clone(d.boards)
	d.mu.Unlock()
	out := make([]board.Sibling, 0, len(all))
	for _, s := range all {
		b := board.Sibling{
			Job: s.ID, Station: s.Routed, At: s.At, Kind: kindOf(conf, s.At), State: s.State, Ticket: s.Ticket,
		}
		if s.FinishedAt != nil {
			b.Ended = *s.FinishedAt
		}
		if on := boards[s.At]; on != nil && s.State == ticket.Shown {
			if b.Card, err = on.Card(s.ID); err != nil {
				return nil, err
			}
		}
		if s.Cut { // so that an order is not ready while nobody knows all of it
			b.State, b.Why = ticket.Held, "its request has too many tickets to follow"
		}
		out = append(out, b)
	}
	return out, nil
}

// kindOf says what a station is. One that is not configured any more counts as a printer: nothing can be
// expected of it but paper.
func kindOf(conf *config.Config, station string) board.SiblingKind {
	switch {
	case slices.ContainsFunc(conf.Screens, func(s config.Screen) bool { return s.Name == station }):
		return board.OnBoard
	case slices.ContainsFunc(conf.KDS, func(k config.KDS) bool { return k.Name == station }):
		return board.Display
	}
	return board.Paper
}

// stationTitle is a station as people call it: the title of a screen, the name of any other.
func (d *screens) stationTitle(station string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conf.Screens {
		if c.Name == station {
			return cmp.Or(c.Title, c.Name)
		}
	}
	return station
}
