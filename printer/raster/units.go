package raster

import (
	"unicode/utf8"

	"github.com/go-text/typesetting/language"

	"ticketrail/printer/layout"
)

// A unit is what is drawn as one and placed at a column.
type unit struct {
	font    int // a place among Drawer.fonts, or nowhere, builtIn, blank
	text    string
	columns int
	rtl     bool
	run     bool // several characters, shaped together
}

// A character is a letter with the marks on it.
type character struct {
	text    []rune
	columns int
	font    int
	level   int // odd: goes from right to left
}

func (c character) base() rune { return c.text[0] }

// maxMarks is how many marks a letter can carry; no language puts more than four on one.
const maxMarks = 8

// characters cuts as much of text as goes into so many columns. What takes no room belongs
// to the letter before it.
func characters(text string, columns int) []character {
	var cc []character
	for i, r := range text {
		w := layout.Width(text[i : i+runeLen(text[i:])])
		if w > columns {
			break
		}
		columns -= w
		switch last := len(cc) - 1; {
		case w > 0:
			cc = append(cc, character{text: []rune{r}, columns: w})
		case last >= 0 && len(cc[last].text) <= maxMarks:
			cc[last].text = append(cc[last].text, r)
		}
	}
	return cc
}

// units puts text into the order in which it is seen, from the left.
func (d *Drawer) units(text string, base layout.Direction, columns int) []unit {
	if ascii(text) {
		uu := make([]unit, 0, columns)
		for i := range min(len(text), columns) {
			uu = append(uu, unit{font: builtIn, text: text[i : i+1], columns: 1})
			if text[i] == ' ' {
				uu[i].font = blank
			}
		}
		return uu
	}
	cc := characters(text, columns)
	assignLevels(cc, base)
	for i := range cc {
		cc[i].font = d.fontFor(cc[i].text)
	}
	var uu []unit
	for _, line := range visualOrder(d.runs(d.shapeArabic(cc))) {
		uu = append(uu, line.unit())
	}
	return uu
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// A run is characters that one font draws together, in the order in which they are read.
type run struct {
	character
	shaped bool
	script language.Script
}

// runs joins the neighbours that must be shaped together. A space between two of them is
// part of the run, for there the words are as wide as their letters, not as their columns.
func (d *Drawer) runs(cc []character) []run {
	var rr []run
	for i, c := range cc {
		r := run{character: c}
		if c.font >= 0 {
			r.script = language.LookupScript(c.base())
			r.shaped = needsShaping(r.script)
		}
		n := len(rr)
		switch {
		case n > 0 && r.shaped && rr[n-1].joins(r):
			rr[n-1].add(c)
		case n > 1 && r.shaped && cc[i-1].base() == ' ' && rr[n-1].level == r.level && rr[n-2].joins(r) && d.fonts[c.font].hasAll([]rune{' '}):
			rr[n-2].add(rr[n-1].character)
			rr[n-2].add(c)
			rr = rr[:n-1]
		default:
			rr = append(rr, r)
		}
	}
	return rr
}

func (r run) joins(o run) bool {
	return r.shaped && r.font == o.font && r.level == o.level && r.script == o.script
}

func (r *run) add(c character) {
	r.text = append(r.text, c.text...)
	r.columns += c.columns
}

// needsShaping says that the letters of a script change with their neighbours, or stand in no grid.
func needsShaping(s language.Script) bool {
	switch s {
	case language.Common, language.Inherited, language.Unknown, language.Han, language.Hiragana, language.Katakana,
		language.Hangul, language.Bopomofo, language.Yi, language.Latin, language.Greek, language.Cyrillic,
		language.Armenian, language.Georgian, language.Ethiopic, language.Cherokee, language.Canadian_Aboriginal:
		return false
	}
	return true
}

func (r run) unit() unit {
	u := unit{font: r.font, columns: r.columns, rtl: r.level%2 == 1, run: r.shaped}
	if len(r.text) == 1 && isInvisible(r.base()) {
		u.font = blank
		return u
	}
	if u.rtl && !r.shaped {
		r.text[0] = mirrored(r.base())
	}
	u.text = string(r.text)
	return u
}

// runeLen is how many bytes the first character of s takes.
func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
