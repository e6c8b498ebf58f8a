package board

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A Count says how many of one item are still to be made.
type Count struct {
	Name     string    `json:"name"`
	Quantity string    `json:"quantity"` // a decimal; text if the item's quantity is no number
	Course   string    `json:"course,omitempty"`
	Orders   int       `json:"orders"` // how many orders have it
	Variants []Variant `json:"variants"`
}

// A Variant is one way in which an item is made.
type Variant struct {
	Quantity  string   `json:"quantity"`
	Modifiers []string `json:"modifiers,omitempty"` // "2x extra cheese"
	Orders    int      `json:"orders"`
}

// AllDay returns the all-day counts of orders: how many of each item are still to be made, the largest
// count first. It counts items of open tickets that are not done and not void, by name, and below it by
// modifiers; notes do not separate what is cooked alike. course limits it to one course; empty is all.
func AllDay(orders []*Order, course string) []Count {
	var totals tallies
	variants := map[*tally]*tallies{}
	for _, o := range orders {
		for _, k := range o.Tickets {
			for i, it := range k.Items {
				if k.State != Open || it.Depth != 0 || it.Done || it.Void || course != "" && it.Course != course {
					continue
				}
				t := totals.add(o, it, nil)
				if variants[t] == nil {
					variants[t] = &tallies{}
				}
				variants[t].add(o, it, modifiers(k.Items[i+1:]))
			}
		}
	}
	counts := []Count{}
	for _, t := range totals.sorted() {
		c := Count{Name: t.name, Quantity: t.quantity(), Course: t.course, Orders: t.orders}
		for _, v := range variants[t].sorted() {
			c.Variants = append(c.Variants, Variant{v.quantity(), v.modifiers, v.orders})
		}
		counts = append(counts, c)
	}
	return counts
}

// A tally counts items that are the same to a cook.
type tally struct {
	name, course string
	modifiers    []string
	sum          big.Rat
	text         string // the quantity, if it is no number
	orders       int
	last         *Order // the last order that had it, to count each once
}

// quantity is what is counted, as text.
func (t *tally) quantity() string {
	if t.text != "" {
		return t.text
	}
	return formatQuantity(&t.sum)
}

// tallies are several, in order of first appearance.
type tallies struct {
	list []*tally
	by   map[string]*tally
}

// sorted returns them with the largest first.
func (a *tallies) sorted() []*tally {
	slices.SortStableFunc(a.list, func(x, y *tally) int {
		return cmp.Or(y.sum.Cmp(&x.sum), strings.Compare(x.name, y.name))
	})
	return a.list
}

// add counts one item. Quantities are added as exact fractions: three times 0.1 must be 0.3 on the screen.
func (a *tallies) add(o *Order, it Item, mods []string) *tally {
	n, ok := parseQuantity(it.Quantity)
	text := ""
	if !ok {
		text = it.Quantity
	}
	key := strings.Join(append([]string{text, it.Course, it.Name}, mods...), "\x00")
	t := a.by[key]
	if t == nil {
		t = &tally{name: it.Name, course: it.Course, modifiers: mods, text: text}
		if a.by == nil {
			a.by = map[string]*tally{}
		}
		a.by[key], a.list = t, append(a.list, t)
	}
	if ok {
		t.sum.Add(&t.sum, n)
	}
	if t.last != o {
		t.orders, t.last = t.orders+1, o
	}
	return t
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
