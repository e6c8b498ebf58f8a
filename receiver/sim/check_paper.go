package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"ticketrail/receiver/contract"
)

// An Output is where the tickets of the endpoint under test come out. Only what comes out shows
// whether an order that was answered 200 is cooked, and cooked once.
type Output struct {
	// Slips returns every ticket that came out so far. Required.
	Slips func(context.Context) ([]Slip, error)
	// Off switches the printer or display off and on. Stall lets it accept connections and do nothing
	// else. Nil: it cannot be done.
	Off, Stall func(on bool) error
	// Within is how long a ticket is waited for while no other comes. Quiet is for how long nothing
	// more must come, so that a second ticket is not missed. Defaults: 30 s and 2 s.
	Within, Quiet time.Duration
}

// A Slip is one ticket.
type Slip struct {
	Text     string // with a line break behind each line
	Pictures string // the dots of its pictures; empty: it has none
}

const (
	// mostWait is how long tickets are waited for in all, while others come.
	mostWait = time.Minute
	// countPause is between two looks at the output. A command to show it takes some time of its own.
	countPause = 200 * time.Millisecond
)

// A sentRequest is what was sent under one id.
type sentRequest struct {
	row      string
	records  []any
	accepted bool
	unsure   bool // an attempt has no answer, or one that says nothing about the order
	doubt    bool // it may come out twice
	lone     bool // nothing was out of order, and there was no burst
}

// expect remembers a request for the comparison with the paper; status 0 is no answer. A request that has
// no id was wrong on purpose, and nothing of it is expected.
func (t *tester) expect(body []byte, status int) {
	request, _ := decode(body)
	o := Order{request: request}
	first, _ := o.first()
	id, _ := first[contract.FieldID].(string)
	if id == "" {
		return
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sent[id]
	if s == nil {
		s = &sentRequest{row: t.row, doubt: t.doubt, lone: !t.alone}
		t.sent[id] = s
	}
	ok := status == 200 || status == 202
	if s.records == nil || ok {
		s.records, _ = request[contract.FieldRecords].([]any)
	}
	s.accepted = s.accepted || ok
	s.unsure = s.unsure || status == 0 || status >= 500
}

// A wanted is one line that must be on the paper.
type wanted struct {
	row, number, name, note string
	top                     string // the name of the item that it modifies; empty: it is an item
	quantity                int
	void                    bool
	lone                    bool
	min, max                int // how many requests had it: accepted ones, and those that may be

	folded string
	pages  []*sheet // that have it
	n      int      // how often they do
	drawn  bool     // they have a picture instead
}

// wanted lists what must be on the paper, by number and name.
func (c *checker) wanted() []*wanted {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := map[[2]string]*wanted{}
	for _, s := range c.sent {
		for _, r := range s.records {
			record, _ := r.(map[string]any)
			number := fmt.Sprint(record[fieldNumber])
			var walk func(items any, top string)
			walk = func(items any, top string) {
				list, _ := items.([]any)
				for _, one := range list {
					it, _ := one.(map[string]any)
					name, _ := it[contract.FieldName].(string)
					if name == "" {
						continue // wrong on purpose
					}
					w := lines[[2]string{number, name}]
					if w == nil {
						w = &wanted{row: s.row, number: number, name: name, top: top, lone: s.lone, folded: fold(name)}
						lines[[2]string{number, name}] = w
					}
					w.quantity, _ = strconv.Atoi(fmt.Sprint(it[fieldQuantity]))
					w.note, _ = it[fieldNote].(string)
					if void, _ := it[contract.FieldIsVoid].(bool); void {
						w.void = true
					}
					if s.accepted {
						w.min++
					}
					switch {
					case s.doubt && (s.accepted || s.unsure):
						w.max += 1000
					case s.accepted || s.unsure:
						w.max++
					}
					walk(it[fieldChildren], cmp.Or(top, name))
				}
			}
			walk(record[fieldItems], "")
		}
	}
	return slices.SortedFunc(maps.Values(lines), func(a, b *wanted) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
}

// A sheet is a slip, prepared for searching: a layout may use capitals, break a name over lines, leave out
// accents and put dots between a name and its quantity.
type sheet struct {
	Slip
	lines   []string
	folded  string // the letters and digits of all lines
	line    []int  // of each byte of folded, the index of its line
	numbers map[string]bool
	items   []itemAt
	without *sheet // the result of unmarked
}

// An itemAt is where an item begins on a sheet.
type itemAt struct {
	at int
	w  *wanted
}

// fold keeps letters and digits, in capitals and without accents.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToUpper(r)
		}
		return -1
	}, norm.NFKD.String(s))
}

var digits = regexp.MustCompile(`\d+`)

func newSheet(s Slip) *sheet {
	p := &sheet{Slip: s, lines: strings.Split(s.Text, "\n"), numbers: map[string]bool{}}
	for _, n := range digits.FindAllString(s.Text, -1) {
		p.numbers[n] = true
	}
	p.fold(p.lines)
	return p
}

func (p *sheet) fold(lines []string) {
	var all strings.Builder
	for i, l := range lines {
		f := fold(l)
		all.WriteString(f)
		p.line = append(p.line, slices.Repeat([]int{i}, len(f))...)
	}
	p.folded = all.String()
}

// unmarked is the sheet without the words that a line begins with like the line before it: a layout may
// repeat a mark, such as VOID, on each line of a name.
func (p *sheet) unmarked() *sheet {
	if p.without == nil {
		lines := slices.Clone(p.lines)
		for i := len(lines) - 1; i > 0; i-- {
			n := 0
			for n < min(len(lines[i]), len(lines[i-1])) && lines[i][n] == lines[i-1][n] {
				n++
			}
			lines[i] = lines[i][strings.LastIndex(lines[i][:n], " ")+1:]
		}
		p.without = &sheet{Slip: p.Slip, lines: p.lines, numbers: p.numbers}
		p.without.fold(lines)
	}
	return p.without
}

// find returns where a folded text begins, each time. A layout for Arabic may reverse it.
func (p *sheet) find(folded string) (at []int) {
	for from := 0; folded != ""; {
		i := strings.Index(p.folded[from:], folded)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + len(folded)
	}
	if at == nil && unicode.Is(unicode.Arabic, []rune(folded + " ")[0]) {
		r := []rune(folded)
		slices.Reverse(r)
		if i := strings.Index(p.folded, string(r)); i >= 0 {
			return []int{i}
		}
	}
	return at
}

// around is the text of the lines with a name, and of those beside it that have only a number.
func (p *sheet) around(at, length int) string {
	first, last := p.line[at], p.line[at+length-1]
	if first > 0 && onlyNumber.MatchString(p.lines[first-1]) {
		first--
	}
	if last+1 < len(p.lines) && onlyNumber.MatchString(p.lines[last+1]) {
		last++
	}
	return strings.Join(p.lines[first:last+1], " ")
}

var onlyNumber = regexp.MustCompile(`^[\sxX×*.-]*\d+[\sxX×*.,0]*$`)

// says is what the paper says where a folded text was looked for: the line that begins like it, else the
// beginning of the slip.
func (p *sheet) says(folded string) string {
	begin := []rune(folded)
	for n := len(begin); n > 2; n-- {
		if i := strings.Index(p.folded, string(begin[:n])); i >= 0 {
			return quote(p.lines[p.line[i]])
		}
	}
	return quote(strings.Join(p.lines, " / "))
}

func quote(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100]) + "…"
	}
	return strconv.Quote(s)
}

// The kinds of what can be wrong on paper, in the order of [checker.paperRows].
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

// A problem is one difference, and the row that sent what was looked for.
type problem struct{ row, text string }

func (k *comparison) problem(kind int, w *wanted, format string, args ...any) {
	text := "#" + w.number + " " + fmt.Sprintf(format, args...)
	k.problems[kind] = append(k.problems[kind], problem{w.row, text})
}

// compare looks for everything that was sent, on the slips that have the order's number.
func (c *checker) compare(slips []Slip) *comparison {
	k := &comparison{
		byNumber: map[string][]*sheet{}, orders: map[string][]*wanted{}, drawn: map[string]string{},
		usual: map[string]bool{},
	}
	for _, s := range slips {
		p := newSheet(s)
		k.pages = append(k.pages, p)
		for n := range p.numbers {
			k.byNumber[n] = append(k.byNumber[n], p)
		}
	}
	all := c.wanted()
	for _, w := range all {
		k.locate(w)
		k.orders[w.number] = append(k.orders[w.number], w)
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
		if w := lines[0]; w.lone && w.min == 1 && w.max == 1 && w.n > 0 {
			votes[w.n]++
		}
		if slices.ContainsFunc(lines, func(w *wanted) bool { return w.void }) {
			continue
		}
		for _, p := range k.byNumber[number] {
			maps.Copy(k.usual, words(p.Text))
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

// line judges where a line is, and what is with it.
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
		// If the pictures of two orders are the same, they do not show what was ordered.
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
	for word := range words(p.Text) {
		if !k.usual[word] && !strings.Contains(own.String(), word) {
			return true
		}
	}
	return w.drawn && p.Pictures != w.pages[0].Pictures
}

// words are the words of a slip. What has digits may be the id of the request; a minus before a number is
// a word.
func words(text string) map[string]bool {
	all := map[string]bool{}
	for _, f := range strings.Fields(text) {
		if w := fold(f); len(w) > 2 && !digits.MatchString(w) {
			all[w] = true
		}
	}
	if negative.MatchString(text) {
		all["minus"] = true
	}
	return all
}

var negative = regexp.MustCompile(`(^|\s)[-−]\s?\d`)

// settle waits until all that was accepted came out, and then for a while, in which more may come. It
// gives up when no ticket has come for as long as one may take: a third of that and once only between
// two scenarios. It is waiting if tickets still came at the end.
func (c *checker) settle(atEnd bool) (waiting bool, err error) {
	if c.o.Output == nil {
		return false, nil
	}
	var k *comparison
	within, began := cmp.Or(c.o.Output.Within, 30*time.Second), time.Now()
	gaveUp := 0
	if !atEnd {
		within, gaveUp = within/3, c.gaveUp
	}
	last, lastAt := -1, began
	for {
		slips, err := c.o.Output.Slips(c.ctx)
		if err != nil {
			return false, err
		}
		if len(slips) != last {
			k, last, lastAt = c.compare(slips), len(slips), time.Now()
		}
		done := len(k.problems[lost]) <= gaveUp
		waiting = !done && time.Since(lastAt) < within
		if done || !waiting || time.Since(began) > mostWait || !sleep(c.ctx, countPause) {
			c.gaveUp = len(k.problems[lost])
			return waiting, nil
		}
	}
}

// paperRows are what the paper shows, after everything was sent.
func (c *checker) paperRows() (all []row) {
	var k *comparison
	unseen := "nothing sees what comes out"
	if c.o.Output != nil {
		waiting, err := c.settle(true)
		if err == nil {
			sleep(c.ctx, cmp.Or(c.o.Output.Quiet, 2*time.Second))
			var slips []Slip
			if slips, err = c.o.Output.Slips(c.ctx); err == nil {
				k, unseen = c.compare(slips), ""
			}
		}
		switch {
		case err != nil:
			unseen = err.Error()
		case !k.legible && len(k.pages) > 0:
			unseen = fmt.Sprintf("%d tickets came out, and none has what was sent as text", len(k.pages))
		case waiting:
			unseen = fmt.Sprintf("tickets still come out after %s", mostWait)
		}
	}

	for kind, r := range [kinds][2]string{
		{"every order that was accepted", "comes out"},
		{"every order that was accepted", "does not come out twice"},
		{"orders that were refused", "never come out"},
		{"every name", "on the slip of its order"},
		{"names in four scripts", "in their letters, or drawn"},
		{"every quantity", "with its name"},
		{"every note", "with its item"},
		{"every modifier", "under its item"},
		{"every void", "unlike an order"},
		{"the order's number", "on each of its slips"},
	} {
		all = append(all, row{"6.4", "what comes out: " + r[0], r[1], true, func(*tester) (string, Verdict) {
			if unseen != "" {
				return unseen, Unseen
			}
			return k.result(kind)
		}})
	}
	return all
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
