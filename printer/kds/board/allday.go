package board

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A Count says how many of one item are still to be made.
type Count struct {
	Quantity  string   `json:"quantity"` // a decimal; text if the item's quantity is no number
	Name      string   `json:"name"`
	Modifiers []string `json:"modifiers,omitempty"` // "2x extra cheese"
	Course    string   `json:"course,omitempty"`
	Cards     int      `json:"cards"` // how many cards have it
}

// AllDay returns the all-day counts of cards: how many of each item are still to be made, the
// largest count first. It counts items that are on open cards, not done and not void, grouped by
// name and modifiers; notes do not separate what is cooked alike. course limits it to one course;
// empty is all. A cancellation is not subtracted from another card's count: what it cancels counts
// until a cook marks it done or bumps it.
func AllDay(cards []*Card, course string) []Count {
	var tallies tallies
	for _, c := range cards {
		for i, it := range c.Items {
			if c.State == Open && it.Depth == 0 && !it.Done && !it.Void && (course == "" || it.Course == course) {
				tallies.add(c.Job, it, modifiers(c.Items[i+1:]))
			}
		}
	}
	slices.SortStableFunc(tallies.list, func(a, b *tally) int {
		if c := b.sum.Cmp(&a.sum); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	counts := make([]Count, len(tallies.list))
	for i, t := range tallies.list {
		counts[i] = t.Count
		if counts[i].Quantity = t.text; t.text == "" {
			counts[i].Quantity = formatQuantity(&t.sum)
		}
	}
	return counts
}

// A tally is a Count under construction.
type tally struct {
	Count
	sum     big.Rat
	text    string // the quantity, if it is no number
	lastJob uint64 // the last job that had it, to count each card once
}

// tallies collect counts by what makes two items the same to a cook.
type tallies struct {
	list []*tally // in order of first appearance
	by   map[string]*tally
}

// add counts one item. Quantities are added as exact fractions: three times 0.1 must be 0.3 on the
// screen.
func (a *tallies) add(job uint64, it Item, mods []string) {
	n, ok := parseQuantity(it.Quantity)
	text := ""
	if !ok {
		text = it.Quantity
	}
	key := strings.Join(append([]string{text, it.Course, it.Name}, mods...), "\x00")
	t := a.by[key]
	if t == nil {
		t = &tally{Count: Count{Name: it.Name, Modifiers: mods, Course: it.Course}, text: text}
		if a.by == nil {
			a.by = map[string]*tally{}
		}
		a.by[key], a.list = t, append(a.list, t)
	}
	if ok {
		t.sum.Add(&t.sum, n)
	}
	if t.Cards == 0 || t.lastJob != job {
		t.Cards, t.lastJob = t.Cards+1, job
	}
}

// modifiers are the lines under an item, up to the next item.
func modifiers(items []Item) (out []string) {
	for _, it := range items {
		if it.Depth == 0 {
			break
		}
		// A modifier that was cancelled is not made; the item itself is.
		if it.Void {
			continue
		}
		s := strings.Repeat("› ", min(it.Depth-1, 8)) + it.Name
		if it.Quantity != "1" {
			s = it.Quantity + "x " + s
		}
		out = append(out, s)
	}
	return out
}

// maxDecimals bounds the fraction of a quantity; a longer one is treated as text, so that a hostile
// number cannot cost memory.
const maxDecimals = 6

// parseQuantity reads digits with an optional fraction. Anything else is text. ParseFloat refuses
// what the loop lets through: no digit at all.
func parseQuantity(s string) (*big.Rat, bool) {
	whole, part, _ := strings.Cut(s, ".")
	if len(whole) > 12 || len(part) > maxDecimals {
		return nil, false
	}
	for _, digits := range []string{whole, part} {
		if strings.Trim(digits, "0123456789") != "" {
			return nil, false
		}
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// formatQuantity is the decimal without trailing zeros.
func formatQuantity(r *big.Rat) string {
	s := r.FloatString(maxDecimals)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
