package layout

import "ticketrail/queue/ticket"

const maxBlankLines = 8 // most blank lines between two items; a larger setting is a mistake that would waste paper

// Size is a multiple of the normal width and height, 1 to 8 each; 0 is 1 if the other is not 0.
type Size struct{ Width, Height int }

func (s Size) style() Style {
	return Style{Bold: true, Width: min(max(s.Width, 1), 8), Height: min(max(s.Height, 1), 8)}
}

// chooseSizes chooses one size for all items of the ticket, and one column where all names begin.
// If items had different sizes, cooks would think that the size means something.
func (b *body) chooseSizes() {
	if b.NameSize == (Size{}) {
		b.automaticSizes()
	} else {
		b.configuredSizes()
	}
	if b.ModifierSize != (Size{}) {
		// Modifiers are indented by up to a third of the paper.
		b.modifierStyle = b.narrowToFit(b.ModifierSize.style(), func(l *ticket.Line) bool { return l.Depth > 0 },
			b.columns/3)
	}
}

// automaticSizes uses double size, or double height for the whole ticket if a name would need
// several lines.
func (b *body) automaticSizes() {
	// Try double size first. Cancelled items do not count, because they print in normal width. Raw
	// data is long and prints in normal size; beside it double width would stand out too much.
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

// configuredSizes uses the configured size, narrower if the paper has no room for it. The quantity
// has the size of the name, so narrowing the name also moves the column where names begin: repeat
// until the width holds. Modifiers are one step smaller, so that they are not read as items.
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

// measureNameColumn finds the column where names begin: after the widest quantity and a space. A
// quantity wider than a third of the paper does not count; it pushes its own name only.
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

// narrowToFit returns st, made as narrow as it takes for every word of the lines for which selected
// returns true to stay in one piece beside a margin of so many columns. Cancelled lines are left out: they always
// print in normal width.
func (b *body) narrowToFit(st Style, selected func(*ticket.Line) bool, margin int) Style {
	room, word := b.columns-margin, minLettersPerLine
	for i := range b.t.Lines {
		if l := &b.t.Lines[i]; !l.Void && selected(l) {
			word = max(word, widestWord(b.itemName(l)))
		}
	}
	for st.Width > 1 && st.Width*word > room {
		st.Width--
	}
	return st
}
