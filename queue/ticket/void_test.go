package ticket

import (
	"testing"

	"pgregory.net/rapid"
)

// blank is what is on paper where nothing was wanted again.
var blank Paper

func TestOnlyWhatBecameVoidIsPrinted(t *testing.T) {
	record := func(lines string) []Draft {
		d := Draft{Station: "grill", Ticket: order142(lines)}
		d.Ticket.AlsoAt, d.Ticket.Void = []Part{{"bar"}}, lines == "void"
		if d.Ticket.Void {
			d.Ticket.Lines = nil
		}
		return []Draft{d}
	}
	for name, c := range map[string]struct{ then, now, want string }{
		"a line":                      {"1Burger 2Fries", "1Burger- 2Fries 1Cola", "1Burger- VOID"},
		"what is known":               {"1Burger-", "1Burger-", ""},
		"one more of two equal lines": {"1Burger-", "1Burger- 1Burger-", "1Burger- VOID"},
		"a modifier, with its item":   {"", "1Burger >1Cheese- >>1Extra-", "1Cheese-<Burger >1Extra- VOID"},
		"a record without items":      {"", "void", "VOID"},
		"the same again":              {"void", "void", ""},
	} {
		got := ""
		for _, d := range blank.NewlyVoid(blank.Voids(record(c.then)), record(c.now)) {
			got += show(d.Ticket)
			if d.Ticket.Kind != Correction || d.Ticket.AlsoAt != nil {
				t.Errorf("%s: %+v is no correction that speaks of this station only", name, d.Ticket)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestAnUnreadableRecordIsPrintedAgainOnlyIfItIsNew(t *testing.T) {
	then := []Draft{{Station: "grill", Ticket: Ticket{Record: "r", Raw: `{"a":1,"a":2}`}, Unreadable: true}}
	now := []Draft{{
		Station: "grill", Ticket: Ticket{Record: "r", Raw: `{"isVoid":true,"isVoid":true}`}, Unreadable: true,
	}}
	if got := blank.NewlyVoid(blank.Voids(then), then); got != nil {
		t.Errorf("got %+v the second time, want nothing", got)
	}
	got := blank.NewlyVoid(blank.Voids(then), now)
	if len(got) != 1 || got[0].Ticket.Raw != now[0].Ticket.Raw || got[0].Ticket.Void || got[0].Ticket.Kind != Order {
		t.Errorf("got %+v, want it as it came", got)
	}
	now[0].Unreadable = false // it prints as JSON because it has nothing that a ticket shows: it is no cancellation
	if got := blank.NewlyVoid(blank.Voids(then), now); got != nil {
		t.Errorf("got %+v of an order, want nothing", got)
	}
}

func TestACorrectionNeverContainsAnOrder(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) Line {
		return Line{
			Depth:    rapid.IntRange(0, 4).Draw(t, "depth"),
			Quantity: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "quantity"),
			Name:     rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "name"),
			Void:     rapid.Bool().Draw(t, "void"),
		}
	})
	lines := rapid.SliceOfN(line, 0, 12)
	draft := func(lines []Line) []Draft {
		return []Draft{{Station: "grill", Ticket: Ticket{Request: "r", Record: "r", Lines: lines}}}
	}
	rapid.Check(t, func(t *rapid.T) {
		then, now := draft(lines.Draw(t, "then")), draft(lines.Draw(t, "now"))
		fresh := blank.NewlyVoid(blank.Voids(then), now)
		n := 0
		for _, d := range fresh {
			for _, l := range d.Ticket.Lines {
				n++
				if !l.Void {
					t.Fatalf("%+v is an order", l)
				}
				if l.Depth < 0 {
					t.Fatalf("%+v has no place", l)
				}
			}
		}
		if have, know := len(blank.Voids(now)), len(blank.Voids(then)); n < have-know {
			t.Fatalf("%d voids now, %d then, and only %d came out", have, know, n)
		}
	})
}
