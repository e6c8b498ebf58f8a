package layout

import "ticketrail/queue/ticket"

const maxBlankLines = 8 // blank lines between two items; more is a mistake in the configuration

// Size is how many times the normal width and height, 1 to 8 each; 0 is 1 beside
// another number.
type Size struct{ Width, Height int }

func (s Size) style() Style {
	return Style{Bold: true, Width: min(max(s.Width, 1), 8), Height: min(max(s.Height, 1), 8)}
}

// chooseSizes chooses one size for all items of the ticket, so that size never seems to
// mean something, and one place where all names begin.
func (b *body) chooseSizes() {
	if b.NameSize == (Size{}) {
		b.automaticSizes()
	} else {
		b.configuredSizes()
	}
	if b.ModifierSize != (Size{}) {
		// A modifier stands up to a third of the paper in.
		b.modifierStyle = b.narrowToFit(b.ModifierSize.style(), func(l *ticket.Line) bool { return l.Depth > 0 }, b.columns/3)
	}
}

// fit is double size, or double height where a name would need several lines.
func (b *body) automaticSizes() {
	b.quantityStyle = Style{Bold: true, Width: 2, Height: 2}
	b.nameStyle, b.modifierStyle = b.quantityStyle, Style{Bold: true, Height: 2}
	b.measureNameColumn()
	for i := range b.t.Lines {
		l := &b.t.Lines[i]
		if l.Depth == 0 && !l.Void && (l.Raw || b.nameColumn+2*Width(b.itemName(l)) > b.columns) {
			b.nameStyle, b.modifierStyle = b.modifierStyle, Style{Bold: true}
			return
		}
	}
}

// asked is the size from the configuration, made narrower where the paper has no room
// for it.
func (b *body) configuredSizes() {
	b.nameStyle = b.NameSize.style()
	item := func(l *ticket.Line) bool { return l.Depth == 0 && !l.Raw }
	for {
		b.quantityStyle = b.nameStyle
		b.measureNameColumn()
		fitted := b.narrowToFit(b.nameStyle, item, b.nameColumn)
		if fitted == b.nameStyle {
			break
		}
		b.nameStyle.Width--
	}
	b.modifierStyle = b.nameStyle
	if b.modifierStyle.Width > 1 {
		b.modifierStyle.Width--
	} else {
		b.modifierStyle.Height = max(b.modifierStyle.Height-1, 1)
	}
}

// margin is where names begin: the widest quantity and a space. A quantity of more
// than a third of the paper stands out.
func (b *body) measureNameColumn() {
	b.nameColumn = 0
	for i := range b.t.Lines {
		if l := &b.t.Lines[i]; l.Depth == 0 && !l.Void && b.t.Kind != ticket.Slip {
			if q := b.quantityStyle.widthFactor()*Width(quantityLabel(b.text(l.Quantity))) + 1; q <= b.columns/3 {
				b.nameColumn = max(b.nameColumn, q)
			}
		}
	}
}

// narrowToFit is st, as narrow as it takes for the words of the lines it is for to stay whole
// beside a margin.
func (b *body) narrowToFit(st Style, is func(*ticket.Line) bool, margin int) Style {
	room, word := b.columns-margin, minLettersPerLine
	for i := range b.t.Lines {
		if l := &b.t.Lines[i]; !l.Void && is(l) {
			word = max(word, widestWord(b.itemName(l)))
		}
	}
	for st.Width > 1 && st.Width*word > room {
		st.Width--
	}
	return st
}
