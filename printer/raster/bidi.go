package raster

import (
	"slices"
	"strings"

	levels "github.com/go-text/typesetting/bidi"
	"golang.org/x/text/unicode/bidi"

	"ticketrail/printer/layout"
)

// The bidirectional algorithm (UAX #9), as far as one line needs it: x/text classifies characters,
// go-text finds the runs, and the two cases that it merges (a number after a right-to-left word,
// Arabic digits) are separated here. A wrong order can turn "12 x 3" into "3 x 12", which is a
// different order.

// assignLevels gives every letter its embedding level (UAX #9): odd levels are read from right
// to left. way is the base direction. Spaces at both ends keep level 0: they come from the layout
// and position the text in its columns.
func assignLevels(cc []unit, way layout.Direction) {
	first, last := 0, len(cc)
	for first < last && cc[first].base() == ' ' {
		first++
	}
	for last > first && cc[last-1].base() == ' ' {
		last--
	}

	cc = cc[first:last]
	text, classes := make([]rune, len(cc)), make([]bidi.Class, len(cc))
	base, hasRTL := int(way)-1, way == layout.RightToLeft // -1: not known yet

	for i, c := range cc {
		class, _ := bidi.LookupRune(c.base())
		text[i], classes[i] = c.base(), class.Class()
		switch classes[i] {
		case bidi.L:
			if base < 0 {
				base = 0
			}
		case bidi.R, bidi.AL:
			hasRTL = true
			if base < 0 {
				base = 1
			}
		case bidi.AN:
			hasRTL = true
		case bidi.B: // a paragraph separator does not end a line here
			text[i] = ' '
		}
	}

	// Without right-to-left characters, as in most lines, every level is 0.
	if !hasRTL {
		return
	}

	var p levels.Paragraph
	runs := p.Segment(text, [...]levels.Direction{layout.FirstStrong: levels.Neutral,
		layout.LeftToRight: levels.LeftToRight, layout.RightToLeft: levels.RightToLeft}[way])

	for i := range runs.NumRuns() {
		segment := runs.Run(i)
		run := cc[segment.Start:segment.End]
		switch {
		case !segment.IsLeftToRight():
			setLevel(run, 1)
		case base == 1:
			setLevel(run, 2)
		default:
			setLevel(run[:leadingNumber(classes[segment.Start:segment.End], i > 0)], 2)
			for j := range run {
				if classes[segment.Start+j] == bidi.AN {
					run[j].level = 2
				}
			}
		}
	}
}

// setLevel sets the level of all letters of a run.
func setLevel(cc []unit, level int) {
	for i := range cc {
		cc[i].level = level
	}
}

// leadingNumber returns how many characters at the beginning of a left-to-right run are a number
// that follows a right-to-left word. They belong to that word (level 2), the rest to the text
// around it (level 0); the library returns both as one run.
func leadingNumber(classes []bidi.Class, behind bool) (n int) {
	if !behind {
		return 0
	}

	for i, c := range classes {
		switch c {
		case bidi.EN, bidi.AN:
			n = i + 1
		case bidi.ET:
			if n == i && n > 0 {
				n++
			}
		case bidi.CS, bidi.ES:
		default:
			return n
		}
	}
	return n
}

// visualOrder reverses text that is read from right to left: rule L2 of UAX #9.
func visualOrder(uu []unit) []unit {
	top := 0
	for _, u := range uu {
		top = max(top, u.level)
	}

	for ; top > 0; top-- {
		for i := 0; i < len(uu); i++ {
			start := i
			for i < len(uu) && uu[i].level >= top {
				i++
			}
			slices.Reverse(uu[start:i])
		}
	}
	return uu
}

// mirrored returns the mirror image of a bracket, as right-to-left text needs it. A bracket is an
// opening one by its meaning, not by its look, so it is swapped when the line is turned.
func mirrored(r rune) rune {
	image := mirrors.Replace(string(r))
	if class, _ := bidi.LookupRune(r); class.IsBracket() {
		image = bidi.ReverseString(string(r))
	}
	return []rune(image)[0]
}

var mirrors = strings.NewReplacer("<", ">", ">", "<", "«", "»", "»", "«", "‹", "›", "›", "‹", "≤", "≥", "≥", "≤")
