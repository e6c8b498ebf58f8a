package layout

import (
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// body prints the lines of the order: what to cook, and what not to cook.
type body struct {
	*composer
	t             *ticket.Ticket
	quantityStyle Style // quantity of an item
	nameStyle     Style // name of an item
	modifierStyle Style // modifiers, notes and other details
	nameColumn    int   // columns before item names: the widest quantity and a space
	severalLines  bool  // the previous item took several lines, so a blank line follows it

	course      string // course of the item printed last
	noRoute     bool   // whether the line printed last had no route
	refireDepth int    // depth of the line whose REFIRE mark covers the lines below it; -1 if none
}

// body prints the lines of the order, the raw record if it could not be read, and the samples of a
// test ticket.
func (c *composer) body(t *ticket.Ticket) {
	b := &body{composer: c, t: t, course: c.text(t.Course), noRoute: allUnrouted(t.Lines), refireDepth: -1}
	b.chooseSizes()
	for i := range t.Lines {
		b.headings(&t.Lines[i], i)
		b.line(&t.Lines[i])
	}
	if t.Raw != "" {
		c.centred("the record as it came:", Style{Bold: true})
		c.flow(paragraph{mark: b.voidMark(t.Void, Style{}), text: c.text(t.Raw), style: voidStyle(Style{}, t.Void),
			fill: t.Void})
	}
	if t.Kind == ticket.Test {
		c.test(t)
	}
}

// headings prints a heading where the course changes, and where lines that no route matched begin and
// end. l is line number i of the ticket. A heading already separates two items, so a gap is added
// only without one.
func (b *body) headings(l *ticket.Line, i int) {
	before := len(b.lines)
	// If all lines are unrouted, a banner says so and noRoute is true from the start.
	if l.NoRoute != b.noRoute {
		b.noRoute = l.NoRoute
		if l.NoRoute {
			b.heading(noRoute, "=")
		} else {
			b.rule("=")
		}
	}
	if l.Depth == 0 {
		// An item without a course belongs to the ticket's.
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
		b.gap()
	}
}

// gap adds the blank lines between two items.
func (b *body) gap() {
	n := b.BlankLines
	if b.t.Kind == ticket.Slip { // a slip lists tickets, one a line; gaps would only waste paper
		n = 0
	}
	if b.severalLines {
		n = max(n, 1)
	}
	b.blanks(n)
}

// heading is a rule with words in its middle. If the words leave less than 4 columns for the rule,
// they get lines of their own.
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

// line prints one line of the order: an item or a modifier, with its details.
func (b *body) line(l *ticket.Line) {
	start := len(b.lines)
	st := b.modifierStyle
	switch {
	case l.Raw:
		st = Style{}
	case l.Depth == 0:
		st = b.nameStyle
	}
	// A modifier is what a cook overlooks, so it is red on paper with two colours. A cancellation
	// is red too, but also says VOID on each of its lines, so the two cannot be confused. A raw
	// line is not red: it shows data that could not be read, not a change to an item.
	st.Red = l.Depth > 0 && !l.Raw
	indent, marker := b.indentOf(l)
	// A REFIRE mark stands above an item and covers its modifiers. A ticket that is refired as a
	// whole has a banner instead.
	if l.Refire && !b.t.Refire && (b.refireDepth < 0 || l.Depth <= b.refireDepth) {
		b.refireDepth = l.Depth
		b.flow(paragraph{mark: b.mark(l, st), indent: indent, text: refire,
			style: voidStyle(Style{Bold: true, Height: st.Height}, l.Void), fill: l.Void})
	} else if !l.Refire && l.Depth <= b.refireDepth {
		b.refireDepth = -1
	}
	b.alarmIf(!l.Void && b.Alarms.Match(l.Name), func() {
		b.flow(paragraph{mark: b.mark(l, st), indent: indent, label: b.label(l, marker, st),
			text: b.itemName(l), style: voidStyle(st, l.Void), fill: l.Void})
	})
	b.details(l, indent)
	b.severalLines = len(b.lines) > start+1 || l.Depth > 0
}

// indentOf returns how many columns a line is indented, and a marker to print before it. The indent
// grows by 2 a level up to a third of the paper. Deeper lines stay there and carry their depth
// instead (›9), because narrow columns of single words are harder to read than a number.
func (b *body) indentOf(l *ticket.Line) (indent int, marker string) {
	if l.Depth <= 0 {
		return 0, ""
	}
	limit, first := b.columns/3, b.nameColumn // the first level begins below the item's name
	if first == 0 {
		first = 2
	}
	if in := first + 2*(min(l.Depth, limit)-1); in <= limit {
		return in, ""
	}
	return limit, b.text("›"+strconv.Itoa(l.Depth)) + " "
}

// label returns what is printed before a name: the quantity, which is the first thing read and the
// biggest. A modifier shows its quantity only if that is not one, because "1x No onion" reads like
// an item.
func (b *body) label(l *ticket.Line, marker string, st Style) []Span {
	q := quantityLabel(b.text(l.Quantity))
	switch {
	case q == "" || q == "1x" && (l.Depth > 0 || b.t.Kind == ticket.Slip):
		return []Span{{Text: marker, Style: voidStyle(st, l.Void)}}
	case l.Depth > 0:
		return []Span{{Text: marker + q + " ", Style: voidStyle(st, l.Void)}}
	}
	gap := voidStyle(Style{Height: st.Height}, l.Void)
	spans := []Span{{Text: q, Style: voidStyle(b.quantityStyle, l.Void)}}
	// right-align, so that digits stand below digits
	if before := b.nameColumn - 1 - b.quantityStyle.widthFactor()*Width(q); before > 0 {
		spans = []Span{{Text: spaces(before), Style: gap}, spans[0]}
	}
	return append(spans, Span{Text: " ", Style: gap})
}

// itemName returns the name to print, and "(no name)" if it is empty: a quantity with nothing
// beside it would seem to belong to the next line. A raw line is never put in capitals, because its
// bytes are needed to find the fault.
func (b *body) itemName(l *ticket.Line) string {
	s := b.cookText(l.Name)
	if l.Raw {
		s = b.text(l.Name)
	}
	if s == "" {
		return "(no name)"
	}
	return s
}

// cookText returns text that tells a cook what to do, in capitals if Options.UpperCase asks for
// that.
func (c *composer) cookText(s string) string {
	if c.UpperCase {
		s = upperCase(normalize(s))
	}
	return c.text(s)
}

// quantityLabel returns "2x"; an unknown quantity prints nothing rather than a guess.
func quantityLabel(q string) string {
	if q == "" {
		return ""
	}
	return q + "x"
}

// details prints what belongs to a line without being a line of the order: the item that a modifier
// is of, seat, course and notes, below the name.
func (b *body) details(l *ticket.Line, indent int) {
	if l.Depth > 0 {
		indent += 2
	} else {
		indent = b.nameColumn
	}
	st := voidStyle(b.modifierStyle, l.Void)
	mark := b.mark(l, st)
	say := func(s string) {
		b.flow(paragraph{mark: mark, indent: indent, text: s, style: st, fill: l.Void})
	}
	if s := b.text(l.Seat); s != "" {
		say(labelled("Seat", s))
	}
	if s := b.text(l.Course); l.Depth > 0 && s != "" && s != b.course {
		say(labelled("Course", s))
	}
	if l.Quantity == "0" { // in letters two lines high, 0x is read as a word
		b.note(mark, indent, "quantity 0", st)
	}
	if l.MayCancel != "" {
		b.flow(paragraph{mark: mark, indent: indent, text: b.text(ticket.Question(l.MayCancel)),
			style: voidStyle(Style{Bold: true, Height: st.Height}, true), fill: true})
	}
	for _, n := range l.Notes {
		b.alarmIf(!l.Void && b.Alarms.Match(n), func() { b.note(mark, indent, n, st) })
	}
}

// note prints what the guest asked for after "! ", and keeps the line breaks that the waiter typed.
func (c *composer) note(mark Span, indent int, note string, st Style) {
	label := "! "
	for s := range strings.FieldsFuncSeq(note, lineBreak) {
		s = c.cookText(s)
		if s == "" {
			continue
		}
		c.flow(paragraph{mark: mark, indent: indent, label: []Span{{Text: label, Style: st}}, text: s, style: st,
			fill: st.Invert})
		label = spaces(len(label))
	}
}

// lineBreak reports whether r ends a line of a note, however the waiter's terminal encodes that.
func lineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
}

// mark returns the mark of a line's text in style st. It is as wide as that of a name, so that names
// and details stay below each other.
func (b *body) mark(l *ticket.Line, st Style) Span {
	st.Width = b.nameStyle.Width
	return b.voidMark(l.Void, st)
}

// voidMark returns the mark that each printed line of a cancelled line begins with; empty if it is
// not cancelled. It is as high as the text beside it. Without white on black it is as wide, too: a
// big name beside a small mark would be read first. That and narrow paper need the short form, so
// that words of a live item's size fit beside it.
func (c *composer) voidMark(isVoid bool, like Style) Span {
	if !isVoid {
		return Span{}
	}
	st := Style{Bold: true, Invert: true, Red: true, Height: like.Height}
	const short = "VOID "
	if c.Framed {
		st.Width = min(like.widthFactor(), max(c.columns/3/len(short), 1))
	}
	if c.columns < 4*len(void) || st.Width > 1 {
		return Span{Text: short, Style: st}
	}
	return Span{Text: void + " ", Style: st}
}

// voidStyle adds the look of a cancelled line: white on black, and red for printers that cannot
// invert. A printer with neither still prints the word VOID.
func voidStyle(st Style, isVoid bool) Style {
	if isVoid {
		st.Invert, st.Red = true, true
	}
	return st
}
