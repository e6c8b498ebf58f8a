package ticket

import (
	"cmp"
	"slices"
	"strings"
)

// Paper is what has printed under the key of a request. The queue stores it with the key, so that of other
// content under the same key only what is new prints: see [Added].
type Paper struct {
	Lines []PaperLine
	// Partial says that more has printed than Lines has, and nobody knows what.
	Partial bool
}

// A PaperLine is an order, an item of it, or what modifies an item: a line or a note.
type PaperLine struct {
	Key    uint64
	Above  uint64 // the Key of what it belongs to; 0 for an order
	Amount int64  // that has printed, in millionths; a modifier of 2 items counts twice
	Voided int64  // that has printed as void, likewise
	Off    int64  // of Voided, what was void in the place of a line, and not besides it
	Again  int64  // that was wanted again after it was void; of an order, all that was added
	Name   string // for people, shortened
}

// Bounds of a Paper. A service that reuses one id makes it grow with each content.
const (
	maxPaper     = 20_000
	maxPaperName = 40 // bytes
)

// PaperOf is what drafts print.
func PaperOf(drafts []Draft) Paper {
	c := contentOf(drafts)
	p := Paper{}
	for _, l := range c.lines {
		p.add(*l)
	}
	return p
}

func (p *Paper) add(l PaperLine) {
	if len(p.Lines) >= maxPaper {
		p.Partial = true
		return
	}
	p.Lines = append(p.Lines, l)
}

// Cancelled is what is on paper if of a content only the voids have printed.
func (p Paper) Cancelled(drafts []Draft) Paper {
	c := contentOf(drafts)
	stated := c.voided(p)
	p.Lines = slices.Clone(p.Lines)
	for i, l := range p.Lines {
		p.Lines[i] = l.voided(stated[l.Key], c)
	}
	return p
}

// voided is l with what a content has of it as void. A service may list a void in the place of a line, or
// besides it, as a negative quantity. After the first, what is wanted besides the void is new.
func (l PaperLine) voided(stated int64, c *content) PaperLine {
	live := int64(0)
	if now := c.by[l.Key]; now != nil {
		live = now.Amount
	}
	l.Voided = max(l.Voided, stated)
	l.Off = min(max(l.Off, min(stated, l.Amount-live)), l.Voided)
	return l
}

// text is an amount of l, for people.
func (l *PaperLine) text(amount int64) string {
	if l.Above == 0 {
		return cmp.Or(l.Name, "the order")
	}
	return microText(amount) + "x " + l.Name
}

// shortName bounds what is stored of a name.
func shortName(s string) string {
	if len(s) <= maxPaperName {
		return s
	}
	return strings.ToValidUTF8(s[:maxPaperName], "") + "…"
}
