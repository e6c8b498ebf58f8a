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

// Splitting a record takes three steps. Its header is read first, because a void or a refire of the record holds for
// all items. Then each item, with everything nested below it, becomes a run of lines in one flat list, and the routes
// name its stations. At the end each station's ticket copies its runs from that list. An item is read once, however
// many stations get it, so its copies cannot differ.

// A splitter is the state of one call of Split. It is used by one goroutine and makes one request.
type splitter struct {
	plan     *Plan
	venue    Venue
	fallback string
	names    Names
	envelope contract.Value
	marks    []mark        // of each value of the envelope
	hits     []hit         // of the newest reader
	base     ticket.Ticket // the common part of all tickets of the request: venue, device, time
	lines    []ticket.Line // of the record
	res      Result
	trace    *tracer // nil: none is wanted

	machine   vm.VM              // reused by all expressions, which saves most of their allocations
	env       map[string]any     // the record as expressions see it; nil until one needs it
	envItem   int                // the index of the item in env
	loopSteps int                // upper bound for one looping expression, up to this record; see maxLoopSteps
	record    int                // index of the record
	results   []expressionResult // by route; of the record
}

// An expressionResult is the last result of an expression.
type expressionResult struct {
	forRecord bool // it holds for every item of the record, because the expression does not read item
	matched   bool
	err       *expressionError
}

func (p *Plan) newSplitter(req contract.PrintRequest) *splitter {
	s := &splitter{plan: p, envelope: req.Envelope, marks: make([]mark, len(req.Envelope)),
		lines: make([]ticket.Line, 0, 8), hits: make([]hit, 0, 16)} // enough for most orders
	if len(p.silenced) > 0 {
		s.silence(req.Envelope, nil)
	}
	return s
}

// Split plans a request: it reads the fields, puts nested items into lines and sends every item to its stations. The
// records are planned in the order received; a station's tickets print in that order. names may be nil.
func (p *Plan) Split(req contract.PrintRequest, v Venue, device string, received time.Time, names Names) Result {
	// The venue's id is half of the key by which a retry is recognised, so it has one spelling.
	v.ID, _ = contract.CanonicalID(strings.TrimSpace(v.ID))
	// The box's own zone may be wrong or change.
	received = received.UTC() // the tickets carry their zone by name

	if names != nil && v.Zone == "" {
		if zone, known := names.Zone(v.ID); known {
			v.Zone = zone
		}
	}

	splitter := p.newSplitter(req)
	splitter.venue, splitter.names, splitter.fallback = v, names, cmp.Or(v.Fallback, p.fallback)
	if p.isTraced {
		splitter.trace = &tracer{}
	}

	splitter.base = ticket.Ticket{
		Venue: v.ID, VenueName: v.Name, Zone: v.Zone,
		Device: device, Request: req.ID, Received: received,
	}
	splitter.res.Request = ticket.Request{
		Venue: v.ID, ID: req.ID, Device: device, Received: received,
		Body: req.Raw, Content: req.Content,
	}

	splitter.splitRecords(req)
	p.nameStations(splitter.res.Request.Drafts)

	if trace := splitter.trace; trace != nil {
		trace.missing(p.routes, v, req)
		splitter.res.Trace = trace.text.String()
	}
	return splitter.res
}

func (s *splitter) splitRecords(req contract.PrintRequest) {
	ofEnvelope := s.envelopeRemainder()
	s.base.MayCancel = ofEnvelope.takeCancelling() // it may cancel each of the records
	for i := range req.Records {
		s.splitRecord(i, &req.Records[i], ofEnvelope)
		ofEnvelope = remainder{} // the first record printed it
	}
}

func (s *splitter) add(station string, t ticket.Ticket) {
	s.res.Request.Drafts = append(s.res.Request.Drafts, ticket.Draft{Station: station, Ticket: t})
}

// splitRecord plans one record. The remainder of the envelope prints in its header too.
func (s *splitter) splitRecord(index int, rec *contract.Record, ofEnvelope remainder) {
	s.record, s.env, s.lines = index, nil, s.lines[:0]
	clear(s.results)

	if rec.Unreadable != "" {
		// The body cannot be read as an order: a key occurs twice, a limit is exceeded, or all is text. A person reads
		// it.
		whole := s.base
		// It prints at the fallback, because routes could read the wrong one of two values.
		whole.Record, whole.Raw = rec.ID, rec.Unreadable
		if rec.Why != "" {
			whole.Banners = []string{rec.Why}
		}

		ofEnvelope.withLists().addTo(&whole.Notes, &whole.Unread, &whole.More, maxRecordRemainder)
		s.add(s.fallback, whole)
		return
	}

	header, rest := s.header(rec)
	rest.fields = append(ofEnvelope.fields, rest.fields...)
	rest.lists = append(ofEnvelope.lists, rest.lists...)
	rest.hasList = rest.hasList || ofEnvelope.hasList
	header.MayCancel = strings.Trim(header.MayCancel+", "+rest.takeCancelling(), ", ")

	if len(rec.Items) == 0 {
		s.splitEmpty(rec, header, rest, ofEnvelope)
		return
	}

	header.Notes = append(header.Notes, s.receiptAllergies(rec.Fields)...)
	rest.addTo(&header.Notes, &header.Unread, &header.More, maxRecordRemainder)

	stations := s.splitItems(rec, header)
	for _, list := range rest.lists {
		// Elements of such a list are no items, so no route sees them: each station of the record gets them.
		from := len(s.lines)
		s.addList(list, 0, ticket.Line{Void: header.Void, Refire: header.Refire, Hold: header.Hold})
		for i := range stations {
			stations[i].lines = append(stations[i].lines, s.lines[from:]...)
		}
	}

	for i := range stations {
		out := header
		out.Lines = append(stations[i].lines, stations[i].noRoute...)
		s.add(stations[i].station, out)
	}
}

// splitEmpty plans a record without items: a message to the kitchen, or a void of the whole check. No route can match
// it, because expressions are evaluated for items. If it or the envelope has a list that no path reads, the items may
// be there, so the record prints as JSON and a person reads all of it.
func (s *splitter) splitEmpty(rec *contract.Record, t ticket.Ticket, rest, ofEnvelope remainder) {
	texts := s.instructionTexts(rec.Fields.Get(keyInstructions), func(string) bool { return true })
	switch {
	case rest.hasList || emptyHeader(t) && len(texts) == 0:
		t.Raw = rec.Fields.JSON() // without the envelope, whose rest follows
		ofEnvelope.withLists().addTo(&t.Notes, &t.Unread, &t.More, maxRecordRemainder)
	default:
		t.Notes = append(t.Notes, texts...)
		rest.addTo(&t.Notes, &t.Unread, &t.More, maxRecordRemainder)
	}

	s.add(s.fallback, t)
}

// splitItems reads the items of a record and sends each to its stations.
//
// Only the item itself is routed. Its modifiers go where it goes: "no onion" is worth nothing at
// another station than the burger.
func (s *splitter) splitItems(rec *contract.Record, t ticket.Ticket) (all []stationLines) {
	runs, last := make([]run, len(rec.Items)), math.Inf(-1)
	for i, item := range rec.Items {
		from := len(s.lines)
		if key, ok := s.addItem(item, 0, ticket.Line{Void: t.Void, Refire: t.Refire, Hold: t.Hold}); ok {
			last = key.float()
		}
		runs[i] = run{item: i, key: last, from: from, to: len(s.lines)}
	}

	// Items with equal keys stay as received. An item without a key stays behind the item it followed, because it
	// often belongs to it. Items before the first key stay in front. The sort is stable for the same reason.
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(a.key, b.key) })

	for _, r := range runs {
		stations, routed := s.stations(rec, r.item)
		if !routed && !slices.Contains(stations, s.fallback) {
			// So that an item that no route matches still reaches a cook.
			stations = append(stations, s.fallback)
		}

		if s.trace != nil {
			s.trace.item(s.record, r.item, s.lines[r.from].Name, stations, routed)
		}
		for _, name := range stations {
			all = s.addLines(all, name, r, routed)
		}
	}
	return all
}

// A run is an item with its lines and the lines of everything nested below it: from ≤ index < to.
type run struct {
	item     int // its index
	key      float64
	from, to int
}

// A stationLines has the lines of a record that one station gets.
type stationLines struct {
	station string
	lines   []ticket.Line
	// noRoute are the items that no route matched. They come last and are marked, so that they cannot be mistaken for
	// this station's usual dishes.
	noRoute []ticket.Line
}

// addLines adds the lines of an item to a station. Stations keep the order in which they first got an item. There are
// few, so a list is enough. The lines are copied, because NoRoute is a matter of this ticket only.
func (s *splitter) addLines(all []stationLines, station string, item run, routed bool) []stationLines {
	at := slices.IndexFunc(all, func(own stationLines) bool { return own.station == station })
	if at < 0 {
		at = len(all)
		all = append(all, stationLines{station: station})
	}

	own, lines := &all[at], s.lines[item.from:item.to]
	if routed {
		own.lines = append(slices.Grow(own.lines, len(lines)), lines...)
		return all
	}

	for _, line := range lines {
		line.NoRoute = true
		own.noRoute = append(own.noRoute, line)
	}
	return all
}

// stations returns the stations that the routes choose for an item. routed is false if no route matches it, or
// only some with Continue to logs, which have no cook.
//
// With Continue, two routes may name the same station. It gets the item once: twice on paper is cooked twice.
func (s *splitter) stations(rec *contract.Record, item int) (out []string, routed bool) {
	done := false
	for i := range s.plan.routes {
		route := &s.plan.routes[i]
		outcome, matched, err := "no match", false, (*expressionError)(nil)
		switch {
		case done:
			outcome = "not reached" // an earlier route matched the item
		case !route.serves(s.venue):
			outcome = "for another venue"
		default:
			if matched, err = s.match(i, route, rec, item); matched {
				outcome = "matched"
			}
		}
		if s.trace != nil {
			s.trace.route(route, outcome, err)
		}

		if !matched {
			continue
		}

		for _, name := range route.to {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
			routed = routed || !slices.Contains(s.plan.logs, name)
		}
		done = !route.continues
	}
	return out, routed || done // a route without continue decides, even if it names only logs
}

// serves says whether the route is for that venue. Names are compared in any case, as people write
// them in the configuration.
func (r *route) serves(v Venue) bool {
	return r.venue == "" || r.venue == v.ID || strings.EqualFold(r.venue, v.Name)
}

// match says whether a route matches an item, and the error if its expression failed. A route whose expression fails
// does not match: the next route is tried, and in the end the fallback gets the item.
//
// A result that does not depend on the item is kept for the record. Together with maxLoopSteps this bounds the
// cost of a hostile request: with n items, an expression that loops over record.items would otherwise take n × n steps.
func (s *splitter) match(i int, r *route, rec *contract.Record, item int) (bool, *expressionError) {
	if r.when == nil {
		return true, nil
	}

	if s.results == nil {
		s.results = make([]expressionResult, len(s.plan.routes))
	}
	result := &s.results[i]
	if !result.forRecord {
		result.forRecord = !r.when.perItem
		s.setEnv(rec, item)
		if r.when.loops && r.when.perItem && s.loopSteps > maxLoopSteps {
			// Before the loop runs, because a running expression cannot be interrupted.
			result.matched, result.err = false, &expressionError{"1:1", tooManySteps}
		} else {
			result.matched, result.err = r.when.eval(&s.machine, s.env)
		}
	}

	if result.err != nil {
		// Counted for each item, also when the result was kept: the operator sees how many items are concerned.
		s.res.FailureCount++
		if s.res.Failure == "" {
			s.res.Failure = fmt.Sprintf("%s.when: records[%d].items[%d]: failed at %s", r.path, s.record, item,
				result.err.at) // the message may name a guest; ticketrail inspect has it
		}
	}
	return result.matched, result.err
}

// A textSet is different texts in the order in which they came. A hostile list has a hundred thousand.
type textSet struct {
	texts []string
	has   map[string]bool
}

func (t *textSet) add(s string) {
	if !t.has[s] {
		if t.has == nil {
			t.has = map[string]bool{}
		}
		t.has[s] = true
		t.texts = append(t.texts, s)
	}
}
