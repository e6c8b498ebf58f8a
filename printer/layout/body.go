package layout

import (
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// body is what is to be cooked, or not to be.
type body struct {
	*composer
	t     *ticket.Ticket
	count Style // of an item's quantity
	name  Style // of an item
	under Style // of what is under it, one step smaller
	hang  int   // columns before an item's name: the widest quantity and a space
	multi bool  // the line before took several lines: the next item stands off a little

	course   string
	noRoute  bool
	refiring int // depth of the line whose REFIRE mark covers those below it; -1 for none
}

func (c *composer) body(t *ticket.Ticket) {
	b := &body{composer: c, t: t, course: c.text(t.Course), noRoute: unrouted(t.Lines), refiring: -1}
	b.measure()
	for i := range t.Lines {
		b.headings(&t.Lines[i], i)
		b.line(&t.Lines[i])
	}
	if t.Raw != "" {
		c.centred("the record as it came:", Style{Bold: true})
		c.flow(paragraph{mark: b.mark(t.Void, Style{}), text: c.text(t.Raw), style: voided(Style{}, t.Void), fill: t.Void})
	}
	if t.Kind == ticket.Test {
		c.test(t)
	}
}

// headings come where the course changes and where the routing rules failed.
func (b *body) headings(l *ticket.Line, i int) {
	before := len(b.lines)
	if l.NoRoute != b.noRoute {
		b.noRoute = l.NoRoute
		if l.NoRoute {
			b.heading(noRoute, "=")
		} else {
			b.rule("=")
		}
	}
	if l.Depth == 0 {
		course := b.text(l.Course)
		if course == "" {
			course = b.text(b.t.Course)
		}
		if course != b.course {
			if b.course = course; course != "" {
				b.heading(course, "-")
			} else if len(b.lines) == before {
				b.rule("-")
			}
		}
	}
	if l.Depth == 0 && i > 0 && len(b.lines) == before {
		b.apart()
	}
}

// apart is the room between two items.
func (b *body) apart() {
	n := min(max(b.BlankLines, 0), mostBlank)
	if b.t.Kind == ticket.Slip { // a list, not items
		n = 0
	}
	if b.multi {
		n = max(n, 1)
	}
	for range n {
		b.blank()
	}
}

// heading is a rule with words in it.
func (c *composer) heading(s, rule string) {
	st := Style{Bold: true}
	free := c.columns - Width(s) - 2
	if free < 4 {
		c.rule(rule)
		c.centred(s, st)
		return
	}
	c.add(Line{Spans: []Span{
		{Text: strings.Repeat(rule, free/2) + " ", Style: st},
		{Text: s, Style: st},
		{Text: " " + strings.Repeat(rule, free-free/2), Style: st},
	}})
}

func (b *body) line(l *ticket.Line) {
	start := len(b.lines)
	st := b.under
	switch {
	case l.Raw:
		st = Style{}
	case l.Depth == 0:
		st = b.name
	}
	if l.Void {
		st.Width = 0 // the mark needs the room
		if l.Depth == 0 {
			st.Height = max(st.Height, 2) // whatever size was asked for
		}
	}
	// A change to a dish is what is overlooked. On paper with two colours it is red; a
	// cancellation is too, and says so in words on each of its lines.
	st.Red = l.Depth > 0 && !l.Raw
	indent, marker := b.place(l)
	if l.Refire && !b.t.Refire && (b.refiring < 0 || l.Depth <= b.refiring) {
		b.refiring = l.Depth
		b.flow(paragraph{mark: b.mark(l.Void, st), indent: indent, text: refire,
			style: voided(Style{Bold: true, Height: st.Height}, l.Void), fill: l.Void})
	} else if !l.Refire && l.Depth <= b.refiring {
		b.refiring = -1
	}
	b.flow(paragraph{mark: b.mark(l.Void, st), indent: indent, label: b.label(l, marker, st),
		text: b.called(l), style: voided(st, l.Void), fill: l.Void})
	b.below(l, indent)
	b.multi = len(b.lines) > start+1 || l.Depth > 0
}

// place is how far in a line begins. From a third of the width on it goes no further
// in, and says how deep it is.
func (b *body) place(l *ticket.Line) (indent int, marker string) {
	if l.Depth <= 0 {
		return 0, ""
	}
	limit := b.columns / 3
	first := min(b.hang, max(5, limit/2+1)) // the first modifier stands below its item's name
	if l.Void || first == 0 {
		first = 2
	}
	if in := first + 2*(min(l.Depth, limit)-1); in <= limit {
		return in, ""
	}
	return limit, b.text("›"+strconv.Itoa(l.Depth)) + " "
}

// label is the quantity, which comes first and biggest. A modifier says its quantity
// where it is not one.
func (b *body) label(l *ticket.Line, marker string, st Style) []Span {
	q := times(b.text(l.Quantity))
	switch {
	case q == "" || q == "1x" && (l.Depth > 0 || b.t.Kind == ticket.Slip):
		return []Span{{Text: marker, Style: voided(st, l.Void)}}
	case l.Depth > 0 || l.Void: // beside VOID, a big quantity would be the first thing read
		return []Span{{Text: marker + q + " ", Style: voided(st, l.Void)}}
	}
	gap := Style{Height: st.Height}
	spans := []Span{{Text: q, Style: b.count}}
	if before := b.hang - 1 - b.count.wide()*Width(q); before > 0 { // digits stand below digits
		spans = []Span{{Text: spaces(before), Style: gap}, spans[0]}
	}
	return append(spans, Span{Text: " ", Style: gap})
}

// called is a name that is never nothing: a quantity alone would hang on the line below.
func (b *body) called(l *ticket.Line) string {
	s := b.loud(l.Name)
	if l.Raw {
		s = b.text(l.Name)
	}
	if s == "" {
		return "(no name)"
	}
	return s
}

// loud is text that tells a cook what to do, in capitals where the house likes that.
func (c *composer) loud(s string) string {
	if c.UpperCase {
		s = capitals(typed(s))
	}
	return c.text(s)
}

func times(q string) string {
	if q == "" {
		return ""
	}
	return q + "x"
}

// below is what belongs to a line and is no line of its own.
func (b *body) below(l *ticket.Line, indent int) {
	switch {
	case l.Depth > 0 || l.Void:
		indent += 2
	default:
		indent = b.hang
	}
	say := func(s string) {
		st := voided(Style{Bold: true}, l.Void)
		b.flow(paragraph{mark: b.mark(l.Void, st), indent: indent, text: s, style: st, fill: l.Void})
	}
	if s := b.loud(l.Of); s != "" {
		say("of " + s)
	}
	if s := b.text(l.Seat); s != "" {
		say(labelled("Seat", s))
	}
	if s := b.text(l.Course); l.Depth > 0 && s != "" && s != b.course {
		say(labelled("Course", s))
	}
	st := b.under
	if l.Depth == 0 {
		st.Height = max(st.Height, 2)
	}
	if l.Void {
		st.Width = 0
	}
	for _, n := range l.Notes {
		b.note(b.mark(l.Void, st), indent, n, voided(st, l.Void))
	}
}

// note prints what the guest asked for, with the line breaks the waiter typed.
func (c *composer) note(mark Span, indent int, note string, st Style) {
	label := "! "
	for s := range strings.FieldsFuncSeq(note, lineBreak) {
		s = c.loud(s)
		if s == "" {
			continue
		}
		c.flow(paragraph{mark: mark, indent: indent, label: []Span{{Text: label, Style: st}}, text: s, style: st, fill: st.Invert})
		label = spaces(len(label))
	}
}

func lineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
}

// mark is what a cancelled line begins with, on each of the lines it takes.
func (c *composer) mark(isVoid bool, like Style) Span {
	if !isVoid {
		return Span{}
	}
	s := void + " "
	if c.columns < 2*len(void) {
		s = "VOID "
	}
	return Span{Text: s, Style: Style{Bold: true, Invert: true, Red: true, Height: like.Height}}
}

func voided(st Style, isVoid bool) Style {
	if isVoid {
		st.Invert, st.Red = true, true
	}
	return st
}
