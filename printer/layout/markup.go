package layout

import "strings"

// A row is a line of a template's output, before it is known how it fits the paper.
type row [3][]Span // what stands left, in the middle, right

const (
	atLeft = iota
	atCenter
	atRight
)

// markup prints what a template gave.
func (c *composer) markup(s string) {
	var r row
	styles := []Style{{}}
	place := atLeft
	var text strings.Builder
	put := func() {
		if s := c.letters(text.String()); s != "" {
			r[place] = append(r[place], Span{Text: s, Style: styles[len(styles)-1]})
		}
		text.Reset()
	}
	end := func() {
		put()
		c.row(r)
		r = row{}
	}
	ruling := false
	for _, ch := range s {
		if ruling {
			if ch == ruleTo {
				c.ruled(text.String())
				text.Reset()
				ruling = false
			} else {
				text.WriteRune(ch)
			}
			continue
		}
		switch ch {
		case '\n':
			end()
		case toBold, toTall, toBig:
			put()
			styles = append(styles, styles[len(styles)-1].and(ch))
		case toBefore:
			put()
			styles = styles[:max(len(styles)-1, 1)]
		case toLeft, toCenter, toRight, toPlace:
			put()
			place = map[rune]int{toLeft: atLeft, toCenter: atCenter, toRight: atRight, toPlace: atLeft}[ch]
			if ch != toPlace && len(r[place]) > 0 {
				r[place] = append(r[place], Span{Text: " "})
			}
		case ruleFrom:
			end()
			ruling = true
		case emptyRow:
			end()
			c.blank()
		default:
			text.WriteRune(ch)
		}
	}
	end()
}

func (s Style) and(mark rune) Style {
	switch mark {
	case toBold:
		s.Bold = true
	case toTall:
		s.Height = 2
	case toBig:
		s.Width, s.Height = 2, 2
	}
	return s
}

func (c *composer) ruled(of string) {
	of = c.text(of)
	w := Width(of)
	if w < 1 || w > c.columns {
		of, w = "=", 1
	}
	c.add(Line{Spans: []Span{{Text: strings.Repeat(of, c.columns/w)}}})
}

// row sets what stands left, in the middle and right on one line where there is room,
// on lines of their own where there is not.
func (c *composer) row(r row) {
	used, parts := 0, 0
	for i := range r {
		r[i] = trimmed(r[i])
		if len(r[i]) > 0 {
			parts++
			used += Line{Spans: r[i]}.Width()
		}
	}
	if parts == 0 {
		return
	}
	if used+parts-1 > c.columns {
		for place, spans := range r {
			for _, spans := range c.wrapped(spans) {
				c.add(c.placed(place, spans))
			}
		}
		return
	}
	left, mid, right := Line{Spans: r[atLeft]}, Line{Spans: r[atCenter]}, Line{Spans: r[atRight]}
	l := Line{Spans: left.Spans}
	if len(mid.Spans) > 0 {
		at := (c.columns - mid.Width()) / 2
		if w := left.Width(); w > 0 {
			at = max(at, w+1)
		}
		if w := right.Width(); w > 0 {
			at = min(at, c.columns-w-1-mid.Width())
		}
		l.space(at-l.Width(), Style{})
		l.Spans = append(l.Spans, mid.Spans...)
	}
	if len(right.Spans) > 0 {
		l.space(c.columns-right.Width()-l.Width(), Style{})
		l.Spans = append(l.Spans, right.Spans...)
	}
	c.add(l)
}

func (c *composer) placed(place int, spans []Span) Line {
	free := c.columns - Line{Spans: spans}.Width()
	var l Line
	switch place {
	case atCenter:
		l.space(free/2, Style{})
	case atRight:
		l.space(free, Style{})
	}
	l.Spans = append(l.Spans, spans...)
	return l
}

// trimmed is spans without the spaces at both ends. It may change spans.
func trimmed(spans []Span) []Span {
	for len(spans) > 0 {
		if spans[0].Text = strings.TrimLeft(spans[0].Text, " "); spans[0].Text != "" {
			break
		}
		spans = spans[1:]
	}
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		if last.Text = strings.TrimRight(last.Text, " "); last.Text != "" {
			break
		}
		spans = spans[:len(spans)-1]
	}
	return spans
}

// wrapped breaks text of several styles into lines no wider than the paper, between
// words where it can. Nothing but spaces at a break is lost.
func (c *composer) wrapped(spans []Span) [][]Span {
	var lines [][]Span
	var line []Span
	used := 0
	next := func() {
		if line = trimmed(line); len(line) > 0 {
			lines = append(lines, line)
		}
		line, used = nil, 0
	}
	for _, word := range wordsOf(spans) {
		w := Line{Spans: word}.Width()
		if used > 0 && used+w > c.columns {
			next()
		}
		for _, s := range word {
			if used == 0 && s.Text == " " {
				continue
			}
			for s.Text != "" {
				n, taken := fitting(s.Text, (c.columns-used)/s.wide())
				if used > 0 && used+taken*s.wide() > c.columns {
					next()
					continue
				}
				line = append(line, Span{Text: s.Text[:n], Style: s.Style})
				used += taken * s.wide()
				s.Text = s.Text[n:]
			}
		}
	}
	next()
	return lines
}

// wordsOf parts spans at their spaces. A space is a word by itself; letters in several
// styles without a space between them are one.
func wordsOf(spans []Span) [][]Span {
	var out [][]Span
	var word []Span
	end := func() {
		if len(word) > 0 {
			out = append(out, word)
		}
		word = nil
	}
	for _, s := range spans {
		for i, text := range strings.Split(s.Text, " ") {
			if i > 0 {
				end()
				word = []Span{{Text: " ", Style: s.Style}}
				end()
			}
			if text != "" {
				word = append(word, Span{Text: text, Style: s.Style})
			}
		}
	}
	end()
	return out
}
