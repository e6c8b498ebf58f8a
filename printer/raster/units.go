package raster

import (
	"unicode/utf8"

	"github.com/go-text/typesetting/language"

	"ticketrail/printer/layout"
)

// A unit is drawn as one piece and placed at a column.
type unit struct {
	font    int // an index into Drawer.fonts, or noFont, builtIn or blank
	text    string
	columns int
	rtl     bool
	run     bool // several characters that are shaped together
}

// A character is a letter with its marks.
type character struct {
	text    []rune
	columns int
	font    int
	level   int // embedding level; odd is right-to-left
}

// base is the letter, without its marks.
func (c character) base() rune { return c.text[0] }

// maxMarks is how many marks of a letter are drawn; no language uses more than four.
const maxMarks = 8

// characters splits off as much of text as fits into so many columns. Characters without a width
// belong to the letter before them.
func characters(text string, columns int) []character {
	var cc []character
	for i, r := range text {
		wide := layout.Width(text[i : i+runeLen(text[i:])])
		if wide > columns {
			break
		}
		columns -= wide

		// Marks beyond maxMarks are dropped: they would only blacken the letter.
		switch last := len(cc) - 1; {
		case wide > 0:
			cc = append(cc, character{text: []rune{r}, columns: wide})
		case last >= 0 && len(cc[last].text) <= maxMarks:
			cc[last].text = append(cc[last].text, r)
		}
	}
	return cc
}

// units returns the units of text in visual order, from the left. The text is cut to the columns
// before it is ordered or shaped, so a megabyte of Arabic costs no more than one line.
//
// large says that the text is drawn larger than normal.
func (d *Drawer) units(text string, base layout.Direction, columns int, large bool) []unit {
	cc := characters(text, columns)
	assignLevels(cc, base)

	largeFont := noFont
	if large {
		largeFont = d.largeFont(cc)
	}

	for i, c := range cc {
		if cc[i].font = largeFont; largeFont == noFont || c.columns < 2 || !d.fonts[largeFont].hasAll(c.text) {
			cc[i].font = d.fontFor(c.text)
		}
	}

	var uu []unit
	for _, line := range visualOrder(d.runs(cc)) {
		uu = append(uu, line.unit())
	}
	return uu
}

// A run is consecutive characters that one font draws together, in reading order.
type run struct {
	character
	shaped bool
	script language.Script
}

// runs joins neighbours that must be shaped together. A space between two of them becomes part of
// the run, because there a word is as wide as its letters, not as its columns. Thai or
// Devanagari drawn letter by letter would be unreadable.
func (d *Drawer) runs(cc []character) []run {
	var rr []run
	for i, c := range cc {
		next := run{character: c}
		if c.font >= 0 {
			next.script = language.LookupScript(c.base())
			next.shaped = needsShaping(next.script)
		}

		count := len(rr)
		switch {
		case count > 0 && next.shaped && rr[count-1].joins(next):
			rr[count-1].add(c)
		// Word, space, word: one run, if the font has the space.
		case count > 1 && next.shaped && cc[i-1].base() == ' ' && rr[count-1].level == next.level &&
			rr[count-2].joins(next) &&
			d.fonts[c.font].hasAll([]rune{' '}):
			rr[count-2].add(rr[count-1].character)
			rr[count-2].add(c)
			rr = rr[:count-1]
		default:
			rr = append(rr, next)
		}
	}
	return rr
}

// joins reports whether o continues r: same font, level and script.
func (r run) joins(o run) bool {
	return r.shaped && r.font == o.font && r.level == o.level && r.script == o.script
}

func (r *run) add(c character) {
	r.text = append(r.text, c.text...)
	r.columns += c.columns
}

// needsShaping reports whether the letters of a script change with their neighbours, or do not fit
// a grid of columns. In the listed scripts each letter has its column, so quantities stay below
// each other.
func needsShaping(s language.Script) bool {
	switch s {
	case language.Common, language.Inherited, language.Unknown, language.Han, language.Hiragana, language.Katakana,
		language.Hangul, language.Bopomofo, language.Yi, language.Latin, language.Greek, language.Cyrillic,
		language.Armenian, language.Georgian, language.Ethiopic, language.Cherokee, language.Canadian_Aboriginal:
		return false
	}
	return true
}

// unit turns a run into a piece to draw. Brackets in right-to-left text are mirrored here; in shaped
// runs HarfBuzz does that.
func (r run) unit() unit {
	made := unit{font: r.font, columns: r.columns, rtl: r.level%2 == 1, run: r.shaped}

	if len(r.text) == 1 && isInvisible(r.base()) {
		made.font = blank
		return made
	}

	if made.rtl && !r.shaped {
		r.text[0] = mirrored(r.base())
	}
	made.text = string(r.text)
	return made
}

// runeLen returns how many bytes the first character of s has.
func runeLen(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}
