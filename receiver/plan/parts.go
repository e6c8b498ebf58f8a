package plan

import (
	"cmp"
	"slices"

	"ticketrail/queue/ticket"
)

// noteParts sets AlsoAt of every ticket that has lines: at which other stations its order has lines
// too.
func (p *Plan) noteParts(drafts []ticket.Draft) {
	orders := map[string][]ticket.Part{}
	for i := range drafts {
		d, order := &drafts[i], drafts[i].Ticket.OrderInRequest()
		part := ticket.Part{Station: d.Station}
		if len(d.Ticket.Lines) > 0 && !slices.Contains(p.logs, d.Station) && !slices.Contains(orders[order], part) {
			orders[order] = append(orders[order], part)
		}
	}
	for _, parts := range orders {
		slices.SortStableFunc(parts, func(a, b ticket.Part) int {
			return cmp.Compare(p.rank(a.Station), p.rank(b.Station))
		})
	}
	for i := range drafts {
		d := &drafts[i]
		if len(d.Ticket.Lines) == 0 {
			continue
		}
		for _, part := range orders[d.Ticket.OrderInRequest()] {
			if part.Station != d.Station {
				d.Ticket.AlsoAt = append(d.Ticket.AlsoAt, part)
			}
		}
	}
}

// rank sorts stations as the routes name them. Those that no route names, such as the fallback of a
// venue, come last.
func (p *Plan) rank(station string) int {
	rank := 0
	for i := range p.routes {
		if at := slices.Index(p.routes[i].to, station); at >= 0 {
			return rank + at
		}
		rank += len(p.routes[i].to)
	}
	return rank
}
