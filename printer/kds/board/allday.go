package board

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Count says how many of one item are still to be made, or of one way in which it is made.
type Count struct {
	Name      string   `json:"name,omitempty"`      // of an item
	Course    string   `json:"course,omitempty"`    // of a way to make it
	Modifiers []string `json:"modifiers,omitempty"` // of a way to make it: "2x extra cheese"
	Later     bool     `json:"later,omitempty"`     // it is not to be begun yet
	Quantity  string   `json:"quantity"`            // a decimal; text if the item's quantity is no number
	Orders    int      `json:"orders"`              // how many orders have it
	Variants  []*Count `json:"variants,omitempty"`  // of an item: the ways to make it

	sum  int64  // of the quantities that are numbers, see parseQuantity
	last *Order // the last order that had it, to count each once
}

// AllDay returns the all-day counts of orders: how many of each item are still to be made, the largest count first. It
// counts items of open tickets that are not done and not void, by name, and below it by course and modifiers; notes do
// not separate equal dishes. Dishes that are not to be begun at now count apart, at the end. course limits it to one
// course; empty is all.
func AllDay(orders []*Order, course string, now time.Time) []*Count {
	counts, by := []*Count{}, map[string]*Count{}
	for _, o := range orders {
		for _, k := range o.Tickets {
			for i, it := range k.Items {
				if k.State != Open || it.Depth != 0 || it.Done || it.Void || course != "" && it.Course != course {
					continue
				}

				text := it.Quantity
				count, ok := parseQuantity(text)
				if ok {
					text = ""
				}

				add := func(list *[]*Count, key []string, c Count) *Count {
					id := strings.Join(key, "\x00")
					if by[id] == nil {
						c.Quantity = text
						by[id], *list = &c, append(*list, &c)
					}
					by[id].add(o, count)
					return by[id]
				}

				later := it.Fire < 0 || it.Fire > now.UnixMilli()
				key := []string{text, it.Name, strconv.FormatBool(later)}
				item := add(&counts, key, Count{Name: it.Name, Later: later})
				mods := modifiers(k.Items[i+1:])
				add(&item.Variants, append(append(key, it.Course), mods...), Count{Course: it.Course, Modifiers: mods})
			}
		}
	}

	finish(counts)
	return counts
}

// add counts one item.
func (c *Count) add(o *Order, millionths int64) {
	c.sum += millionths
	if c.last != o {
		c.Orders, c.last = c.Orders+1, o
	}
}

// finish sorts counts, the largest first and dishes that are not to be begun yet at the end, and writes out their
// sums.
func finish(list []*Count) {
	slices.SortStableFunc(list, func(x, y *Count) int {
		return cmp.Or(strings.Compare(strconv.FormatBool(x.Later), strconv.FormatBool(y.Later)),
			cmp.Compare(y.sum, x.sum), strings.Compare(x.Name, y.Name))
	})

	for _, c := range list {
		if c.Quantity == "" {
			c.Quantity = formatQuantity(c.sum)
		}
		finish(c.Variants)
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
		text := strings.Repeat("› ", min(it.Depth-1, 8)) + it.Name
		if it.Quantity != "1" {
			text = it.Quantity + "x " + text
		}
		out = append(out, text)
	}

	return out
}

// parseQuantity reads at most six digits with a fraction of at most six, in millionths: three times 0.1 must be 0.3 on
// the screen. Anything else is text.
func parseQuantity(s string) (millionths int64, isNumber bool) {
	whole, part, _ := strings.Cut(s, ".")
	if len(whole) > 6 || len(part) > 6 || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseFloat(s, 64)
	return int64(math.Round(number * 1e6)), err == nil
}

// formatQuantity is the decimal without trailing zeros.
func formatQuantity(millionths int64) string {
	return strconv.FormatFloat(float64(millionths)/1e6, 'f', -1, 64)
}
