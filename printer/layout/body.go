package layout

import (
	"strings"

	"ticketrail/queue/ticket"
)

// body prints the lines of the order: dishes to cook, and voids.
type body struct {
	*composer
	t             *ticket.Ticket
	quantityStyle Style // quantity of an item
	nameStyle     Style // name of an item
	modifierStyle Style // modifiers, notes and other details
	nameColumn    int   // columns before item names: the widest quantity and a space
	severalLines  bool  // the previous item took several lines, so a blank line follows it

	course, seat string // of the item printed last
	noRoute      bool   // whether the line printed last had no route
	refireDepth  int    // depth of the line whose REFIRE mark covers the lines below it; -1 if none
}

// body prints the lines of the order, the raw record if it could not be read, and the samples of a
// test ticket.
func (c *composer) body(t *ticket.Ticket) {
	b := &body{composer: c, t: t, course: c.text(t.Course), noRoute: t.AllUnrouted(), refireDepth: -1}
	b.chooseSizes()

	for next := 0; next < len(t.Lines); {
		end := next + 1
		for end < len(t.Lines) && t.Lines[end].Depth > 0 && t.Lines[end].Void == t.Lines[next].Void {
			end++
		}

		b.headings(&t.Lines[next], next)
		lines := func() {
			for ; next < end; next++ {
				b.line(&t.Lines[next])
			}
		}
		if t.Lines[next].Void {
			b.framed(lines)
		} else {
			lines()
		}
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

	// If all lines are unrouted, the head says so, and b.noRoute is true from the start.
	if l.NoRoute != b.noRoute {
		b.noRoute = l.NoRoute
		if l.NoRoute {
			b.banner(noRoute)
		} else {
			b.rule("=")
		}
	}

	if l.Depth == 0 {
		b.groupHeadings(l, before)
	}
	if l.Depth == 0 && i > 0 && len(b.lines) == before {
		b.gap()
	}
}

// groupHeadings prints a bar where the course changes and a heading where the seat does, so that neither stands
// beside each item. A rule ends a group whose next item has no course or no seat. before is how many lines there
// were before the headings of l.
func (b *body) groupHeadings(l *ticket.Line, before int) {
	// An item without a course belongs to the ticket's.

	course, seat := b.text(l.Course), b.text(l.Seat)
	if course == "" {
		course = b.text(b.t.Course)
	}

	was := b.course
	if b.course = course; course != was {
		b.seat = ""
		if course != "" {
			b.banner(course)
		}
	}

	if seat != b.seat && seat != "" {
		b.ruled(labelled("Seat", seat), "-", Style{Bold: true, Height: 2})
	}

	if (course != was || seat != b.seat) && len(b.lines) == before {
		b.rule("-")
	}
	b.seat = seat
}

// gap adds the blank lines between two items.
func (b *body) gap() {
	if b.frameEnd == len(b.lines) { // the edge of a frame separates two items
		return
	}

	blank := b.BlankLines
	if b.t.Kind == ticket.ExpiredList { // a slip lists tickets, one a line; gaps would only waste paper
		blank = 0
	}
	if b.severalLines {
		blank = max(blank, 1)
	}

	b.blanks(blank)
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

	indent, marker := b.indentOf(l)
	// A REFIRE bar stands above an item and covers its modifiers. A ticket that is refired as a
	// whole has a banner instead, and a cancelled dish is not made again.

	if l.Refire && !b.t.Refire && !l.Void && (b.refireDepth < 0 || l.Depth <= b.refireDepth) {
		b.refireDepth = l.Depth
		b.banner(refire)
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
// grows by 2 a level up to a third of the paper. Deeper lines stay there and have a › for each further level, at most
// two: narrow columns of single words are harder to read, and a number would be taken for a quantity.
func (b *body) indentOf(l *ticket.Line) (indent int, marker string) {
	if l.Depth <= 0 {
		return 0, ""
	}

	limit := b.columns / 3
	first := min(b.nameColumn+2, limit) // two columns behind the beginning of the item's name
	deepest := 1 + (limit-first)/2
	if l.Depth <= deepest {
		return first + 2*(l.Depth-1), ""
	}
	return limit, b.text(strings.Repeat("›", min(l.Depth-deepest, 2))) + " "
}

// label returns the text before a name: the quantity, which is the first thing read and the
// biggest. A modifier shows its quantity only if that is not one, because "1x No onion" reads like
// an item.
func (b *body) label(l *ticket.Line, marker string, st Style) []Span {
	quantity := quantityLabel(b.text(l.Quantity))

	switch {
	case quantity == "" || quantity == "1x" && (l.Depth > 0 || b.t.Kind == ticket.ExpiredList):
		return []Span{{Text: marker, Style: voidStyle(st, l.Void)}}
	case l.Depth > 0:
		return []Span{{Text: marker + quantity + " ", Style: voidStyle(st, l.Void)}}
	}

	gap := voidStyle(Style{Height: st.Height}, l.Void)
	spans := []Span{{Text: quantity, Style: voidStyle(b.quantityStyle, l.Void)}}
	// right-align, so that digits stand below digits
	if before := b.nameColumn - 1 - b.quantityStyle.widthFactor()*Width(quantity); before > 0 {
		spans = []Span{{Text: spaces(before), Style: gap}, spans[0]}
	}

	return append(spans, Span{Text: " ", Style: gap})
}

// itemName returns the name to print, and "(no name)" if it is empty: a quantity with nothing
// beside it would seem to belong to the next line. A raw line is never put in capitals, because its
// bytes are needed to find the fault.
func (b *body) itemName(l *ticket.Line) string {
	name := b.cookText(l.Name)
	if l.Raw {
		name = b.text(l.Name)
	}

	if name == "" {
		return "(no name)"
	}
	return name
}

// quantityLabel returns "2x"; an unknown quantity prints nothing rather than a guess.
func quantityLabel(q string) string {
	if q == "" {
		return ""
	}
	return q + "x"
}

// details prints the texts that belong to a line: seat and course of a modifier if they are not
// its item's, and notes, below the name, the unread fields among them small.
func (b *body) details(l *ticket.Line, indent int) {
	if indent += 2; l.Depth == 0 {
		indent = b.nameColumn
	}

	st := voidStyle(b.modifierStyle, l.Void)
	detail := paragraph{mark: b.mark(l, st), indent: indent, style: st, fill: l.Void}

	say := func(s string) {
		detail.text = s
		b.flow(detail)
	}

	if seat := b.text(l.Seat); l.Depth > 0 && seat != "" && seat != b.seat {
		say(labelled("Seat", seat))
	}
	if course := b.text(l.Course); l.Depth > 0 && course != "" && course != b.course {
		say(labelled("Course", course))
	}

	label := "! "
	if b.t.Kind == ticket.ExpiredList {
		label = ""
	}

	if l.Quantity == "0" { // in tall letters, 0x is read as a word
		b.note(detail, label, "quantity 0")
	}

	if l.MayCancel != "" {
		question := paragraph{mark: detail.mark, indent: indent, text: b.text(ticket.Question(l.MayCancel)),
			style: voidStyle(Style{Bold: true, Height: 2}, true), fill: true}
		if l.Void { // it is in a frame
			b.flow(question)
		} else {
			b.framed(func() { b.flow(question) })
		}
	}

	b.notes(detail, label, l.Notes, l.Unread)
}

// mark returns the mark that each printed line of a cancelled line begins with; empty if it is not
// cancelled. It is as high as the text beside it. Without white on black it is as wide as a name, too: a
// big name beside a small mark would be read first.
func (b *body) mark(l *ticket.Line, like Style) Span {
	like.Width = b.nameStyle.Width
	return b.voidMark(l.Void, like)
}

func (c *composer) voidMark(isVoid bool, like Style) Span {
	if !isVoid {
		return Span{}
	}
	const mark = void + " "

	st := Style{Bold: true, Invert: true, Red: true, Height: like.Height}
	if c.Framed {
		st.Width = min(like.widthFactor(), max(c.columns/3/len(mark), 1))
	}
	return Span{Text: mark, Style: st}
}

// voidStyle adds the look of a cancelled line: white on black, and red for printers that cannot
// invert. A printer with neither still prints the word VOID.
func voidStyle(st Style, isVoid bool) Style {
	if isVoid {
		st.Invert, st.Red = true, true
	}
	return st
}

// chooseSizes chooses the sizes of the order: one for names, one for all that stands below them. A text of
// which a word does not fit is narrower, alone and only it. The height is never reduced.
func (b *body) chooseSizes() {
	b.nameStyle = b.sized(b.NameSize, Size{2, 2})
	if b.t.Kind == ticket.ExpiredList { // a list, one ticket a line
		b.nameStyle.Width = 1
	}

	b.quantityStyle = b.nameStyle
	for b.quantityStyle.Width > 1 && b.quantityStyle.Width*len("2x")+1 > b.columns/3 {
		b.quantityStyle.Width--
	}

	b.measureNameColumn()
	// Modifiers are never bigger than names.
	b.modifierStyle = b.sized(b.ModifierSize, Size{2, 1})
	b.modifierStyle.Width = min(b.modifierStyle.Width, b.nameStyle.Width)
	b.modifierStyle.Height = min(b.modifierStyle.Height, b.nameStyle.Height)
}

// measureNameColumn finds the column where names begin: after the widest quantity and a space. A
// quantity wider than a third of the paper does not count; it pushes its own name only.
func (b *body) measureNameColumn() {
	b.nameColumn = 0
	for i := range b.t.Lines {
		if line := &b.t.Lines[i]; line.Depth == 0 && b.t.Kind != ticket.ExpiredList {
			wide := b.quantityStyle.widthFactor()*Width(quantityLabel(b.text(line.Quantity))) + 1
			if wide <= b.columns/3 {
				b.nameColumn = max(b.nameColumn, wide)
			}
		}
	}
}
