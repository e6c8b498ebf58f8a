package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The kinds of problems on paper, in the order of [checker.paperRows].
const (
	lost = iota
	twice
	notOrdered
	missing
	scriptLost
	wrongQuantity
	noNote
	notUnder
	notVoid
	wrongNumber
	kinds
)

// A comparison of everything that was sent with everything that came out.
type comparison struct {
	pages    []*sheet
	byNumber map[string][]*sheet
	orders   map[string][]*wanted // by number
	copies   int                  // how often a lone order comes out, such as at the station and at the pass
	problems [kinds][]problem
	looked   [kinds]int        // how much was looked for
	drawn    map[string]string // numbers of orders with names in pictures, by the pictures
	usual    map[string]bool   // words on the slips of orders without a void
	legible  bool              // something that was sent is on a slip as text
}

// A problem is one difference, and the row that sent the line.
type problem struct{ row, text string }

func (k *comparison) problem(kind int, w *wanted, format string, args ...any) {
	text := "#" + w.number + " " + fmt.Sprintf(format, args...)
	k.problems[kind] = append(k.problems[kind], problem{w.row, text})
}

// compare looks for everything that was sent, on the slips that have the order's number; of each order only for its
// first line, unless all is true.
func (c *checker) compare(slips []Slip, all bool) *comparison {
	k := &comparison{
		byNumber: map[string][]*sheet{}, orders: map[string][]*wanted{}, drawn: map[string]string{},
		usual: map[string]bool{},
	}

	for _, s := range slips {
		page := c.sheets[s]
		if page == nil {
			page = newSheet(s)
			c.sheets[s] = page
		}

		page.items = nil
		k.pages = append(k.pages, page)
		for n := range page.numbers {
			k.byNumber[n] = append(k.byNumber[n], page)
		}
	}

	for _, w := range c.wanted() {
		if all || k.orders[w.number] == nil {
			k.locate(w)
			k.orders[w.number] = append(k.orders[w.number], w)
		}
	}

	k.learn()

	for _, number := range slices.Sorted(maps.Keys(k.orders)) {
		k.order(number, k.orders[number])
	}
	return k
}

// locate finds a line on the slips that have its number, else on the others.
func (k *comparison) locate(w *wanted) {
	ours := k.byNumber[w.number]

	for _, among := range [][]*sheet{ours, k.pages} {
		for _, p := range among {
			at := p.find(w.folded)
			if len(at) == 0 {
				p = p.unmarked()
				at = p.find(w.folded)
			}
			if len(at) > 0 {
				w.pages, w.n, k.legible = append(w.pages, p), w.n+len(at), true
				for _, i := range at {
					p.items = append(p.items, itemAt{i, w})
				}
			}
		}
		if w.n > 0 {
			return
		}
	}

	if ascii(w.name) {
		return
	}

	// A printer has few letters of other scripts, and the rest is drawn.
	for _, p := range ours {
		if p.Pictures != "" {
			w.pages, w.n, w.drawn = append(w.pages, p), w.n+1, true
		}
	}
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// learn learns how often an order comes out, and which words every slip may have.
func (k *comparison) learn() {
	votes := map[int]int{}
	for number, lines := range k.orders {
		if lone := lines[0]; lone.lone && lone.min == 1 && lone.max == 1 && lone.n > 0 {
			votes[len(lone.pages)]++
		}

		if slices.ContainsFunc(lines, func(w *wanted) bool { return w.void }) {
			continue
		}
		for _, p := range k.byNumber[number] {
			maps.Copy(k.usual, p.words)
		}
	}

	k.copies = 1
	for n, v := range votes {
		if v > votes[k.copies] {
			k.copies = n
		}
	}
}

// order judges the lines of one number.
func (k *comparison) order(number string, lines []*wanted) {
	anything := len(k.byNumber[number]) > 0 || slices.ContainsFunc(lines, func(w *wanted) bool { return w.n > 0 })

	for _, w := range lines {
		most, least := w.max*k.copies, w.min*k.copies
		switch {
		case w.max == 0:
			k.looked[notOrdered]++
			if w.n > 0 {
				k.problem(notOrdered, w, "%q came out", w.name)
			}
			continue
		case w.n > most:
			k.problem(twice, w, "%q came out %d times, wanted %d", w.name, w.n, most)
		}
		k.looked[twice]++
		if w.min == 0 {
			continue
		}

		kind := missing
		if !ascii(w.name) {
			kind = scriptLost
		}
		k.looked[kind]++
		if w.n == 0 && anything {
			says := "nothing of it"
			if ours := k.byNumber[number]; len(ours) > 0 {
				says = ours[0].says(w.folded)
			}
			k.problem(kind, w, "looked for %q, the paper says %s", w.name, says)
		}

		if w == lines[0] {
			k.looked[lost]++
			if w.n < least && (w.n > 0 || !anything) {
				k.problem(lost, w, "%q came out %d times, wanted %d", w.name, w.n, least)
			}
		}

		if w.n > 0 {
			k.line(w)
		}
	}
}

// line judges the place of a line, and the texts with it.
func (k *comparison) line(w *wanted) {
	somewhere := func(kind int, looked string, ok func(*sheet) bool, says func(*sheet) string) {
		k.looked[kind]++
		if !slices.ContainsFunc(w.pages, ok) {
			k.problem(kind, w, "looked for %s, the paper says %s", looked, says(w.pages[len(w.pages)-1]))
		}
	}
	whole := func(p *sheet) string { return quote(strings.Join(p.lines, " / ")) }

	somewhere(wrongNumber, fmt.Sprintf("the number with %q", w.name),
		func(p *sheet) bool { return p.numbers[w.number] }, whole)

	if w.drawn {
		// If the pictures of two orders are the same, they do not show the dishes.
		for _, p := range w.pages {
			if other := cmp.Or(k.drawn[p.Pictures], w.number); other != w.number {
				k.problem(scriptLost, w, "looked for %q, the picture is that of #%s", w.name, other)
			}
			k.drawn[p.Pictures] = w.number
		}
	} else if w.quantity > 1 {
		near := func(p *sheet) string { return p.around(p.find(w.folded)[0], len(w.folded)) }
		somewhere(wrongQuantity, fmt.Sprintf("%d with %q", w.quantity, w.name), func(p *sheet) bool {
			return slices.Contains(digits.FindAllString(near(p), -1), strconv.Itoa(w.quantity))
		}, func(p *sheet) string { return quote(near(p)) })
	}

	if w.note != "" {
		note := fold(w.note)
		somewhere(noNote, fmt.Sprintf("the note %q", w.note), func(p *sheet) bool {
			return len(p.find(note)) > 0 || p.Pictures != "" && !ascii(w.note)
		}, func(p *sheet) string { return p.says(note) })
	}

	if w.void {
		somewhere(notVoid, fmt.Sprintf("a word for the void of %q that other slips have not", w.name),
			func(p *sheet) bool { return k.saysVoid(w, p) }, whole)
	}

	if w.top != "" && !w.drawn {
		somewhere(notUnder, fmt.Sprintf("%q under %q", w.name, w.top),
			func(p *sheet) bool { return p.itemAbove(w) == w.top }, func(p *sheet) string {
				return fmt.Sprintf("it is under %q", p.itemAbove(w))
			})
	}
}

// itemAbove is the item of the same order that is the last before a modifier.
func (p *sheet) itemAbove(w *wanted) (name string) {
	at, last := p.find(w.folded)[0], -1

	for _, i := range p.items {
		if i.w.top == "" && i.w.number == w.number && i.at < at && i.at > last {
			name, last = i.w.name, i.at
		}
	}

	return name
}

// saysVoid looks for a word that is on no slip of an order without a void: every language and layout has
// its own. A minus before a number is such a word.
func (k *comparison) saysVoid(w *wanted, p *sheet) bool {
	var own strings.Builder
	for _, o := range k.orders[w.number] {
		own.WriteString(o.folded + fold(o.note))
	}

	for word := range p.words {
		if !k.usual[word] && !strings.Contains(own.String(), word) {
			return true
		}
	}

	return w.drawn && p.Pictures != w.pages[0].Pictures
}

// result shows the first problem of each row that has some.
func (k *comparison) result(kind int) (string, Verdict) {
	problems := k.problems[kind]
	if len(problems) == 0 && k.looked[kind] == 0 {
		return "none came out", Unseen
	}

	if len(problems) == 0 {
		return fmt.Sprintf("all %d", k.looked[kind]), Pass
	}

	var rows []string
	count, first := map[string]int{}, map[string]string{}
	for _, p := range problems {
		if count[p.row]++; count[p.row] == 1 {
			rows, first[p.row] = append(rows, p.row), p.text
		}
	}

	got := fmt.Sprintf("%d of %d not", len(problems), k.looked[kind])
	for i, row := range rows {
		if i == 4 {
			got += fmt.Sprintf("; and of %d more rows", len(rows)-i)
			break
		}
		got += fmt.Sprintf("; %d of %q: %s", count[row], row, first[row])
	}

	return got, Fail
}
