package raster

import (
	"slices"
	"strings"

	levels "github.com/go-text/typesetting/bidi"
	"golang.org/x/text/unicode/bidi"

	"ticketrail/printer/layout"
)

// The bidirectional algorithm (UAX #9), as far as one line needs it: go-text finds the runs, and the two cases that it
// merges (a number after a right-to-left word, Arabic digits) are separated here. A wrong order can turn "12 x 3" into
// "3 x 12", which is a different order.

// assignLevels gives every letter its embedding level (UAX #9): odd levels are read from right
// to left. way is the base direction. Spaces at both ends keep level 0: they come from the layout
// and position the text in its columns.
func assignLevels(letters []unit, way layout.Direction) {
	first, last := 0, len(letters)
	for first < last && letters[first].base() == ' ' {
		first++
	}
	for last > first && letters[last-1].base() == ' ' {
		last--
	}

	letters = letters[first:last]
	text := make([]rune, len(letters))
	for i, l := range letters {
		text[i] = l.base()
	}

	if way == layout.FirstStrong {
		way = layout.DirectionOf(string(text))
	}
	if way == layout.FirstStrong { // without right-to-left letters and digits, as in most lines, every level is 0
		return
	}

	var p levels.Paragraph
	runs := p.Segment(text, [...]levels.Direction{
		layout.LeftToRight: levels.LeftToRight, layout.RightToLeft: levels.RightToLeft}[way])

	for i := range runs.NumRuns() {
		run := runs.Run(i)
		piece := letters[run.Start:run.End]
		setLevel(piece, int(run.Level))

		// Left-to-right text has level 0. In it, numbers that follow a right-to-left word, or have Arabic digits, have
		// level 2.
		if way == layout.LeftToRight && run.IsLeftToRight() {
			if i > 0 {
				piece = piece[numberLength(piece):]
			}
			setLevel(piece, 0)
			for j, l := range piece {
				if bidiClass(l) == bidi.AN {
					piece[j].level = 2
				}
			}
		}
	}
}

// setLevel sets the level of all letters of a piece.
func setLevel(letters []unit, level int) {
	for i := range letters {
		letters[i].level = level
	}
}

func bidiClass(u unit) bidi.Class {
	properties, _ := bidi.LookupRune(u.base())
	return properties.Class()
}

// numberLength returns how many letters at the beginning are a number.
func numberLength(letters []unit) (n int) {
	for i, l := range letters {
		switch bidiClass(l) {
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
