package board

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// parts are what the queue knows of one request.
type parts struct {
	jobs  []uint64 // of the cards for which it was asked
	list  []Sibling
	asked bool
	final bool // nothing in the list can change without a person
}

// partsInterval is the time between two questions about parts that can still change.
const partsInterval = time.Second

// requestKey names a request.
func requestKey(t *ticket.Ticket) string { return t.Venue + "\x00" + t.Request }

// forgetParts drops what is known of requests that no order has, and notes which must be asked for. write is
// held.
func (x *Pass) forgetParts(groups []*group) {
	if x.o.Siblings == nil {
		return
	}
	now := map[string]*parts{}
	for _, g := range groups {
		for _, m := range g.members {
			if m.state != Open {
				continue
			}
			key := requestKey(m.t)
			p := now[key]
			if p == nil {
				if p = x.known[key]; p == nil {
					p = &parts{}
				}
				now[key] = p
			}
			if !slices.Contains(p.jobs, m.rec.Job) {
				p.jobs = append(p.jobs, m.rec.Job)
				p.final = false
				select {
				case x.wake <- struct{}{}:
				default:
				}
			}
		}
	}
	x.known = now
}

// follow asks for the parts of open orders: at once when there is a new one, and once a second while one of
// them can change. It ends with ctx.
func (x *Pass) follow(ctx context.Context) {
	defer close(x.done)
	for {
		var again <-chan time.Time
		if x.open() {
			again = time.After(partsInterval)
		}
		select {
		case <-x.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
		x.ask()
	}
}

// open says whether a part of an order can change.
func (x *Pass) open() bool {
	x.write.Lock()
	defer x.write.Unlock()
	for _, p := range x.known {
		if !p.final {
			return true
		}
	}
	return false
}

// ask asks the queue for the parts that can change, each request alone, so that one that cannot be read does
// not hide the others. It does so without write: the queue may be slow.
func (x *Pass) ask() {
	jobs := map[string][]uint64{}
	x.write.Lock()
	for key, p := range x.known {
		if !p.final {
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
	for key, list := range lists {
		p := x.known[key]
		if p == nil || len(p.jobs) != len(jobs[key]) { // gone, or a card came meanwhile: asked again
			continue
		}
		p.list, p.asked = list, true
		p.final = !slices.ContainsFunc(list, Sibling.canChange)
	}
	x.publish()
}

// addParts says what every station has of an open order, and whether it is ready: every part that says so
// itself is done, and every other is ticked. As long as the queue was not asked, it is not; nor is an order of
// which nothing is wanted any more.
func (x *Pass) addParts(g *group, o *Order) {
	ready, wanted := true, false
	var list []Sibling
	asked := map[string]bool{}
	for _, m := range g.members {
		if key := requestKey(m.t); m.state == Open && !asked[key] && x.o.Siblings != nil {
			asked[key] = true
			ready = ready && x.known[key].asked
			list = append(list, x.known[key].list...)
		}
	}
	for _, k := range o.Tickets {
		i := slices.IndexFunc(list, func(s Sibling) bool { return s.Job == k.Job })
		switch {
		case !slices.Contains(o.refs, Ref{k.Station, k.Job}): // what a void struck after it was sent out
		case k.State == Elsewhere && i >= 0: // the queue knows what became of it
			o.part(k.Station, x.o.Title).addJob(&list[i])
		default:
			o.part(k.Station, x.o.Title).addCard(&k)
		}
	}
	for _, s := range list {
		onBoard := slices.ContainsFunc(g.members, func(m member) bool { return m.rec.Job == s.Job })
		if !onBoard && sameOrder(g, &s.Ticket) {
			o.part(layout.OneLine(s.Station), x.o.Title).addJob(&s)
		}
	}
	for i := range o.Parts {
		p := &o.Parts[i]
		x.judge(p)
		ready = ready && (p.State == PartDone || p.State == PartMade || p.State == PartGone)
		wanted = wanted || p.State != PartGone
	}
	o.Ready = ready && wanted
}

// sameOrder says whether a ticket of the same request belongs to the group: a request can have two orders.
func sameOrder(g *group, t *ticket.Ticket) bool {
	return ordinary(t) && !differ(g.number, number(t)) && !differ(g.table, tableKey(t))
}

// part returns the part of that station, a new one if there is none.
func (o *Order) part(station string, title func(string) string) *Part {
	i := slices.IndexFunc(o.Parts, func(p Part) bool { return p.Station == station })
	if i < 0 {
		o.Parts = append(o.Parts, Part{Station: station, Title: title(station), State: PartGone})
		i = len(o.Parts) - 1
	}
	return &o.Parts[i]
}

// worse returns the state of a part that has two, the one that needs more attention.
func worse(a, b PartState) PartState {
	order := []PartState{PartGone, PartDone, PartMade, PartOut, PartOpen, PartWait, PartHeld}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// take adds one ticket to a part. text is shown if no other ticket of the part is worse.
func (p *Part) take(job uint64, kind SiblingKind, state PartState, text, clock string, lines []string) {
	if p.State != state && worse(p.State, state) == state || p.Text == "" {
		p.Kind, p.State, p.Text, p.Clock = kind, state, text, clock
	}
	p.Jobs = append(p.Jobs, job)
	p.Lines = append(p.Lines, lines...)
}

// addCard adds a card that a board of the pass has.
func (p *Part) addCard(k *Ticket) {
	var lines []string
	live, left := false, 0
	for _, it := range k.Items {
		if it.Depth != 0 || it.Void {
			continue
		}
		live = true
		lines = append(lines, it.Quantity+" "+it.Name)
		if !it.Done {
			left++
		}
	}
	switch {
	case k.State == Bumped:
		p.take(k.Job, OnBoard, PartDone, "done "+k.bumpedClock, k.bumpedClock, lines)
	case !live && len(k.Items) > 0: // all of it is cancelled, so nothing is waited for
		p.take(k.Job, OnBoard, PartGone, "cancelled", "", lines)
	case k.Paper != "": // its screen was dark, and nobody has bumped it
		p.take(k.Job, Paper, PartOut, "on paper at "+k.Paper+", its screen was dark", "", lines)
	default:
		p.Left += left
		p.take(k.Job, OnBoard, PartOpen, fmt.Sprintf("%d left", p.Left), "", lines)
		p.Text = fmt.Sprintf("%d left", p.Left)
	}
}

// canChange says whether more is to be expected of a job.
func (s Sibling) canChange() bool {
	return s.State.Open() || s.State == ticket.Failed || s.Card != nil && s.Card.State == Open
}

// addJob adds a job that is on no board of the pass.
func (p *Part) addJob(s *Sibling) {
	if s.Card != nil {
		p.addCard(s.Card)
		return
	}
	var lines []string
	for _, l := range s.Ticket.Lines {
		if l.Depth == 0 && !l.Void {
			lines = append(lines, lineText(&l))
		}
	}
	at, clock := "", ""
	if s.At != "" && s.At != s.Station {
		at = " at " + layout.OneLine(s.At)
	}
	if !s.Ended.IsZero() {
		clock = clockText(s.Ended, s.Ticket.Zone)
	}
	state, text := PartOut, ""
	switch {
	case s.State == ticket.Held || s.State == ticket.Failed:
		state, text = PartHeld, "HELD"
		if s.State == ticket.Failed {
			text = "FAILED"
		}
		text += at + " – call somebody"
		if s.Why != "" {
			text += ": " + layout.OneLine(s.Why)
		}
	case s.State.Open():
		state, text = PartWait, "waiting to print"+at
		if s.State == ticket.Printing {
			text = "coming out" + at
		}
	case s.State == ticket.Cancelled:
		state, text = PartGone, "cancelled"
	case s.State == ticket.Expired, s.State == ticket.Moved: // what was ordered may still be wanted
		text = string(s.State) + " " + clock + ", did not come out" + at + ": ask them"
	case s.State == ticket.Taken:
		text = "taken" + at + " " + clock + ", cannot know when it is made"
	case s.State == ticket.Shown:
		text = "shown" + at + " " + clock + ", not followed here"
	default:
		text = "on paper" + at + ", " + string(s.State) + " " + clock + ", cannot know when it is made"
	}
	// A cancellation is not made. A ticket without lines may be one that nobody could read.
	if t := &s.Ticket; len(lines) == 0 && (t.Void || len(t.Lines) > 0) && state != PartHeld {
		state, text = PartGone, "cancelled"
	}
	p.take(s.Job, s.Kind, state, text, clock, lines)
}

// judge completes a part when all its tickets are known.
func (x *Pass) judge(p *Part) {
	p.Says = p.Kind == OnBoard && (p.State == PartOpen || p.State == PartDone)
	if p.State == PartOut {
		ticked := int64(0)
		for _, job := range p.Jobs {
			k := x.ticks[tickKey(p.Station, job)]
			if k == nil || k.Off {
				ticked = 0
				break
			}
			ticked = max(ticked, k.At)
		}
		if p.TickedAt = ticked; ticked != 0 {
			p.State = PartMade
		}
	}
	p.Text = strings.TrimSpace(p.Title + ": " + p.Text)
}
