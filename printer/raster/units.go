package raster

import (
	"github.com/go-text/typesetting/language"

	"ticketrail/printer/layout"
)

// A unit is drawn as one piece and placed at a column: a letter with its marks, or several letters of one script that
// are shaped together.
type unit struct {
	text    []rune // in reading order
	columns int
	font    int             // an index into Drawer.fonts, or noFont, builtIn or blank
	level   int             // embedding level; odd is right-to-left
	script  language.Script // of letters that change with their neighbours, which a font from a file draws; else 0
}

// base is the first letter, without its marks.
func (u unit) base() rune { return u.text[0] }

func (u unit) rightToLeft() bool { return u.level%2 == 1 }

func (u unit) isShaped() bool { return u.script != 0 }

// maxMarks is how many marks of a letter are drawn; no language uses more than four.
const maxMarks = 8

// letters splits off as much of text as fits into so many columns. Characters without a width
// belong to the letter before them.
func letters(text string, columns int) []unit {
	var uu []unit
	for _, r := range text {
		wide := layout.Width(string(r))
		if wide > columns {
			break
		}
		columns -= wide

		// Marks beyond maxMarks are dropped: they would only blacken the letter.
		switch last := len(uu) - 1; {
		case wide > 0:
			uu = append(uu, unit{text: []rune{r}, columns: wide})
		case last >= 0 && len(uu[last].text) <= maxMarks:
			uu[last].text = append(uu[last].text, r)
		}
	}
	return uu
}

// units returns the units of text in visual order, from the left. The text is cut to the columns
// before it is ordered or shaped, so a megabyte of Arabic costs no more than one line.
//
// large says that the text is drawn larger than normal.
func (d *Drawer) units(text string, base layout.Direction, columns int, large bool) []unit {
	uu := letters(text, columns)
	assignLevels(uu, base)

	largeFont := noFont
	if large {
		largeFont = d.largeFont(uu)
	}

	for i, u := range uu {
		uu[i].font = largeFont
		if largeFont == noFont || u.columns < 2 || !d.fonts[largeFont].hasAll(u.text) {
			uu[i].font = d.fontFor(u.text)
		}
	}

	uu = visualOrder(d.joined(uu))
	for i, u := range uu {
		switch {
		case len(u.text) == 1 && isInvisible(u.base()):
			uu[i].font = blank
		case u.rightToLeft() && !u.isShaped(): // in a shaped unit HarfBuzz mirrors the brackets
			u.text[0] = mirrored(u.base())
		}
	}
	return uu
}

// joined joins neighbours that must be shaped together. A space between two of them becomes part of
// the unit, because there a word is as wide as its letters, not as its columns. Thai or
// Devanagari drawn letter by letter would be unreadable.
func (d *Drawer) joined(letters []unit) []unit {
	var uu []unit
	for i, next := range letters {
		if script := language.LookupScript(next.base()); next.font >= 0 && needsShaping(script) {
			next.script = script
		}

		count := len(uu)
		switch {
		case count > 0 && uu[count-1].joins(next):
			uu[count-1].add(next)
		// Word, space, word: one unit, if the font has the space.
		case count > 1 && letters[i-1].base() == ' ' && uu[count-1].level == next.level && uu[count-2].joins(next) &&
			d.fonts[next.font].hasAll([]rune{' '}):
			uu[count-2].add(uu[count-1])
			uu[count-2].add(next)
			uu = uu[:count-1]
		default:
			uu = append(uu, next)
		}
	}
	return uu
}

// joins reports whether o continues u: same font, level and script.
func (u unit) joins(o unit) bool {
	return u.isShaped() && u.font == o.font && u.level == o.level && u.script == o.script
}

func (u *unit) add(o unit) {
	u.text = append(u.text, o.text...)
	u.columns += o.columns
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
