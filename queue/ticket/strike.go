package ticket

import "slices"

// An Ordered is a ticket of an order, for [Strike].
type Ordered struct {
	Job     uint64
	Station string // to which it was routed
	Copy    bool   // it is a reprint: an earlier ticket has the same lines
	Ticket  *Ticket
}

// A StruckLine is a line of a ticket after what was cancelled later. Line has the quantity that is left,
// or of a line that is split off, the part of it that is cancelled.
type StruckLine struct {
	Line
	From  int    // the index of the line in the ticket
	Split bool   // it is split off the line From
	By    uint64 // the job of the ticket that cancelled it; 0 if none did
}

// How says how a cancellation found what it cancels.
type How string

const (
	ByRequest How = "request" // it came under the same request
	ByNumber  How = "number"  // by the number of the order and the names of its items
	ByTable   How = "table"   // by the table, of an order without a number
	ByReprint How = "reprint" // it is a reprint, and what it repeats was cancelled before
	Unmatched How = "unmatched"
)

// A Struck is what became of one ticket that cancels something.
type Struck struct {
	Job   uint64
	How   How
	Whole bool   // it cancels a whole record, and names no line
	Lines []Line // of depth 0, what it cancels
	Left  []Line // those of them that could not be matched
}

// maxStruck bounds the lines of an order that are compared, because boards do this while they change. Of a
// larger order only what is certain is struck.
const maxStruck = 250

// Strike returns the tickets of one order as they stand: each line with what later tickets of the order
// cancel of it. tickets are in the order in which they were accepted.
//
// What came under the same request and record is certain, as for [Cancel]. Any other cancellation is
// matched by the names of its lines with the tickets of its station, the latest first. Where that could
// mean two lines that differ, or is more than was ordered, nothing is struck: the result says that it did
// not match, for people to decide.
func Strike(tickets []Ordered) (lines [][]StruckLine, voids []Struck) {
	all := make([]*voider, len(tickets))
	count, arrival := 0, uint64(0)
	for i := range tickets {
		t := tickets[i].Ticket
		all[i] = newVoider(t.Lines)
		count += len(t.Lines)
		if !t.cancels() {
			continue
		}
		arrival++
		voids = append(voids, strike(tickets[:i], all[:i], &tickets[i], arrival, count <= maxStruck))
	}
	for _, v := range all {
		var out []StruckLine
		for i, l := range v.lines {
			out = append(out, StruckLine{Line: l, From: v.marks[i].from, Split: v.marks[i].split, By: v.marks[i].by})
		}
		lines = append(lines, out)
	}
	return lines, voids
}

// strike carries out one cancellation on the tickets before it.
func strike(tickets []Ordered, all []*voider, void *Ordered, arrival uint64, byName bool) Struck {
	c := Cancellation{Job: void.Job, Arrival: arrival, Station: void.Station, Ticket: *void.Ticket}
	s := Struck{Job: c.Job, How: Unmatched, Whole: len(c.Ticket.Lines) == 0}
	var blocks [][]Line
	for i := 0; i < len(c.Ticket.Lines); i = end(c.Ticket.Lines, i) {
		if c.Ticket.Lines[i].Void {
			blocks = append(blocks, c.Ticket.Lines[i:end(c.Ticket.Lines, i)])
			s.Lines = append(s.Lines, c.Ticket.Lines[i])
		}
	}
	left := slices.Repeat([]bool{true}, len(blocks))
	try := func(v *voider) (changed bool) {
		was := v.voided
		v.by = c.Job
		for i, done := range v.cancelAny(blocks, c.Arrival) {
			left[i] = left[i] && !done
		}
		return v.voided > was
	}
	var certain, mayMean, copies []int
	for i := range tickets {
		o := &tickets[i]
		switch {
		case o.Ticket.Kind != Order || o.Ticket.Void,
			c.Ticket.Kind == Correction && !c.of(o.Ticket): // of another guest, or an add-on that is still wanted
		case c.corrects(o.Ticket, o.Station):
			certain = append(certain, i)
		case o.Station != c.Station && !s.Whole:
		case o.Copy:
			copies = append(copies, i)
		default:
			mayMean = append(mayMean, i)
		}
	}
	switch {
	case void.Copy && slices.ContainsFunc(tickets, func(o Ordered) bool { return c.repeats(&o) }):
		s.How = ByReprint
		return s
	// What it repeats is not here. A copy of an order shows what is void of itself, which says nothing about
	// the other tickets; only a correction can mean them.
	case void.Copy && c.Ticket.Kind != Correction:
		s.Left = s.Lines
		return s
	case len(certain) > 0:
		added := func(i int) bool { return tickets[i].Ticket.Added }
		if !s.Whole && slices.ContainsFunc(certain, added) {
			// An order and what was added to it are one: a void is of one of them.
			inOne(all, slices.DeleteFunc(slices.Clone(certain), func(i int) bool { return tickets[i].Copy }), try)
			certain = slices.DeleteFunc(certain, func(i int) bool { return !tickets[i].Copy })
		}
		for _, i := range certain {
			if s.Whole {
				all[i].by = c.Job
				all[i].cancelAll()
			} else {
				try(all[i])
			}
		}
		s.How = ByRequest
	case s.Whole && len(mayMean)+len(copies) > 0:
		for _, i := range append(mayMean, copies...) {
			all[i].by = c.Job
			all[i].cancelAll()
		}
		s.How = c.how()
	case byName && len(blocks) > 0:
		matched := len(mayMean) > 0 && inOne(all, mayMean, try)
		for _, i := range copies { // each is the same food again, so it is struck as well
			matched = inOne(all, []int{i}, try) || matched
		}
		if matched {
			s.How = c.how()
		}
	}
	for i, l := range left {
		if l {
			s.Left = append(s.Left, s.Lines[i])
		}
	}
	if len(s.Left) == len(s.Lines) && !s.Whole {
		s.How = Unmatched
	}
	return s
}

// repeats says whether c, a reprint, has the lines of a ticket that came before it.
func (c *Cancellation) repeats(o *Ordered) bool {
	t := o.Ticket
	return c.of(t) && c.Station == o.Station && c.Ticket.Record == t.Record && c.Ticket.Kind == t.Kind &&
		c.Ticket.Received.Equal(t.Received)
}

// how says what a cancellation has in common with the tickets in which it found its lines.
func (c *Cancellation) how() How {
	switch {
	case c.Ticket.Kind == Correction:
		return ByRequest
	case c.Ticket.Number != "":
		return ByNumber
	}
	return ByTable
}

// cancelAny is cancel, and says of each block whether it was clear.
func (v *voider) cancelAny(blocks [][]Line, arrival uint64) []bool {
	done := make([]bool, len(blocks))
	known := len(v.seen)
	if v.cancel(slices.Concat(blocks...), arrival); len(v.seen) == known+len(blocks) {
		for i := range blocks {
			done[i] = v.seen[known+i].done
		}
	}
	return done
}

// inOne calls f with one voider for the lines of several tickets, the latest first, because equal dishes
// of two tickets are the same to a cook and the later one is the less likely to be ready.
func inOne(all []*voider, of []int, f func(*voider) bool) bool {
	var lines []Line
	var marks []origin
	for _, i := range slices.Backward(of) {
		lines = append(lines, all[i].lines...)
		for _, m := range all[i].marks {
			m.ticket = i
			marks = append(marks, m)
		}
	}
	one := newVoider(lines)
	one.marks = marks
	changed := f(one)
	for _, i := range of {
		all[i].lines, all[i].marks = nil, nil
	}
	for i, m := range one.marks {
		v := all[m.ticket]
		v.lines, v.marks = append(v.lines, one.lines[i]), append(v.marks, m)
	}
	return changed
}
