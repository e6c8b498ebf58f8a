package layout

// pairs prints left and right as two columns, row by row.
func (c *composer) pairs(left, right []string) {
	for i := range max(len(left), len(right)) {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		c.pair(l, r, Style{})
	}
}

// nonEmpty returns the strings that are not empty, so that missing fields leave no gap.
func nonEmpty(ss ...string) []string {
	var out []string
	for _, s := range ss {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// pair prints left and right at the two edges of one line, or on lines of their own if there are
// not two columns between them.
func (c *composer) pair(left, right string, st Style) {
	if left == "" && right == "" {
		return
	}
	free := c.columns - (Width(left)+Width(right))*st.widthFactor()
	if free >= 2 || (free >= 0 && (left == "" || right == "")) {
		var l Line
		if left != "" {
			l.Spans = append(l.Spans, Span{Text: left, Style: st})
		}
		if right != "" {
			l.space(free, Style{Height: st.Height})
			l.Spans = append(l.Spans, Span{Text: right, Style: st})
		}
		c.add(l)
		return
	}
	// Too long for one line. A word wider than the paper at double width prints in normal width
	// rather than broken.
	for _, s := range []string{left, right} {
		if s != "" {
			fit := st
			if widestWord(s)*st.widthFactor() > c.columns {
				fit.Width = 1
			}
			c.flow(paragraph{text: s, style: fit})
		}
	}
}
