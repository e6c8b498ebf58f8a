package raster

import (
	levels "github.com/go-text/typesetting/bidi"
	"golang.org/x/text/unicode/bidi"

	"ticketrail/printer/layout"
)

// assignLevels gives every character its level: odd ones are read from the right. The text as a
// whole goes the way it is said to go, or that of its first letter. Spaces around it stay where they are: they are
// the layout's, and put the text into its columns.
func assignLevels(cc []character, way layout.Direction) {
	first, last := 0, len(cc)
	for first < last && cc[first].base() == ' ' {
		first++
	}
	for last > first && cc[last-1].base() == ' ' {
		last--
	}
	cc = cc[first:last]
	text, classes := make([]rune, len(cc)), make([]bidi.Class, len(cc))
	base, turned := int(way)-1, way == layout.RightToLeft // -1: nobody knows yet
	for i, c := range cc {
		p, _ := bidi.LookupRune(c.base())
		text[i], classes[i] = c.base(), p.Class()
		switch classes[i] {
		case bidi.L:
			if base < 0 {
				base = 0
			}
		case bidi.R, bidi.AL:
			turned = true
			if base < 0 {
				base = 1
			}
		case bidi.AN:
			turned = true
		case bidi.B: // is no end of a line here
			text[i] = ' '
		}
	}
	if !turned {
		return
	}
	var p levels.Paragraph
	runs := p.Segment(text, [...]levels.Direction{layout.FirstStrong: levels.Neutral, layout.LeftToRight: levels.LeftToRight, layout.RightToLeft: levels.RightToLeft}[way])
	for i := range runs.NumRuns() {
		r := runs.Run(i)
		run := cc[r.Start:r.End]
		switch {
		case !r.IsLeftToRight():
			setLevel(run, 1)
		case base == 1:
			setLevel(run, 2)
		default:
			setLevel(run[:leadingNumber(classes[r.Start:r.End], i > 0)], 2)
			for j := range run {
				if classes[r.Start+j] == bidi.AN {
					run[j].level = 2
				}
			}
		}
	}
}

func setLevel(cc []character, level int) {
	for i := range cc {
		cc[i].level = level
	}
}

// leadingNumber is how many characters at the beginning of a run that is read from the left are a
// number behind a word that is read from the right. They belong to that word (level 2), what
// follows belongs to the text around it (level 0); the library gives both as one run.
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

// visualOrder turns around what is read from the right: rule L2 of Unicode's annex 9.
func visualOrder(rr []run) []run {
	top := 0
	for _, r := range rr {
		top = max(top, r.level)
	}
	for ; top > 0; top-- {
		for i := 0; i < len(rr); i++ {
			start := i
			for i < len(rr) && rr[i].level >= top {
				i++
			}
			for a, b := start, i-1; a < b; a, b = a+1, b-1 {
				rr[a], rr[b] = rr[b], rr[a]
			}
		}
	}
	return rr
}

// mirrored is the bracket that looks the other way.
func mirrored(r rune) rune {
	switch r {
	case '<':
		return '>'
	case '>':
		return '<'
	case '«':
		return '»'
	case '»':
		return '«'
	case '‹':
		return '›'
	case '›':
		return '‹'
	case '≤':
		return '≥'
	case '≥':
		return '≤'
	}
	if p, _ := bidi.LookupRune(r); p.IsBracket() {
		return []rune(bidi.ReverseString(string(r)))[0]
	}
	return r
}
