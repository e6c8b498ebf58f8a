package printer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// copies are the papers of one ticket.
type copies struct{ whole, marked, torn, tornMarked int }

func (c copies) String() string {
	var s []string
	for _, n := range []struct {
		n    int
		what string
	}{{c.whole, "whole"}, {c.marked, "marked"}, {c.torn, "torn"}, {c.tornMarked, "torn marked"}} {
		if n.n > 0 {
			s = append(s, fmt.Sprint(n.n, " ", n.what))
		}
	}
	if s == nil {
		return "(no paper)"
	}
	return "(" + strings.Join(s, ", ") + ")"
}

// A drawing is how the drawn lines of the tickets look on paper, and how many bytes such a line has.
type drawing struct {
	dots [tickets + 1]string
	size int
}

// draw prints the tickets on a printer in order.
func draw(t *testing.T, w wire) (d drawing) {
	k, dev, p := setUp(t, w, virtual.Options{Can: capabilities[0].can})
	for n := 1; n <= tickets; n++ {
		assert.Equal(t, deliver(t.Context(), p, n, 0).outcome, string(ticket.Confirmed))
	}
	hangUp(dev)
	k.idle()
	n := 0
	for _, text := range texts(k.Tickets()) {
		if strings.HasPrefix(text, "[") {
			n++
			d.dots[n] = text
		}
	}
	for _, x := range k.Tickets()[:1] {
		for _, i := range x.Images {
			d.size += 8 + len(i.Bits)
		}
	}
	return d
}

// find looks for the papers of the n-th ticket in the lines that came out. A copy begins at its head, or with any
// other line of it that does not follow the one before.
func find(paper []string, n int, drawn string) (c copies) {
	parts := []string{fmt.Sprintf("#%d", 100+n), fmt.Sprintf("Soup %02d", n), fmt.Sprintf("Fish %02d", n), drawn,
		fmt.Sprintf("Cake %02d", n), fmt.Sprintf("Wine %02d", n), fmt.Sprintf("job %d ", n)}
	next, banner, marked := 0, false, false
	end := func(whole bool) {
		switch {
		case whole && marked:
			c.marked++
		case whole:
			c.whole++
		case marked:
			c.tornMarked++
		default:
			c.torn++
		}
		next, marked = 0, false
	}
	for _, text := range paper {
		if strings.Contains(text, "POSSIBLE DUPLICATE") {
			banner = true
			continue
		}
		// A banner belongs to the head behind it.
		if text == cut || strings.Contains(text, "#1") && !strings.Contains(text, parts[0]) {
			banner = false
		}
		i := slices.IndexFunc(parts, func(s string) bool { return strings.Contains(text, s) })
		if i < 0 {
			continue
		}
		if i == 0 && !strings.Contains(text, fmt.Sprintf("Table %d", 20+n)) {
			i = -1 // a head without its table is a torn one
		}
		if next > 0 && i != next {
			end(false)
		}
		if next == 0 {
			marked = banner
		}
		banner = false
		if i != next {
			next = len(parts) + 1 // never whole
			continue
		}
		if next++; next == len(parts) {
			end(true)
		}
	}
	if next > 0 {
		end(false)
	}
	return c
}

const cut = "---"

// texts is the paper as lines of text. Images that follow each other are one, whatever pieces they came in; it is
// written as its dots.
func texts(paper []virtual.Ticket) (all []string) {
	for _, x := range paper {
		dots := map[int]string{}
		for _, i := range x.Images {
			dots[i.Line] = fmt.Sprintf("[%x]", i.Bits)
		}
		drawn := ""
		for n, line := range strings.Split(strings.TrimSuffix(x.Text, "\n"), "\n") {
			if d := dots[n]; d != "" {
				drawn += d
				continue
			}
			all = append(all, drawn, line)
			drawn = ""
		}
		if all = append(all, drawn); x.End == virtual.Cut {
			all = append(all, cut)
		}
	}
	return all
}
