package ticket

import (
	"fmt"
	"testing"
)

func TestVeryManyLinesAreNotMatchedOneByOne(t *testing.T) {
	// A copy is made while the queue stores nothing else. These took minutes, or did not end.
	const n = 20_000
	lines := func(depth int, void bool) []Line {
		out := []Line{{Quantity: "1", Name: "Fish", Void: void}}
		for range n {
			out = append(out, Line{Depth: depth, Quantity: "2", Name: "Egg", Void: void})
		}
		return out
	}
	for _, depth := range []int{0, 1} {
		first := order142("")
		first.Lines = lines(depth, false)
		live := first
		live.Lines = append(lines(depth, true), Line{Quantity: "1", Name: "Pie"})
		whole, voids := order142(""), order142("")
		whole.Kind, whole.Void = Correction, true
		voids.Kind, voids.Void, voids.Lines = Correction, true, lines(depth, true)
		var many []Cancellation
		for i := range uint64(n) {
			c := order142("1Fish-")
			c.Kind, c.Void = Correction, true
			many = append(many, Cancellation{i + 5, i + 2, "grill", c})
		}
		if v := newVoider(live.Lines); len(v.seen) > 0 {
			t.Errorf("%d lines that were void already are compared", len(v.seen))
		}
		for name, c := range map[string]struct {
			t      Ticket
			later  []Cancellation
			voided int
			noted  int
		}{
			"in both":       {first, []Cancellation{{5, 2, "grill", voids}}, 0, 1},
			"in the void":   {order142("1Fish"), []Cancellation{{5, 2, "grill", voids}}, 0, 1},
			"in the ticket": {first, []Cancellation{many[0]}, 0, 1},
			"void already":  {live, []Cancellation{many[0]}, 0, 0},
			"in many voids": {order142("1Fish@1 1Fish@2"), many, 0, maxLater + 1},
			"all void":      {first, []Cancellation{{5, 2, "grill", whole}}, n + 1 - n*depth, 0},
		} {
			t.Run(fmt.Sprint(name, " at depth ", depth), func(t *testing.T) {
				now, voided := Cancel(c.t, "grill", c.later)
				if voided != c.voided || len(now.Later) != c.noted || len(now.Lines) != len(c.t.Lines) {
					t.Errorf("%d voided, %d noted, %d lines", voided, len(now.Later), len(now.Lines))
				}
			})
		}
	}
}

func TestThisManyLinesAreMatched(t *testing.T) {
	first, void := order142(""), order142("")
	for i := range maxCompared / 2 {
		l := Line{Quantity: "1", Name: fmt.Sprint("Fish ", i)}
		first.Lines = append(first.Lines, l)
		l.Void = true
		void.Lines = append(void.Lines, l)
	}
	void.Kind, void.Void = Correction, true
	if _, voided := Cancel(first, "grill", []Cancellation{{5, 2, "grill", void}}); voided != maxCompared/2 {
		t.Errorf("%d lines are voided", voided)
	}
}
