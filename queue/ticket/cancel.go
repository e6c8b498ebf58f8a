package ticket

import (
	"fmt"
	"slices"
	"time"
)

// A Cancellation is a ticket that came later than another one and cancels something, or may: it has a
// void, or it is unreadable.
type Cancellation struct {
	Job     uint64
	Arrival uint64 // tickets that came in one request at one time have the same, later ones a higher one
	Station string // to which it was routed
	Ticket  Ticket
}

// Cancel returns t, which was routed to station, as a copy of it must print now: what later cancels in
// it is void. It also returns how many of its lines that concerned. later is in the order of arrival.
//
// A void of a dish that is still wanted costs a dinner as well. So only what is certain becomes void: it
// came under the same request, record and station, and can mean one line only. What else may concern a
// line that is not void is named in Later, for people to decide.
func Cancel(t Ticket, station string, later []Cancellation) (now Ticket, voided int) {
	if t.Kind != Order || t.Void {
		return t, 0
	}
	if t.Added {
		station = "" // a void of a dish may be of what was added, or of what was there before
	}
	v := newVoider(t.Lines)
	var unclear [][]Cancellation // by arrival
	for len(later) > 0 {
		n := 1
		for n < len(later) && later[n].Arrival == later[0].Arrival {
			n++
		}
		unclear = append(unclear, v.cancelArrival(&t, station, later[:n]))
		later = later[n:]
	}
	if t.Lines = v.lines; len(t.Lines) > 0 && v.voided > 0 {
		t.Void = !slices.ContainsFunc(t.Lines, func(l Line) bool { return !l.Void })
	}
	t.nameLater(station, unclear)
	return t, v.voided
}

// cancelArrival cancels what came in one request at one time. It returns what of that is not clear.
func (v *voider) cancelArrival(t *Ticket, station string, arrival []Cancellation) (unclear []Cancellation) {
	own := false
	for _, c := range arrival {
		switch {
		case !c.corrects(t, station):
			continue
		case len(c.Ticket.Lines) == 0:
			t.Void = true
			v.cancelAll()
		case !v.cancel(c.Ticket.Lines, c.Arrival):
			unclear = append(unclear, c)
		}
		own = true
	}
	if own { // what the correction for its station does not have does not concern it
		return unclear
	}
	return arrival // the lines are of other stations, unless the routes have changed since t came
}

// maxLater bounds what a service can make a reprint grow by.
const maxLater = 8

// nameLater adds to Later one ticket of each arrival that may cancel something in t.
func (t *Ticket) nameLater(station string, unclear [][]Cancellation) {
	if t.Void {
		return
	}
	live := map[string]bool{} // by dish: whether a line of it is not void
	for _, l := range t.Lines {
		live[l.dish()] = live[l.dish()] || !l.Void
	}
	for _, arrival := range unclear {
		c := concerning(t, station, arrival, live)
		switch {
		case c == nil:
			continue
		case len(t.Later) >= maxLater:
			t.Later = append(t.Later[:maxLater], "and more")
			return
		}
		if s := c.note(t, station); !slices.Contains(t.Later, s) { // t may be a copy that has it
			t.Later = append(t.Later, s)
		}
	}
}

// dish is the same for lines that may be the same dish. An item without a name has its JSON as its name,
// and that is another one when the item is void.
func (l *Line) dish() string {
	if l.Raw {
		return ""
	}
	return l.Name
}

// corrects says whether c is surely about t: it is the part for its station of a correction of its
// record, or a correction of the whole record.
func (c *Cancellation) corrects(t *Ticket, station string) bool {
	return c.Ticket.Kind == Correction && c.ofRecord(t) && (c.Station == station || len(c.Ticket.Lines) == 0)
}

// ofRecord says whether c is surely of the same record as t. The contract demands an id of the first record
// only, and does not say that the others differ from it. So two orders in one request may have the same.
func (c *Cancellation) ofRecord(t *Ticket) bool {
	return c.of(t) && t.Record != "" && c.Ticket.Record == t.Record &&
		(c.Ticket.Number == "" || t.Number == "" || c.Ticket.Number == t.Number)
}

// of says whether c came under the same request as t.
func (c *Cancellation) of(t *Ticket) bool {
	return c.Ticket.Venue == t.Venue && c.Ticket.Request == t.Request
}

// concerning returns a ticket of an arrival that may cancel something in t, that of its own station if
// there is one: of an item that goes to two stations, both have the void. It returns nil if there is none.
func concerning(t *Ticket, station string, arrival []Cancellation, live map[string]bool) (found *Cancellation) {
	for i := range arrival {
		c := &arrival[i]
		if c.mayMean(t, station, live) && (found == nil || c.Station == station && found.Station != station) {
			found = c
		}
	}
	return found
}

// Related says whether c may cancel something of the order that t belongs to: it cancels something, or
// nobody can read it, and it came under the same request; or it cancels something for an order of the same
// number.
func (c *Cancellation) Related(t *Ticket) bool {
	other := &c.Ticket
	if c.of(t) {
		return other.cancels() || other.Raw != ""
	}
	return other.Venue == t.Venue && t.Number != "" && NumberLabel(other.Number) == NumberLabel(t.Number) &&
		other.cancels()
}

// cancels says whether anything in t is void.
func (t *Ticket) cancels() bool {
	return t.Void || slices.ContainsFunc(t.Lines, func(l Line) bool { return l.Void })
}

// mayMean says whether c, which did not surely correct all of t, may cancel something in it: a line of a
// dish in t. If c is of t's record and station, what t does not have at all may be renamed.
func (c *Cancellation) mayMean(t *Ticket, station string, live map[string]bool) bool {
	other := &c.Ticket
	switch {
	case !c.Related(t):
		return false
	case c.of(t) && other.Record != "" && t.Record != "" && other.Record != t.Record:
		return false
	case len(other.Lines) == 0: // the whole order, or what nobody can read
		return true
	}
	own := c.corrects(t, station)
	return slices.ContainsFunc(other.Lines, func(x Line) bool {
		wanted, known := live[x.dish()]
		return x.Void && (wanted || own && !known)
	})
}

// note names c on a reprint of t, as people say it.
func (c *Cancellation) note(t *Ticket, station string) string {
	order, what, at := NumberLabel(t.Number), "VOID", ""
	if order == "" {
		order = "this order"
	}
	if c.Ticket.Raw != "" {
		what = "UNREADABLE"
	}
	if c.Station != station {
		at = " at " + c.Station
	}
	zone, err := time.LoadLocation(t.Zone)
	if err != nil {
		zone = time.UTC
	}
	return fmt.Sprintf("Later for %s: %s at %s (job %d%s)", order, what,
		c.Ticket.Received.In(zone).Format("15:04"), c.Job, at)
}
