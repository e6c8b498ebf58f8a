package ticket

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A dish is a line of an order as the waiter knows it.
type dish struct {
	name, seat, note, modifier string
	ordered, voided            int
	parts                      []int // how many were voided each time
}

// key is what tells it from other dishes on paper.
func (d *dish) key() string { return d.name + "@" + d.seat + "!" + d.note + ">" + d.modifier }

// lines are the dish as a service may send it, live or void.
func (d *dish) lines(n int, void bool) []Line {
	if n == 0 {
		return nil
	}
	l := Line{Quantity: fmt.Sprint(n), Name: d.name, Seat: d.seat, Void: void}
	if d.note != "" {
		l.Notes = []string{d.note}
	}
	out := []Line{l}
	if d.modifier != "" {
		out = append(out, Line{Depth: 1, Quantity: "1", Name: d.modifier, Void: void})
	}
	return out
}

func TestACopyNeverCancelsADishThatIsWanted(t *testing.T) {
	// Services differ in how they send a void. Whatever they do, a copy never cancels a dish that is wanted;
	// and if it says nothing about later voids, it has exactly the dishes that are wanted.
	rapid.Check(t, func(t *rapid.T) {
		pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		dishes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *dish {
			return &dish{
				name: pick("name", "Fish", "Fish", "Pie"), seat: pick("seat", "", "", "1"),
				note: pick("note", "", "", "raw"), modifier: pick("modifier", "", "", "Egg"),
				ordered: rapid.IntRange(1, 3).Draw(t, "quantity"),
			}
		}), 1, 4).Draw(t, "dishes")
		merged := rapid.Bool().Draw(t, "one line for all voids of a dish")
		keepsOrder := rapid.Bool().Draw(t, "a dish keeps the quantity as ordered")
		style := pick("voids have", "all", "all", "a note", "a note that changes", "no seat", "no modifier", "nothing")
		content := func(arrival int) (lines []Line) {
			for _, d := range dishes {
				live := d.ordered - d.voided
				if keepsOrder && live > 0 {
					live = d.ordered
				}
				lines = append(lines, d.lines(live, false)...)
				parts := d.parts
				if merged {
					parts = []int{d.voided}
				}
				for _, n := range parts {
					v := *d
					switch style {
					case "a note":
						v.note = "void"
					case "a note that changes":
						v.note = fmt.Sprint("void at ", arrival)
					case "no seat":
						v.seat = ""
					case "no modifier":
						v.modifier = ""
					case "nothing":
						v.seat, v.note, v.modifier = "", "", ""
					}
					lines = append(lines, v.lines(n, true)...)
				}
			}
			return lines
		}
		first := order142("")
		first.Lines = content(0)
		var contents [][]Line
		for i := range rapid.IntRange(0, 4).Draw(t, "arrivals") {
			for range rapid.IntRange(0, 2).Draw(t, "voids") {
				d := rapid.SampledFrom(dishes).Draw(t, "dish")
				if n := rapid.IntRange(0, d.ordered-d.voided).Draw(t, "of it"); n > 0 {
					d.voided += n
					d.parts = append(d.parts, n)
				}
			}
			contents = append(contents, content(i+1))
		}
		later := resent(first, contents...)
		now, _ := Cancel(first, "grill", later)

		key := (*dish).key
		if strings.HasPrefix(style, "no") { // then nobody can know which of two dishes is meant
			key = func(d *dish) string { return d.name }
		}
		wanted, printed := map[string]int{}, map[string]int{}
		for _, d := range dishes {
			wanted[key(d)] += d.ordered - d.voided
		}
		for i, l := range now.Lines {
			if l.Depth > 0 || l.Void {
				continue
			}
			d := dish{name: l.Name, seat: l.Seat, note: strings.Join(l.Notes, " ")}
			if i+1 < len(now.Lines) && now.Lines[i+1].Depth > 0 && !now.Lines[i+1].Void {
				d.modifier = now.Lines[i+1].Name
			}
			var n int
			if _, err := fmt.Sscan(l.Quantity, &n); err != nil || n < 1 {
				t.Fatalf("quantity %q", l.Quantity)
			}
			printed[key(&d)] += n
		}
		for key, n := range wanted {
			if printed[key] < n || printed[key] > n && len(now.Later) == 0 {
				t.Fatalf("%d of %s are wanted, %d are printed: %s\nordered %s\nlater %v",
					n, key, printed[key], show(now), show(first), contents)
			}
		}
		if len(later) == 0 && cmp.Diff(first, now) != "" {
			t.Fatalf("nothing was voided, and %s became %s", show(first), show(now))
		}
		again, _ := Cancel(first, "grill", later)
		if d := cmp.Diff(now, again); d != "" {
			t.Fatalf("not the same twice: %s", d)
		}
	})
}
