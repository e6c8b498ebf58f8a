package ticket

import (
	"slices"
	"testing"
)

func TestWhatCannotBeMatchedForCertainIsNamedAtTheEnd(t *testing.T) {
	correction := func(t Ticket) Ticket { t.Kind, t.Void = Correction, true; return t }
	other := func(lines string) Ticket { t := order142(lines); t.Request, t.Record = "s", "s"; return t }
	with := func(t Ticket, f func(*Ticket)) Ticket { f(&t); return t }
	void := func(t *Ticket) { t.Void = true }
	const at = " | Later for #142: VOID at 19:30 (job "
	for _, c := range []struct {
		name  string
		later []Cancellation
		want  string
	}{
		{"another request", []Cancellation{{5, 2, "grill", other("1Fish-")}}, "1Fish 1Chips" + at + "5)"},
		{"another request, one void of several lines", []Cancellation{{5, 2, "grill", other("1Pie 1Fish-")}},
			"1Fish 1Chips" + at + "5)"},
		{"another request, the whole record", []Cancellation{{5, 2, "grill", with(other(""), void)}},
			"1Fish 1Chips" + at + "5)"},
		{"another request, written with #", []Cancellation{{5, 2, "grill",
			with(other("1Fish-"), func(t *Ticket) { t.Number = "#142" })}}, "1Fish 1Chips" + at + "5)"},
		{"another request at another station", []Cancellation{{5, 2, "pass", other("1Fish-")}},
			"1Fish 1Chips" + at + "5 at pass)"},
		{"another request at two stations",
			[]Cancellation{{5, 2, "pass", other("1Fish-")}, {6, 2, "grill", other("1Fish-")}},
			"1Fish 1Chips" + at + "6)"},
		{"another request orders a dish that was voided here", []Cancellation{{5, 2, "grill", other("1Fish 1Pie-")}},
			"1Fish 1Chips"},
		{"another dish", []Cancellation{{5, 2, "grill", other("1Pie-")}}, "1Fish 1Chips"},
		{"another number", []Cancellation{{5, 2, "grill", with(other("1Fish-"), func(t *Ticket) { t.Number = "143" })}},
			"1Fish 1Chips"},
		{"another venue", []Cancellation{{5, 2, "grill", with(other("1Fish-"), func(t *Ticket) { t.Venue = "w" })}},
			"1Fish 1Chips"},
		{"the same request in another venue", []Cancellation{{5, 2, "grill",
			with(correction(order142("1Fish-")), func(t *Ticket) { t.Venue = "w" })}}, "1Fish 1Chips"},
		{"another record of the request", []Cancellation{{5, 2, "grill",
			with(correction(order142("1Fish-")), func(t *Ticket) { t.Record = "r2" })}}, "1Fish 1Chips"},
		{"another order in a record of the same id", []Cancellation{{5, 2, "grill",
			with(correction(order142("1Fish-")), func(t *Ticket) { t.Number = "143" })}}, "1Fish 1Chips" + at + "5)"},
		{"without the number", []Cancellation{{5, 2, "grill",
			with(correction(order142("1Fish-")), func(t *Ticket) { t.Number = "" })}}, "1Fish- 1Chips"},
		{"its record has no id now", []Cancellation{{5, 2, "grill",
			with(correction(order142("1Fish-")), func(t *Ticket) { t.Record = "" })}}, "1Fish 1Chips" + at + "5)"},
		{"the whole record, wherever it went", []Cancellation{{5, 2, "pass", correction(order142(""))}},
			"1Fish- 1Chips- VOID"},
		{"the other station has the line too",
			[]Cancellation{{5, 2, "pass", correction(order142("1Fish-"))},
				{6, 2, "grill", correction(order142("1Fish-"))}},
			"1Fish- 1Chips"},
		{"the other station has a line of that name",
			[]Cancellation{{5, 2, "pass", correction(order142("1Chips-"))},
				{6, 2, "grill", correction(order142("1Fish-"))}},
			"1Fish- 1Chips"},
		{"its station has another route now", []Cancellation{{5, 2, "fry", correction(order142("1Fish-"))}},
			"1Fish 1Chips" + at + "5 at fry)"},
		{"an unreadable record", []Cancellation{{5, 2, "grill",
			with(order142(""), func(t *Ticket) { t.Raw = "{}" })}},
			"1Fish 1Chips | Later for #142: UNREADABLE at 19:30 (job 5)"},
		{"an unreadable record of another request", []Cancellation{{5, 2, "grill",
			with(other(""), func(t *Ticket) { t.Raw = "{}" })}}, "1Fish 1Chips"},
		{"several", []Cancellation{{5, 2, "grill", other("1Fish-")}, {6, 3, "grill", other("1Fish-")}},
			"1Fish 1Chips" + at + "5)" + at + "6)"},
		{"an item without a name in another request", []Cancellation{{5, 2, "grill",
			with(other("1{void:1}-"), func(t *Ticket) { t.Lines[0].Raw = true })}}, "1Fish 1Chips"},
		{"nothing, if all is void",
			[]Cancellation{{5, 2, "grill", with(other(""), void)}, {6, 3, "grill", correction(order142(""))}},
			"1Fish- 1Chips- VOID"},
		{"what is void anyway",
			[]Cancellation{{5, 2, "grill", other("1Fish-")}, {6, 3, "grill", correction(order142("1Fish-"))}},
			"1Fish- 1Chips"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, _ := Cancel(order142("1Fish 1Chips"), "grill", c.later)
			if got := show(now); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}

	none := func(t *Ticket) { t.Number = "" }
	noRecord := func(t *Ticket) { t.Record = "" }
	zone := func(t *Ticket) { t.Zone = "Australia/Melbourne" }
	raw := func(t *Ticket) { t.Lines[0].Raw = true }
	for _, c := range []struct {
		name  string
		order Ticket
		later []Cancellation
		want  string
	}{
		{"without a number only the request counts", with(order142("1Fish@1 1Fish@2"), none),
			[]Cancellation{{5, 2, "grill", with(other("1Fish-"), none)},
				{6, 3, "grill", with(correction(order142("1Fish-")), none)}},
			"1Fish@1 1Fish@2 | Later for this order: VOID at 19:30 (job 6)"},
		{"records without ids cannot be told apart", with(order142("1Fish"), noRecord),
			[]Cancellation{{5, 2, "grill", with(correction(order142("1Fish-")), noRecord)}}, "1Fish" + at + "5)"},
		{"nor if the whole record is void", with(order142("1Fish"), noRecord),
			[]Cancellation{{5, 2, "grill", with(correction(order142("")), noRecord)}}, "1Fish" + at + "5)"},
		{"the time is the venue's", with(order142("1Fish"), zone), []Cancellation{{5, 2, "grill", other("1Fish-")}},
			"1Fish | Later for #142: VOID at 06:30 (job 5)"},
		{"the order had no number yet", with(order142("1Fish 1Pie"), none),
			[]Cancellation{{5, 2, "grill", correction(order142("1Fish-"))}}, "1Fish- 1Pie"},
		{"an item without a name", with(order142("1{price:3}"), raw),
			[]Cancellation{{5, 2, "grill", with(other("1{price:3,void:1}-"), raw)}}, "1{price:3}" + at + "5)"},
		{"a message without lines", order142(""), []Cancellation{{5, 2, "grill", correction(order142(""))}}, "VOID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, _ := Cancel(c.order, "grill", c.later)
			if got := show(now); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}

	whole := []Cancellation{{5, 2, "grill", correction(order142(""))}}
	if _, voided := Cancel(order142(""), "grill", whole); voided != 1 {
		t.Errorf("%d cancellations of a message without lines", voided)
	}
	t.Run("once on a copy of a copy", func(t *testing.T) {
		later := []Cancellation{{5, 2, "grill", other("1Fish-")}}
		now, _ := Cancel(order142("1Fish"), "grill", later)
		if again, _ := Cancel(now, "grill", later); !slices.Equal(again.Later, now.Later) {
			t.Errorf("%q", again.Later)
		}
	})
	t.Run("of very many only some", func(t *testing.T) {
		var later []Cancellation
		for i := range maxLater + 1 {
			later = append(later, Cancellation{uint64(i + 5), uint64(i + 2), "grill", other("1Fish-")})
		}
		now, _ := Cancel(order142("1Fish"), "grill", later)
		if n := len(now.Later); n != maxLater+1 || now.Later[maxLater] != "and more" {
			t.Errorf("%q", now.Later)
		}
		if again, _ := Cancel(now, "grill", later[8:]); !slices.Equal(again.Later, now.Later) {
			t.Errorf("a copy of the copy has %q", again.Later)
		}
	})
}
