package sim

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A sheet is a slip, prepared for searching: a layout may use capitals, break a name over lines, leave out
// accents and put dots between a name and its quantity.
type sheet struct {
	Slip
	lines   []string
	folded  string // the letters and digits of all lines
	line    []int  // of each byte of folded, the index of its line
	numbers map[string]bool
	words   map[string]bool
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
	p := &sheet{Slip: s, lines: strings.Split(s.Text, "\n"), numbers: map[string]bool{}, words: words(s.Text)}
	for _, n := range digits.FindAllString(s.Text, -1) {
		p.numbers[n] = true
	}
	p.fold(p.lines)
	return p
}

func (p *sheet) fold(lines []string) {
	var all strings.Builder

	for i, l := range lines {
		folded := fold(l)
		all.WriteString(folded)
		p.line = append(p.line, slices.Repeat([]int{i}, len(folded))...)
	}

	p.folded = all.String()
}

// unmarked is the sheet without the words that a line begins with like the line before it: a layout may
// repeat a mark, such as VOID, on each line of a name.
func (p *sheet) unmarked() *sheet {
	if p.without == nil {

		lines := slices.Clone(p.lines)
		for end := len(lines) - 1; end > 0; end-- {
			same := 0
			for same < min(len(lines[end]), len(lines[end-1])) && lines[end][same] == lines[end-1][same] {
				same++
			}
			lines[end] = lines[end][strings.LastIndex(lines[end][:same], " ")+1:]
		}

		p.without = &sheet{Slip: p.Slip, lines: p.lines, numbers: p.numbers, words: p.words}
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
		runes := []rune(folded)
		slices.Reverse(runes)
		if i := strings.Index(p.folded, string(runes)); i >= 0 {
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

// says quotes the paper where a folded text was looked for: the line that begins like it, else the
// beginning of the slip.
func (p *sheet) says(folded string) string {

	begin := []rune(folded)
	for length := len(begin); length > 2; length-- {
		if at := strings.Index(p.folded, string(begin[:length])); at >= 0 {
			return quote(p.lines[p.line[at]])
		}
	}

	return quote(strings.Join(p.lines, " / "))
}

func quote(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > 100 {
		s = string(runes[:100]) + "…"
	}
	return strconv.Quote(s)
}

// words are the words of a slip. A word with digits may be the id of the request; a minus before a number is
// a word.
func words(text string) map[string]bool {
	all := map[string]bool{}

	for _, f := range strings.Fields(text) {
		if word := fold(f); len(word) > 2 && !digits.MatchString(word) {
			all[word] = true
		}
	}

	if negative.MatchString(text) {
		all["minus"] = true
	}

	return all
}

var negative = regexp.MustCompile(`(^|\s)[-−]\s?\d`)
