package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/vm"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A splitter is one Split under way.
type splitter struct {
	plan     *Plan
	venue    Venue
	fallback string
	names    Names
	base     ticket.Ticket
	res      Result

	machine  vm.VM
	env      map[string]any // what rules see; nil until one asks
	elements int            // of all lists in env
	record   int
	asked    []answer // by route
}

// An answer is what is remembered of a rule while one record is split, but for the work.
type answer struct {
	known bool // and holds for every item, for the rule looks at none
	yes   bool
	err   *ruleError
	work  int // elements of lists walked for this request, at most
}

func (p *Plan) split(req contract.PrintRequest, v Venue, device string, received time.Time, names Names, trace *Trace) Result {
	v.ID, _ = contract.CanonicalID(strings.TrimSpace(v.ID))
	received = received.UTC()
	if z, ok := names.(Zones); ok && v.Zone == "" {
		if zone, known := z.Zone(v.ID); known {
			v.Zone = zone
		}
	}
	s := &splitter{plan: p, venue: v, names: names, fallback: p.fallback}
	if v.Fallback != "" {
		s.fallback = v.Fallback
	}
	s.base = ticket.Ticket{
		Venue: v.ID, VenueName: v.Name, Zone: v.Zone,
		Device: device, Request: req.ID, Received: received,
	}
	s.res.Trace = trace
	s.res.Request = ticket.Request{
		Venue: v.ID, ID: req.ID, Device: device, Received: received,
		Body: req.Raw, Digest: Digest(req),
	}
	for i := range req.Records {
		s.split(i, &req.Records[i])
	}
	if len(s.res.Request.Drafts) == 0 { // no records: the contract refuses that, and still nothing is dropped
		t := s.base
		t.Raw = string(req.Raw)
		s.add(s.fallback, t)
	}
	if trace != nil {
		trace.Never = s.never(req)
	}
	return s.res
}

func (s *splitter) add(station string, t ticket.Ticket) {
	s.res.Request.Drafts = append(s.res.Request.Drafts, ticket.Draft{Station: station, Ticket: t})
}

// split plans one record.
func (s *splitter) split(index int, rec *contract.Record) {
	s.record, s.env = index, nil
	for i := range s.asked {
		s.asked[i] = answer{work: s.asked[i].work}
	}
	var tr *RecordTrace
	if s.res.Trace != nil {
		s.res.Trace.Records = append(s.res.Trace.Records, RecordTrace{Path: fmt.Sprintf("records[%d]", index), ID: rec.ID})
		tr = &s.res.Trace.Records[index]
	}
	if rec.Unreadable != "" {
		t := s.base
		t.Record, t.Raw = rec.ID, rec.Unreadable
		if tr != nil {
			tr.Unreadable = true
		}
		s.res.Request.Drafts = append(s.res.Request.Drafts, ticket.Draft{Station: s.fallback, Ticket: t, Unreadable: true})
		return
	}
	t := s.header(rec, tr)
	if len(rec.Items) == 0 && empty(t) {
		t.Raw = asJSON(rec.Fields)
	}
	if !t.Void {
		t.Notes = append(t.Notes, unread(rec.Fields, voidFlags[:], nil)...)
	}
	if len(rec.Items) == 0 {
		s.add(s.fallback, t)
		return
	}
	f := flattener{fields: &s.plan.fields, trace: tr}
	var drafts []stationLines
	for _, i := range s.order(rec.Items) {
		drafts = s.item(&f, rec, i, t, drafts)
	}
	for i := range drafts {
		out := t
		out.Lines = drafts[i].collect(f.lines)
		s.add(drafts[i].station, out)
	}
}

// item flattens one item and gives its lines to the stations that get it.
func (s *splitter) item(f *flattener, rec *contract.Record, i int, t ticket.Ticket, drafts []stationLines) []stationLines {
	at := ""
	if f.trace != nil {
		at = fmt.Sprintf("%s.items[%d]", f.trace.Path, i)
	}
	first := len(f.lines)
	place := f.add(rec.Items[i], 0, t.Void, t.Refire, at)
	lines := span{first, len(f.lines)}
	var it *ItemTrace
	if f.trace != nil {
		it = &f.trace.Items[place]
	}
	stations := s.stations(rec, i, it)
	routed := len(stations) > 0
	if !routed {
		stations = []string{s.fallback}
	}
	if it != nil {
		it.Stations, it.NoRoute = stations, !routed
	}
	for _, name := range stations {
		drafts = give(drafts, name, lines, routed)
	}
	return drafts
}

// stationLines is what one station gets of a record.
type stationLines struct {
	station          string
	routed, unrouted []span
}

// A span is the lines of one item and all below it.
type span struct{ from, to int }

func give(drafts []stationLines, station string, lines span, routed bool) []stationLines {
	i := slices.IndexFunc(drafts, func(d stationLines) bool { return d.station == station })
	if i < 0 {
		i = len(drafts)
		drafts = append(drafts, stationLines{station: station})
	}
	d := &drafts[i]
	if routed {
		d.routed = append(d.routed, lines)
	} else {
		d.unrouted = append(d.unrouted, lines)
	}
	return drafts
}

// collect copies the lines of a station's items, those that no rule wanted last and marked.
func (d *stationLines) collect(all []ticket.Line) []ticket.Line {
	var out []ticket.Line
	for _, s := range d.routed {
		out = append(out, all[s.from:s.to]...)
	}
	for _, s := range d.unrouted {
		for _, l := range all[s.from:s.to] {
			l.NoRoute = true
			out = append(out, l)
		}
	}
	return out
}

// order is the items' order on the ticket: by sort key, and what is equal as received. An
// item without a key belongs with the item before it and stays behind it; before the
// first key, items without one stay in front.
func (s *splitter) order(items []map[string]any) []int {
	order, keys := make([]int, len(items)), make([]float64, len(items))
	last := math.Inf(-1)
	for i := range items {
		if n, ok := (reader{fields: &s.plan.fields, obj: items[i]}).number(fieldSort); ok {
			last = n.float()
		}
		order[i], keys[i] = i, last
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	return order
}

// stations asks the routes who gets an item. Empty: nobody wants it.
func (s *splitter) stations(rec *contract.Record, item int, it *ItemTrace) (out []string) {
	done := false
	for i := range s.plan.routes {
		r := &s.plan.routes[i]
		outcome, msg := NotAsked, ""
		switch {
		case done:
		case !r.serves(s.venue):
			outcome = OtherVenue
		default:
			outcome, msg = s.ask(i, r, rec, item)
		}
		if it != nil {
			it.Routes = append(it.Routes, RouteTrace{Route: r.path, Outcome: outcome, Error: msg})
		} else if done {
			break
		}
		if outcome != Took {
			continue
		}
		for _, name := range r.to {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		done = !r.forward
	}
	return out
}

func (r *route) serves(v Venue) bool {
	return r.venue == "" || r.venue == v.ID || v.Name != "" && strings.EqualFold(r.venue, v.Name)
}

// ask puts one item to one route.
func (s *splitter) ask(i int, r *route, rec *contract.Record, item int) (Outcome, string) {
	if r.rule == nil {
		return Took, ""
	}
	if s.asked == nil {
		s.asked = make([]answer, len(s.plan.routes))
	}
	a := &s.asked[i]
	if !a.known {
		a.known = !r.rule.perItem
		s.show(rec, item)
		if a.work += s.elements; r.rule.walks && r.rule.perItem && a.work > maxWalk {
			a.yes, a.err = false, &ruleError{"1:1", wrongSize}
		} else {
			a.yes, a.err = r.rule.ask(&s.machine, s.env)
		}
	}
	switch {
	case a.err != nil:
		s.res.Failed++
		if len(s.res.Failures) < maxFailures {
			s.res.Failures = append(s.res.Failures, fmt.Sprintf("%s.when: records[%d].items[%d]: %s", r.path, s.record, item, a.err.loggable()))
		}
		if s.res.Trace == nil {
			return Failed, ""
		}
		return Failed, a.err.Error()
	case a.yes:
		return Took, ""
	}
	return NoMatch, ""
}
