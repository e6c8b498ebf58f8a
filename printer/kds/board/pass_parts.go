package board

import (
	"context"
	"reflect"
	"slices"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// requestJobs are the jobs of the orders of one request, also from later requests of their checks.
type requestJobs struct {
	jobs  []uint64 // of the cards for which it was asked
	list  []Sibling
	asked time.Time // when it was asked last; zero: it was not
	final bool      // nothing in the list can change without a person or another ticket of the request
}

// partsInterval is the time between two questions about parts that can still change, and finalInterval
// about others: a person can reprint one, and the till can add one that only a printer gets.
const (
	partsInterval = time.Second
	finalInterval = 10 * time.Second
)

// requestKey names a request.
func requestKey(t *ticket.Ticket) string { return t.Venue + "\x00" + t.Request }

// trackParts keeps the parts of the requests that have an order, and notes which must be asked for. write is held.
func (x *Pass) trackParts(groups []*group) {
	if x.o.Siblings == nil {
		return
	}

	now := map[string]*requestJobs{}
	for _, g := range groups {
		for _, m := range g.members {
			if m.state != Open {
				continue
			}

			key := requestKey(m.t)
			known := now[key]
			if known == nil {
				if known = x.known[key]; known == nil {
					known = &requestJobs{}
				}
				now[key] = known
			}

			if !slices.Contains(known.jobs, m.rec.Job) {
				known.jobs = append(known.jobs, m.rec.Job)
				known.asked, known.final = time.Time{}, false
				select {
				case x.wake <- struct{}{}:
				default:
				}
			}
		}
	}

	x.known = now
}

// follow asks for the parts of open orders: at once when there is a new one, and then when they are due.
// It ends with ctx.
func (x *Pass) follow(ctx context.Context) {
	defer close(x.done)
	for {
		select {
		case <-x.wake:
		case <-time.After(partsInterval):
		case <-ctx.Done():
			return
		}
		x.ask()
	}
}

// ask asks the queue for the parts that are due, each request alone, so that one that cannot be read does
// not hide the others. It does so without write: the queue may be slow.
func (x *Pass) ask() {
	jobs := map[string][]uint64{}
	x.write.Lock()
	for key, p := range x.known {
		if time.Since(p.asked) >= partsInterval && (!p.final || time.Since(p.asked) >= finalInterval) {
			jobs[key] = slices.Clone(p.jobs)
		}
	}
	x.write.Unlock()

	lists := map[string][]Sibling{}
	for key, jobs := range jobs {
		list, err := x.o.Siblings(jobs)
		if err != nil {
			x.log.Warn("cannot read the parts of an order; trying again", "job", jobs[0], "err", err)
			continue
		}
		lists[key] = list
	}

	x.write.Lock()
	defer x.write.Unlock()

	changed := false
	for key, list := range lists {
		known := x.known[key]
		if known == nil || len(known.jobs) != len(jobs[key]) { // gone, or a card came since: asked again
			continue
		}
		changed = changed || known.asked.IsZero() || !reflect.DeepEqual(known.list, list)
		known.list, known.asked = list, time.Now()

		// The boards tell of their own cards.
		known.final = !slices.ContainsFunc(list, func(s Sibling) bool {
			return s.State.Open() || s.Card != nil && s.Card.State == Open && !slices.Contains(known.jobs, s.Job)
		})
	}

	if changed {
		x.publish()
	}
}

// addParts adds every station's part of an open order, and whether it is ready: every part that says so
// itself is done, and every other is ticked. An order is not ready before the queue was asked for its parts. If
// nothing of it is wanted, it is cancelled and not ready.
func (x *Pass) addParts(g *group, o *Order) {
	o.unknown, o.replaced = false, nil
	var list []Sibling
	asked := map[string]bool{}
	for _, m := range g.members {
		if key := requestKey(m.t); m.state == Open && !asked[key] && x.o.Siblings != nil {
			asked[key] = true
			o.unknown = o.unknown || x.known[key].asked.IsZero()
			list = append(list, x.known[key].list...)
		}
	}

	for _, m := range g.members {
		if m.state == Replaced && m.departure == 0 { // it was not sent out
			o.replaced = append(o.replaced, m.rec.Job)
		}
	}

	tickets := partTickets(g, o, list)
	netVoids(tickets)
	for _, c := range tickets {
		if part := o.part(c.station, x.o.Title); c.card != nil {
			x.addCard(part, c)
		} else {
			x.addJob(part, c)
		}
	}

	ready, wanted := !o.unknown, false
	for i := range o.Parts {
		part := &o.Parts[i]
		if part.State != PartTicked {
			part.TickedAt = 0
		}
		ready = ready && (part.State == PartDone || part.State == PartTicked || part.State == PartGone)
		wanted = wanted || part.State != PartGone
	}

	o.Ready, o.Cancelled = ready && wanted, ready && !wanted
}

// partTickets are the tickets of an order: those on the boards, and those that only the queue has.
func partTickets(g *group, o *Order, list []Sibling) (out []*partTicket) {
	ofCard := func(station string, k *Ticket, t *ticket.Ticket) {
		part := partTicket{station: station, job: k.Job, t: t, card: k}
		out = append(out, newPartTicket(part, k.Items, k.State == Bumped))
	}

	ofSibling := func(station string, s *Sibling) {
		if s.Card != nil {
			ofCard(station, s.Card, &s.Ticket)
			return
		}
		items := (&builder{look: &Look{}}).items(&member{entry: &entry{t: &s.Ticket}})
		part := partTicket{station: station, job: s.Job, t: &s.Ticket, sibling: s}
		out = append(out, newPartTicket(part, items, s.State == ticket.Cancelled))
	}

	for _, k := range o.Tickets {
		i := slices.IndexFunc(list, func(s Sibling) bool { return s.Job == k.Job })
		if k.State == Elsewhere && i >= 0 { // the queue knows its fate
			ofSibling(k.Station, &list[i])
			continue
		}
		at := slices.IndexFunc(g.members, func(at member) bool {
			return at.rec.Job == k.Job && layout.OneLine(at.rec.Station) == k.Station
		})
		ofCard(k.Station, &k, g.members[at].t)
	}

	for _, s := range list {
		known := slices.ContainsFunc(g.members, func(m member) bool { return m.rec.Job == s.Job }) ||
			slices.ContainsFunc(out, func(p *partTicket) bool { return p.job == s.Job })
		if !known && sameOrder(g, &s.Ticket) {
			ofSibling(layout.OneLine(s.Routed), &s)
		}
	}

	return out
}

// sameOrder says whether a ticket of the list belongs to the group: a request can have two orders.
func sameOrder(g *group, t *ticket.Ticket) bool {
	if g.check != "" && t.Check != "" {
		return ordinary(t) && g.check == t.Check
	}
	return ordinary(t) && !differ(g.number, number(t)) && g.wasAt(tableKey(t))
}

// part returns the part of that station, a new one if there is none.
func (o *Order) part(station string, title func(string) string) *Part {
	i := slices.IndexFunc(o.Parts, func(p Part) bool { return p.Station == station })
	if i < 0 {
		o.Parts = append(o.Parts, Part{Station: station, Title: title(station), Progress: Progress{State: PartGone}})
		i = len(o.Parts) - 1
	}
	return &o.Parts[i]
}

// addTo adds one ticket to a part. The part shows the progress of the ticket that needs most attention; of two equal
// ones, of the later one. A part that no station reports is as people at the pass have ticked it.
func (x *Pass) addTo(p *Part, job uint64, progress Progress, lines []PartLine) {
	if progress.State == PartOut || progress.State == PartExpired {
		p.byHand = append(p.byHand, job)
		if ticked := x.ticks[tickKey(p.Station, job)]; ticked != nil && !ticked.TakenBack {
			progress.State, p.TickedAt = PartTicked, max(p.TickedAt, ticked.At)
		}
	}

	// The last needs most attention.
	states := []PartState{PartGone, PartDone, PartTicked, PartOut, PartOpen, PartWait, PartExpired, PartHeld}
	if slices.Index(states, progress.State) >= slices.Index(states, p.State) {
		p.Progress = progress
	}

	p.Jobs = append(p.Jobs, job)
	p.Lines = append(p.Lines, lines...)
}

// addCard adds a card that a board has.
func (x *Pass) addCard(p *Part, c *partTicket) {
	shown := c.card
	_, left, _ := c.count()

	now := Progress{Kind: OnBoard, State: PartOpen, Told: toldOpen}
	switch {
	case c.nothingWanted(): // all of it is cancelled, so nothing is waited for
		now.State, now.Told = PartGone, toldVoided
	case shown.State == Bumped:
		now.State, now.Told, now.Clock = PartDone, toldBumped, shown.bumpedClock
	case shown.Paper != "": // its screen was dark, and it is not bumped
		now = Progress{Kind: Paper, State: PartOut, Told: toldDark, At: shown.Paper}
	default:
		p.Left += left
	}

	x.addTo(p, shown.Job, now, c.lines())
}

// addJob adds a job that is on no board of the pass. A ticket that was voided since is not waited for, wherever it is;
// but a ticket that voids something itself must come out.
//
//	dishes            it voids    result
//	all voided        no          gone; but if its request has more jobs, or its job is cancelled, by the state of
//	                              its job; once it came out, gone
//	none is wanted    yes         by the state of its job; once it came out, gone
//	some are wanted   yes or no   by the state of its job; once it came out, out
//	it has none       no          by the state of its job; once it came out, out
func (x *Pass) addJob(p *Part, c *partTicket) {
	job := c.sibling
	wanted, _, voided := c.count()
	cancels := mustAck(&job.Ticket)
	isWanted := wanted > 0 || voided == 0 && !cancels
	allVoided := wanted == 0 && voided > 0 && !cancels
	// Other jobs of the request may have more dishes; a cancelled job has a state of its own.
	if allVoided && !job.RequestHasMore && !c.isCancelled() {
		x.addTo(p, job.Job, Progress{Kind: job.Kind, State: PartGone, Told: toldVoided}, c.lines())
		return
	}

	now := Progress{Kind: job.Kind, State: PartOut, Told: string(job.State)}
	if job.At != job.Routed {
		now.At = layout.OneLine(job.At)
	}
	if !job.Ended.IsZero() {
		now.Clock = ticket.Clock(job.Ended, job.Ticket.Zone)
	}

	switch {
	case job.State == ticket.Held || job.State == ticket.Failed:
		now.State, now.Why = PartHeld, layout.OneLine(job.Why)
	case job.State.Open():
		now.State = PartWait
	case job.State == ticket.Expired, job.State == ticket.Moved: // the dishes may still be wanted
		now.State = PartExpired
	case job.State == ticket.Cancelled:
		now.State = PartGone
	case !isWanted: // nothing of it is made
		now.State, now.Void = PartGone, true
	}

	x.addTo(p, job.Job, now, c.lines())
}
