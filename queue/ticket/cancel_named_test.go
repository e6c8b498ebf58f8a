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

	t.Run("without a number only the request counts", func(t *testing.T) {
		none := func(t *Ticket) { t.Number = "" }
		now, _ := Cancel(with(order142("1Fish@1 1Fish@2"), none), "grill", []Cancellation{
			{5, 2, "grill", with(other("1Fish-"), none)}, {6, 3, "grill", with(correction(order142("1Fish-")), none)},
		})
		if got, want := show(now), "1Fish@1 1Fish@2 | Later for this order: VOID at 19:30 (job 6)"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	t.Run("records without ids cannot be told apart", func(t *testing.T) {
		none := func(t *Ticket) { t.Record = "" }
		now, _ := Cancel(with(order142("1Fish"), none), "grill",
			[]Cancellation{{5, 2, "grill", with(correction(order142("1Fish-")), none)}})
		if got, want := show(now), "1Fish"+at+"5)"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		now, _ = Cancel(with(order142("1Fish"), none), "grill",
			[]Cancellation{{5, 2, "grill", with(correction(order142("")), none)}})
		if got, want := show(now), "1Fish"+at+"5)"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	t.Run("the time is that of the venue", func(t *testing.T) {
		zone := func(t *Ticket) { t.Zone = "Australia/Melbourne" }
		now, _ := Cancel(with(order142("1Fish"), zone), "grill", []Cancellation{{5, 2, "grill", other("1Fish-")}})
		if got, want := show(now), "1Fish | Later for #142: VOID at 06:30 (job 5)"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	t.Run("the order had no number yet", func(t *testing.T) {
		none := func(t *Ticket) { t.Number = "" }
		now, _ := Cancel(with(order142("1Fish 1Pie"), none), "grill",
			[]Cancellation{{5, 2, "grill", correction(order142("1Fish-"))}})
		if got, want := show(now), "1Fish- 1Pie"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
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
	t.Run("an item without a name", func(t *testing.T) {
		raw := func(t *Ticket) { t.Lines[0].Raw = true }
		now, _ := Cancel(with(order142("1{price:3}"), raw), "grill", []Cancellation{
			{5, 2, "grill", with(other("1{price:3,void:1}-"), raw)},
		})
		if got, want := show(now), "1{price:3}"+at+"5)"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	t.Run("a message without lines", func(t *testing.T) {
		now, voided := Cancel(order142(""), "grill", []Cancellation{{5, 2, "grill", correction(order142(""))}})
		if got := show(now); got != " VOID" && got != "VOID" || voided != 1 {
			t.Errorf("%q, %d", got, voided)
		}
	})
}
