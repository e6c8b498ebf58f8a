package layout

import (
	_ "embed" // alarms.txt
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Alarms are the words that mark an allergy. A text in which one of them is found prints so that no
// cook overlooks it. Nil finds none. It never changes and is safe for concurrent use.
type Alarms struct{ words, exceptions []string }

// NewAlarms reads the entries of ticket.alarms. Each is a word or a phrase, which is found where a
// word of a text begins with it (allerg in allergic); with * in front, also inside a word
// (Nussallergie). An entry that begins with - is an exception: it is taken out of a text before
// words are searched in it. Case, accents and full width do not count. Chinese, Japanese, Korean
// and the scripts of South-East Asia, which join words, are searched without regard to words.
func NewAlarms(entries []string) *Alarms {
	alarms := &Alarms{}
	for _, e := range entries {
		word, exception := strings.CutPrefix(e, "-")
		to := &alarms.words
		if exception {
			to = &alarms.exceptions
		}
		if word = searched(word); word != "" {
			*to = append(*to, word)
		}
	}

	return alarms
}

//go:embed alarms.txt
var usualAlarms string

// UsualAlarms are the entries of alarms.txt, which says how they were chosen.
func UsualAlarms() (words []string) {
	for line := range strings.Lines(usualAlarms) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words = append(words, strings.Split(line, ", ")...)
		}
	}
	return words
}

// MaxAlarms is how many entries a list has at most: every line of every ticket is searched for each of them.
const MaxAlarms = 1000

// CheckAlarm says why an entry cannot be found in any text, or "".
func CheckAlarm(entry string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimPrefix(strings.TrimPrefix(entry, "-"), "*"))

	switch {
	case first == utf8.RuneError || !unicode.In(first, unicode.L, unicode.N, unicode.So): // So: emoji
		return fmt.Sprintf("%.80q does not begin with a letter; write a word or a phrase, \"*word\" to find it inside "+
			"words too, or -phrase for an exception", entry)
	case len(entry) > 100:
		return fmt.Sprintf("%.80q… has %d bytes; at most 100 are allowed", entry, len(entry))
	}
	return ""
}

// searched returns an entry as it is searched for in the result of [fold], where a space precedes
// each word and nothing else.
func searched(entry string) string {
	part, inside := strings.CutPrefix(entry, "*")

	part = strings.Trim(fold(part), "\n")
	for _, r := range part {
		if r != ' ' && (inside || joinsWords(r)) {
			return strings.TrimPrefix(part, " ")
		}
	}
	return part
}

// Match reports whether s has a word that marks an allergy. The time it takes grows with the length
// of s and no faster: s may be a megabyte from the network.
func (a *Alarms) Match(s string) bool {
	if a == nil || len(a.words) == 0 {
		return false
	}

	for line := range strings.FieldsFuncSeq(s, lineBreak) {
		line = fold(line)
		for _, e := range a.exceptions {
			line = strings.ReplaceAll(line, e, "\n")
		}
		for _, w := range a.words {
			if strings.Contains(line, w) {
				return true
			}
		}
	}
	return false
}

// alarmIf prints the lines that print adds, and if yes, as an alarm: bold, at least twice as high, and white
// on black from edge to edge, or in capitals in a frame.
func (c *composer) alarmIf(yes bool, print func()) {
	if !yes {
		print()
		return
	}

	c.framed(func() {
		first, upper := len(c.lines), c.UpperCase
		c.alarm, c.UpperCase = true, upper || c.Framed
		print()
		c.alarm, c.UpperCase = false, upper

		for i := range c.lines[first:] {
			line := &c.lines[first+i]
			for j := range line.Spans {
				style := &line.Spans[j].Style
				style.Bold, style.Red, style.Invert, style.Height = true, true, !c.Framed, max(style.Height, 2)
			}
			line.space(c.columns-line.Width(), Style{Bold: true, Height: 2, Red: true, Invert: !c.Framed})
		}
	})
}

// frameColumns is how many columns a frame takes: an asterisk and a space on each side.
const frameColumns = 4

// framed prints the lines that print adds in a frame, if nothing can be white on black. Two frames that touch share an
// edge. Red alone is not enough: many impact printers have a black ribbon.
func (c *composer) framed(print func()) {
	if !c.Framed {
		print()
		return
	}

	edge := Line{Spans: []Span{{Text: strings.Repeat("*", c.columns), Style: Style{Bold: true, Red: true}}}}
	if c.frameEnd == 0 || c.frameEnd != len(c.lines) {
		c.add(edge)
	}

	first := len(c.lines)
	c.columns -= frameColumns
	print()
	c.columns += frameColumns

	for i := range c.lines[first:] {
		line := &c.lines[first+i]
		side := Style{Bold: true, Red: true, Height: line.Height()}
		line.Spans = append([]Span{{Text: "* ", Style: side}}, line.Spans...)
		line.space(c.columns-2-line.Width(), side)
		line.Spans = append(line.Spans, Span{Text: " *", Style: side})
	}

	c.add(edge)
	c.frameEnd = len(c.lines)
}

// banner is a bar across the paper, for a fact that changes how the ticket is read.
func (c *composer) banner(s string) { c.bar(s, c.bannerStyle(s)) }

// warning is the bar for tickets that must not be cooked, or not twice. Only it and an alarm are red on paper with two
// colours, and in a frame where nothing is white on black. The texts beneath are in the same bar.
func (c *composer) warning(s string, beneath ...string) {
	c.framed(func() {
		st := c.bannerStyle(s)
		st.Red = true
		c.bar(s, st)

		for _, s := range beneath {
			st.Height, st.Width = 1, min(2, c.columns/Width(s))
			c.bar(s, st)
		}
	})
}

// bannerStyle is double width and height if s fits on one line that way, else double height only,
// which needs fewer lines.
func (c *composer) bannerStyle(s string) Style {
	if 2*Width(s) <= c.columns {
		return Style{Bold: true, Width: 2, Height: 2}
	}
	return Style{Bold: true, Height: 2}
}

// bar prints s in the middle of a bar from edge to edge: white on black or, where a printer has only black on white,
// between rules.
func (c *composer) bar(s string, st Style) {
	first := len(c.lines)
	st.Invert = true

	c.centred(s, st)
	if !c.Framed || st.Red {
		return
	}

	for _, l := range c.lines[first:] {
		if left, right := &l.Spans[0], &l.Spans[len(l.Spans)-1]; len(l.Spans) == 3 && len(left.Text) > 1 {
			left.Text = strings.Repeat("=", len(left.Text)-1) + " "
			right.Text = " " + strings.Repeat("=", len(right.Text)-1)
		}
	}
}

// centred prints s in the middle of the paper, wrapped where it is too long. An inverted line is
// black up to both edges.
func (c *composer) centred(s string, st Style) {
	for _, s := range wrap(c.text(s), c.columns/st.widthFactor()) {
		var l Line
		free := c.columns - Width(s)*st.widthFactor()
		l.space(free/2, st)
		l.Spans = append(l.Spans, Span{Text: s, Style: st})
		if st.Invert {
			l.space(free-free/2, st)
		}
		c.add(l)
	}
}

// fold returns the words of s in small letters of normal width without accents, each after a space.
// Punctuation becomes a line feed, which no phrase contains: "onion no, allergy" does not say "no
// allergy". Only a hyphen or an apostrophe after a letter separates words like a space, because
// nut-free is "nut free", and so is the one in d'allergie.
func fold(s string) string {
	var b strings.Builder
	inWord := false
	for _, r := range norm.NFKD.String(cases.Fold().String(normalize(s))) {
		switch {
		// Accents, and the vowel points of Hebrew and Arabic. The marks of Thai are not among them:
		// they tell an allergy from a goat.
		case unicode.Is(unicode.Mn, r) && unicode.In(r, unicode.Inherited, unicode.Hebrew):
		case unicode.In(r, unicode.L, unicode.M, unicode.N):
			if !inWord {
				b.WriteByte(' ')
			}
			b.WriteRune(r)
			inWord = true
		case unicode.Is(unicode.So, r): // an emoji is a word of its own
			b.WriteString(" " + string(r))
			inWord = false
		case r == ' ' || inWord && (unicode.Is(unicode.Pd, r) || r == '\'' || r == '’'):
			inWord = false
		default:
			b.WriteByte('\n')
			inWord = false
		}
	}

	return b.String()
}

// joinsWords reports whether r is of a script that is written without spaces between words, or, as
// Korean is, with fewer spaces than other languages.
func joinsWords(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}
