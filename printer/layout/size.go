package layout

import (
	"fmt"
	"regexp"

	"ticketrail/queue/ticket"
)

const maxBlankLines = 20 // most blank lines in a row; a larger setting is a mistake that would waste paper

// Size is a multiple of the normal width and height, 1 to 8 each; 0 is 1 if the other is not 0. The
// zero Size is the default of its option.
type Size struct{ Width, Height int }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// UnmarshalText parses a size such as 2x2: width, then height.
func (s *Size) UnmarshalText(b []byte) error {
	m := regexp.MustCompile(`^([1-8])x([1-8])$`).FindSubmatch(b)
	if m == nil {
		return fmt.Errorf("%.80q is not a size of letters; write width and height as 2x2, 1x1 to 8x8", b)
	}
	*s = Size{int(m[1][0] - '0'), int(m[2][0] - '0')}
	return nil
}

// sized returns the style of text of size s, which is limited to what the printer has.
func (c *composer) sized(s, byDefault Size) Style {
	if s == (Size{}) {
		s = byDefault
	}
	most := 8
	if c.MaxSize > 0 {
		most = min(c.MaxSize, most)
	}
	return Style{Bold: true, Width: min(max(s.Width, 1), most), Height: min(max(s.Height, 1), most)}
}

// chooseSizes chooses the sizes of the order: one for the names of all items, one for all that
// stands below them. If items had different sizes, cooks would think that the size means something.
//
// Both are the configured sizes, made narrower only until the longest word of the ticket stays in
// one piece. Text that is longer than its line wraps; it never makes letters smaller. The height is
// never reduced.
func (b *body) chooseSizes() {
	name := b.sized(b.NameSize, Size{2, 2})
	if b.t.Kind == ticket.Slip { // a list, one ticket a line
		name.Width = 1
	}
	b.quantityStyle = name
	for b.quantityStyle.Width > 1 && b.quantityStyle.Width*len("2x")+1 > b.columns/3 {
		b.quantityStyle.Width--
	}
	b.measureNameColumn()
	b.nameStyle = b.narrowed(name, func(l *ticket.Line) bool { return l.Depth == 0 }, b.nameColumn)
	// Modifiers are indented by up to a third of the paper. They are never bigger than their items.
	b.modifierStyle = b.narrowed(b.sized(b.ModifierSize, Size{1, 2}), func(l *ticket.Line) bool { return l.Depth > 0 },
		b.columns/3)
	b.modifierStyle.Width = min(b.modifierStyle.Width, b.nameStyle.Width)
	b.modifierStyle.Height = min(b.modifierStyle.Height, b.nameStyle.Height)
}

// measureNameColumn finds the column where names begin: after the widest quantity and a space. A
// quantity wider than a third of the paper does not count; it pushes its own name only.
func (b *body) measureNameColumn() {
	b.nameColumn = 0
	for i := range b.t.Lines {
		if l := &b.t.Lines[i]; l.Depth == 0 && b.t.Kind != ticket.Slip {
			if q := b.quantityStyle.widthFactor()*Width(quantityLabel(b.text(l.Quantity))) + 1; q <= b.columns/3 {
				b.nameColumn = max(b.nameColumn, q)
			}
		}
	}
}

// narrowed returns st, narrow enough for each word of the lines for which selected returns true,
// beside a margin of so many columns and the VOID mark. Raw data prints in normal size and does not
// count.
func (b *body) narrowed(st Style, selected func(*ticket.Line) bool, margin int) Style {
	for i := range b.t.Lines {
		if l := &b.t.Lines[i]; !l.Raw && selected(l) {
			mark := Line{Spans: []Span{b.voidMark(l.Void, st)}}.Width()
			st = st.narrowed(b.itemName(l), b.columns-margin-mark)
		}
	}
	return st
}

// minLettersPerLine is how many letters a line of wide text must have room for. With fewer, most
// words break, and one syllable a line reads worse than narrow letters.
const minLettersPerLine = 8

// narrowed returns s, narrow enough for each word of text to stay in one piece in so many columns.
func (s Style) narrowed(text string, room int) Style {
	word := max(widestWord(text), minLettersPerLine)
	for s.Width > 1 && s.Width*word > room {
		s.Width--
	}
	return s
}
