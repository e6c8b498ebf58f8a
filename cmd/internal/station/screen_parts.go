package station

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"ticketrail/config"
	"ticketrail/printer/kds/board"
	"ticketrail/printer/layout"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// siblings tells a pass the state of the parts of its orders that its own boards do not have. It is asked
// of the queue each time, so it is also true after a restart. Stations that the pass leaves out are no parts.
func (d *screens) siblings(jobs []uint64, leaveOut []string) ([]board.Sibling, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
	defer cancel()
	jobs, err := d.checks.withLater(ctx, d.s.o.Queue, jobs)
	if err != nil {
		return nil, err
	}

	all, err := d.s.o.Queue.Siblings(ctx, jobs)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	conf, boards := d.conf, maps.Clone(d.boards)
	d.mu.Unlock()
	out := make([]board.Sibling, 0, len(all))
	for _, s := range all {
		if slices.Contains(conf.LogNames(), s.Routed) || slices.Contains(leaveOut, s.Routed) {
			continue
		}
		sibling := board.Sibling{
			Job: s.ID, Routed: s.Routed, At: s.At, Kind: kindOf(conf, s.At), State: s.State, Ticket: s.Ticket,
			RequestHasMore: s.RequestHasMore,
		}

		if s.FinishedAt != nil {
			sibling.Ended = *s.FinishedAt
		}
		if on := boards[s.At]; on != nil && s.State == ticket.Shown {
			if sibling.Card, err = on.Card(s.ID); err != nil {
				return nil, err
			}
		}
		if s.RequestHasMore { // so that an order is not ready while parts of it are unknown
			sibling.State, sibling.Why = ticket.Held, "its request has too many tickets to follow"
		}
		out = append(out, sibling)
	}

	return out, nil
}

// A checkIndex finds the later tickets of a check, with another request. A pass learns of a ticket for a printer in no
// other way. It reads each ticket of the queue once.
type checkIndex struct {
	mu          sync.Mutex
	first, last uint64 // which jobs were read
	check       map[uint64]string
	jobs        map[string][]uint64 // by check, the oldest first
}

// maxIndexed limits how many jobs a checkIndex has; then it begins anew. It is days of a busy kitchen.
const maxIndexed = 10000

// withLater returns the jobs, and those that came after them for the same checks.
func (x *checkIndex) withLater(ctx context.Context, q *queue.Queue, jobs []uint64) ([]uint64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if oldest := slices.Min(jobs); x.first == 0 || oldest < x.first || len(x.check) > maxIndexed {
		x.first, x.last = oldest, oldest-1
		x.check, x.jobs = map[uint64]string{}, map[string][]uint64{}
	}

	var err error
	x.last, err = q.TicketsAfter(ctx, x.last, func(job uint64, t *ticket.Ticket) {
		if t.Check != "" {
			check := t.Venue + " " + t.Check
			x.check[job], x.jobs[check] = check, append(x.jobs[check], job)
		}
	})
	if err != nil {
		return nil, err
	}
	all := slices.Clone(jobs)
	for _, j := range jobs {
		for _, later := range x.jobs[x.check[j]] {
			if later > j {
				all = append(all, later)
			}
		}
	}

	slices.Sort(all)
	return slices.Compact(all), nil
}

// kindOf is the kind of a station. One that is not configured any more counts as a printer: nothing can be
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

// setLook tells the board or pass how its tickets are shown. The words of an allergy are the same as on paper.
func (s *screen) setLook(conf *config.Config) {
	alarms := layout.NewAlarms(conf.Ticket.Alarms)
	rules := conf.Display.Colours.Rules()
	var words []*layout.Alarms
	for _, r := range rules {
		words = append(words, layout.NewAlarms(r.Words))
	}

	look := board.Look{Alarms: alarms.Match, AckAlarm: s.conf.AckAlarms, Colour: func(modifier string) string {
		for i, r := range rules {
			if words[i].Match(modifier) {
				return r.Colour
			}
		}
		return ""
	}, Ahead: s.conf.LateAfter} // an order begun then is not late when it is wanted

	if s.pass != nil {
		s.pass.SetLook(look)
	} else {
		s.Board().SetLook(look)
	}
}
