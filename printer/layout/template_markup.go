package layout

import "strings"

// A row is a line of a template's output before it is fitted to the paper: the spans at the left,
// in the middle and at the right.
type row [3][]Span

const (
	// Places on a line, indexes into a row.
	atLeft = iota
	atCenter
	atRight
)

// markup prints the output of a template: text and the markers that the template's functions wrote.
func (c *composer) markup(s string) {
	var r row
	styles := []Style{{}}
	align := atLeft
	var text strings.Builder
	flush := func() {
		if s := c.printable(text.String()); s != "" {
			r[align] = append(r[align], Span{Text: s, Style: styles[len(styles)-1]})
		}
		text.Reset()
	}
	endRow := func() {
		flush()
		c.row(r)
		r = row{}
	}
	ruling := false
	for _, ch := range s {
		if ruling {
			if ch == endRule {
				c.addRule(text.String())
				text.Reset()
				ruling = false
			} else {
				text.WriteRune(ch)
			}
			continue
		}
		switch ch {
		// A line break ends a row; a row without text prints nothing.
		case '\n':
			endRow()
		case beginBold, beginTall, beginBig:
			flush()
			styles = append(styles, styles[len(styles)-1].with(ch))
		case endStyle:
			flush()
			styles = styles[:max(len(styles)-1, 1)]
		case beginLeft, beginCenter, beginRight, endPlace:
			flush()
			align = map[rune]int{beginLeft: atLeft, beginCenter: atCenter, beginRight: atRight, endPlace: atLeft}[ch]
			if ch != endPlace && len(r[align]) > 0 {
				r[align] = append(r[align], Span{Text: " "})
			}
		case beginRule:
			endRow()
			ruling = true
		case blankRow:
			endRow()
			c.blank()
		default:
			text.WriteRune(ch)
		}
	}
	endRow()
}

// with returns the style that a marker begins inside s.
func (s Style) with(mark rune) Style {
	switch mark {
	case beginBold:
		s.Bold = true
	case beginTall:
		s.Height = 2
	case beginBig:
		s.Width, s.Height = 2, 2
	}
	return s
}

// addRule draws a line across the paper out of repeated text. Text that is blank or wider than the
// paper gives =.
func (c *composer) addRule(of string) {
	of = c.text(of)
	w := Width(of)
	if w < 1 || w > c.columns {
		of, w = "=", 1
	}
	c.add(Line{Spans: []Span{{Text: strings.Repeat(of, c.columns/w)}}})
}

// row prints left, middle and right on one line if there is room, with at least a space between
// them, else each on lines of its own.
func (c *composer) row(r row) {
	used, parts := 0, 0
	for i := range r {
		r[i] = trimSpaces(r[i])
		if len(r[i]) > 0 {
			parts++
			used += Line{Spans: r[i]}.Width()
		}
	}
	if parts == 0 {
		return
	}
	if used+parts-1 > c.columns {
		for align, spans := range r {
			for _, spans := range c.wrapSpans(spans) {
				c.add(c.aligned(align, spans))
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

// aligned returns a line with spans at the left, in the middle or at the right.
func (c *composer) aligned(align int, spans []Span) Line {
	free := c.columns - Line{Spans: spans}.Width()
	var l Line
	switch align {
	case atCenter:
		l.space(free/2, Style{})
	case atRight:
		l.space(free, Style{})
	}
	l.Spans = append(l.Spans, spans...)
	return l
}

// trimSpaces returns spans without the spaces at both ends. It may change its argument.
func trimSpaces(spans []Span) []Span {
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

// wrapSpans breaks text of several styles into lines no wider than the paper, between words where
// it can. Only spaces at a break are lost.
func (c *composer) wrapSpans(spans []Span) [][]Span {
	var lines [][]Span
	var line []Span
	used := 0
	next := func() {
		if line = trimSpaces(line); len(line) > 0 {
			lines = append(lines, line)
		}
		line, used = nil, 0
	}
	for _, word := range splitWords(spans) {
		w := Line{Spans: word}.Width()
		if used > 0 && used+w > c.columns {
			next()
		}
		for _, s := range word {
			if used == 0 && s.Text == " " {
				continue
			}
			for s.Text != "" {
				n, taken := fittingPrefix(s.Text, (c.columns-used)/s.widthFactor())
				if used > 0 && used+taken*s.widthFactor() > c.columns {
					next()
					continue
				}
				line = append(line, Span{Text: s.Text[:n], Style: s.Style})
				used += taken * s.widthFactor()
				s.Text = s.Text[n:]
			}
		}
	}
	next()
	return lines
}

// splitWords splits spans at their spaces. A space is a word of its own; letters in several styles
// without a space between them are one word, which is not broken unless it is wider than the paper.
func splitWords(spans []Span) [][]Span {
	var out [][]Span
	var word []Span
	endWord := func() {
		if len(word) > 0 {
			out = append(out, word)
		}
		word = nil
	}
	for _, s := range spans {
		for i, text := range strings.Split(s.Text, " ") {
			if i > 0 {
				endWord()
				word = []Span{{Text: " ", Style: s.Style}}
				endWord()
			}
			if text != "" {
				word = append(word, Span{Text: text, Style: s.Style})
			}
		}
	}
	endWord()
	return out
}
