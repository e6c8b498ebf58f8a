package layout

import "ticketrail/queue/ticket"

const mostBlank = 8 // blank lines between two items; more is a mistake in the configuration

// Size is how many times the normal width and height, 1 to 8 each; 0 is 1 beside
// another number.
type Size struct{ Width, Height int }

func (s Size) style() Style {
	return Style{Bold: true, Width: min(max(s.Width, 1), 8), Height: min(max(s.Height, 1), 8)}
}

// measure chooses one size for all items of the ticket, so that size never seems to
// mean something, and one place where all names begin.
func (b *body) measure() {
	if b.NameSize == (Size{}) {
		b.fit()
	} else {
		b.asked()
	}
	if b.ModifierSize != (Size{}) {
		// A modifier stands up to a third of the paper in.
		b.under = b.roomy(b.ModifierSize.style(), func(l *ticket.Line) bool { return l.Depth > 0 }, b.columns/3)
	}
}

// fit is double size, or double height where a name would need several lines.
func (b *body) fit() {
	b.count = Style{Bold: true, Width: 2, Height: 2}
	b.name, b.under = b.count, Style{Bold: true, Height: 2}
	b.margin()
	for i := range b.t.Lines {
		l := &b.t.Lines[i]
		if l.Depth == 0 && !l.Void && (l.Raw || b.hang+2*Width(b.called(l)) > b.columns) {
			b.name, b.under = b.under, Style{Bold: true}
			return
		}
	}
}

// asked is the size from the configuration, made narrower where the paper has no room
// for it.
func (b *body) asked() {
	b.name = b.NameSize.style()
	item := func(l *ticket.Line) bool { return l.Depth == 0 && !l.Raw }
	for {
		b.count = b.name
		b.margin()
		fitting := b.roomy(b.name, item, b.hang)
		if fitting == b.name {
			break
		}
		b.name.Width--
	}
	b.under = b.name
	if b.under.Width > 1 {
		b.under.Width--
	} else {
		b.under.Height = max(b.under.Height-1, 1)
	}
}

// margin is where names begin: the widest quantity and a space. A quantity of more
// than a third of the paper stands out.
func (b *body) margin() {
	b.hang = 0
	for i := range b.t.Lines {
		if l := &b.t.Lines[i]; l.Depth == 0 && !l.Void && b.t.Kind != ticket.Slip {
			if q := b.count.wide()*Width(times(b.text(l.Quantity))) + 1; q <= b.columns/3 {
				b.hang = max(b.hang, q)
			}
		}
	}
}

// roomy is st, as narrow as it takes for the words of the lines it is for to stay whole
// beside a margin.
func (b *body) roomy(st Style, is func(*ticket.Line) bool, margin int) Style {
	room, word := b.columns-margin, fewest
	for i := range b.t.Lines {
		if l := &b.t.Lines[i]; !l.Void && is(l) {
			word = max(word, longest(b.called(l)))
		}
	}
	for st.Width > 1 && st.Width*word > room {
		st.Width--
	}
	return st
}
