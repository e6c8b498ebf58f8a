package ticket

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWhatIsNewUnderAKnownKeyPrintsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		before, now string
		want        []string
	}{
		"the same":                        {"Fish, Soup", "Fish, Soup", nil},
		"another sequence":                {"Fish, Soup", "Soup, Fish", nil},
		"one line of two":                 {"Fish, Fish", "2 Fish", nil},
		"two lines of one":                {"2 Fish", "Fish, Fish", nil},
		"another spelling of a quantity":  {"2 Fish", "2.0 Fish", nil},
		"a dish":                          {"Fish", "Fish, Steak", []string{"1 Steak"}},
		"one more":                        {"2 Fish", "3 Fish", []string{"1 Fish"}},
		"half of one more":                {"0.5 Fish", "1 Fish", []string{"0.5 Fish"}},
		"one more as a line":              {"2 Fish", "2 Fish, Fish", []string{"1 Fish"}},
		"one more with modifiers":         {"2 Fish/no salt", "3 Fish/no salt", []string{"1 Fish", ">1 no salt"}},
		"a modifier":                      {"Fish", "Fish/no salt", []string{"1 no salt of Fish"}},
		"a modifier of two":               {"2 Fish", "2 Fish/no salt", []string{"2 no salt of Fish"}},
		"a note":                          {"Fish", "Fish!nuts", []string{"1 nuts of Fish"}},
		"a note of a modifier":            {"Fish/dip", "Fish/dip!nuts", []string{"1 nuts of dip"}},
		"a dish with modifiers":           {"Fish", "Fish, Steak/rare!very", []string{"1 Steak", ">1 rare!very"}},
		"a plain one before another":      {"Fish/no salt", "Fish, Fish/no salt", []string{"1 Fish"}},
		"modifiers that changed places":   {"Fish/a, Fish/b", "Fish/b, Fish/a", nil},
		"a dish with another id":          {"Fish=1", "Fish=1, Fish=2", []string{"1 Fish"}},
		"an id in the place of another":   {"Fish=1", "Fish=2", []string{"1 Fish", gone("1x Fish")}},
		"another name under an id":        {"Fish=1", "Chips=1", []string{"1 Chips", gone("1x Fish")}},
		"a dish for another":              {"Fish, Soup", "Steak", []string{"1 Steak", gone("1x Fish, 1x Soup")}},
		"more of one and less of another": {"Fish, 3 Soup", "2 Fish, Soup", []string{"1 Fish", gone("2x Soup")}},
		"less":                            {"3 Fish", "Fish", nil},
		"nothing but what is missing":     {"Fish, Soup", "Fish", nil},
		"a modifier that vanished":        {"Fish/dip", "Fish, Soup", []string{"1 Soup", gone("1x dip of Fish")}},
		"a void and a dish":               {"Fish", "-Fish, Soup", []string{"VOID", "1 Fish", "1 Soup"}},
		"a part void and a dish":          {"2 Fish", "Fish, -Fish, Soup", []string{"VOID", "1 Fish", "1 Soup"}},
		"a quantity that is no number":    {"lots Fish", "lots Fish", nil},
		"none of a dish":                  {"Fish", "Fish, 0 Soup", []string{"0 Soup"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r rail
			r.arrive(grill(dishes(strings.Split(c.before, ", ")...)...))
			now := grill(dishes(strings.Split(c.now, ", ")...)...)
			got := r.arrive(now)
			if !slices.Equal(said(got), c.want) {
				t.Errorf("printed %q, want %q", said(got), c.want)
			}
			if again := r.arrive(now); again != nil && len(said(again)) > 0 {
				t.Errorf("printed again %q", said(again))
			}
		})
	}
}

func TestEachContentIsComparedWithAllThatHasPrinted(t *testing.T) {
	// Each line is one content that comes under the key, and what prints of it.
	again := func(what string) string { return "Cancelled before, wanted again: " + what + ". Ask." }
	for name, contents := range map[string][][]string{
		"a third content": {
			{"Fish, Soup"}, {"Steak", "1 Steak", gone("1x Fish, 1x Soup")}, {"Fish, Soup, Steak, Tea", "1 Tea"},
		},
		"cancelled, and wanted again": {
			{"2 Fish"}, {"Fish, -Fish", "VOID", "1 Fish"}, {"Fish, Soup", "1 Soup"},
			{"2 Fish", "1 Fish", again("1x Fish"), gone("1x Soup")}, {"2 Fish"}, {"Fish, -Fish", "VOID", "1 Fish"},
			{"3 Fish", "2 Fish", again("1x Fish"), gone("1x Soup")},
		},
		// A service may list a void besides its line, as a negative quantity.
		"a void besides its line": {
			{"2 Fish"}, {"2 Fish, -Fish", "VOID", "1 Fish"}, {"2 Fish, -Fish, Soup", "1 Soup"},
			{"3 Fish, -Fish", "1 Fish", gone("1x Soup")},
		},
		"void from the first": {
			{"Fish, -Fish"}, {"-Fish, -Fish", "VOID", "1 Fish"}, {"Fish, -Fish", "1 Fish", again("1x Fish")},
			{"Fish, -Fish, Tea", "1 Tea"},
		},
	} {
		var r rail
		for i, c := range contents {
			got := r.arrive(grill(dishes(strings.Split(c[0], ", ")...)...))
			if i > 0 && !slices.Equal(said(got), c[1:]) {
				t.Errorf("%s, %q: printed %q, want %q", name, c[0], said(got), c[1:])
			}
		}
	}
}

func TestAnOrderThatWasCancelledAsAWholeIsAddedIfItIsWantedAgain(t *testing.T) {
	var r rail
	r.arrive(grill(dishes("Fish/no salt")...))
	whole := grill()
	whole.Ticket.Void = true
	if got := r.arrive(whole); len(got) != 1 || got[0].Kind != Correction {
		t.Fatalf("printed %+v", got)
	}
	got := r.arrive(grill(dishes("Fish/no salt", "Soup")...))
	if !slices.Equal(said(got), []string{"1 Fish", ">1 no salt", "1 Soup",
		"Cancelled before, wanted again: 1x Fish. Ask."}) {
		t.Errorf("printed %q", said(got))
	}
}

func TestAnotherOrderUnderAKnownKeyPrintsWhole(t *testing.T) {
	var r rail
	r.arrive(grill(dishes("Fish", "Soup")...))
	other := grill(dishes("Fish")...)
	other.Ticket.Number, other.Ticket.Table = "19", "B4"
	got := r.arrive(other)
	if !slices.Equal(said(got), []string{"1 Fish", gone("#18")}) {
		t.Errorf("printed %q", said(got))
	}
	if heads := got[0].Heads(); !slices.Equal(heads, []string{"ADDED UNDER A KNOWN ORDER – check #19"}) {
		t.Errorf("headed %q", heads)
	}
}

func TestALineThatGoesToAnotherStationNowIsAddedThere(t *testing.T) {
	var r rail
	d := grill(dishes("Fish")...)
	r.arrive(d)
	d.Station = "bar"
	if got := r.arrive(d); len(got) != 1 || len(got[0].Lines) != 1 {
		t.Errorf("printed %+v", got)
	}
}

func TestANoteOnTheOrderAndAMessageWithoutItemsAreAdded(t *testing.T) {
	var r rail
	d := grill(dishes("Fish")...)
	r.arrive(d)
	d.Ticket.Notes = []string{"nuts kill her"}
	if got := r.arrive(d); len(got) != 1 || len(got[0].Lines) > 0 || !slices.Equal(got[0].Notes, d.Ticket.Notes) {
		t.Errorf("a note: printed %+v", got)
	}
	if got := r.arrive(grill(dishes("Fish")...), grill()); len(got) != 1 || len(got[0].Lines) > 0 {
		t.Errorf("a message: printed %+v", got)
	}
}

func TestWhatNobodyKnowsToHavePrintedIsMarkedAsPossibleDuplicate(t *testing.T) {
	added, now := Added(Paper{Partial: true}, []Draft{grill(dishes("Fish")...)})
	if len(added) != 1 || !strings.Contains(strings.Join(added[0].Ticket.Heads(), " "), "POSSIBLE DUPLICATE") {
		t.Fatalf("added %+v", added)
	}
	if again, now := Added(now, []Draft{grill(dishes("Fish")...)}); len(again) > 0 || !now.Partial {
		t.Errorf("added again %+v, partial %v", again, now.Partial)
	}
}

func TestWhatIsStoredOfAKeyIsBounded(t *testing.T) {
	var r rail
	for n := range 3 {
		var lines []Line
		for i := range maxPaper / 2 {
			lines = append(lines, Line{Quantity: "1", Name: fmt.Sprintf("%0200d", n*maxPaper+i)})
		}
		r.arrive(grill(lines...))
	}
	if len(r.paper.Lines) != maxPaper || !r.paper.Partial || len(r.paper.Lines[7].Name) > 44 {
		t.Errorf("%d lines, partial %v", len(r.paper.Lines), r.paper.Partial)
	}
}

func TestAKitchenThatDoesWhatItsSlipsSayMakesWhatIsWanted(t *testing.T) {
	// Lines are added, become void and are wanted again, and the whole order too. A void too many is thrown away.
	rapid.Check(t, func(rt *rapid.T) {
		var r rail
		var lines []Line
		whole := false
		for range rapid.IntRange(1, 8).Draw(rt, "contents") {
			switch op := rapid.IntRange(0, 3).Draw(rt, "op"); {
			case whole || op == 1:
				whole = !whole
			case op == 0 || len(lines) == 0:
				name := rapid.SampledFrom([]string{"Fish", "Soup"}).Draw(rt, "name")
				lines = append(lines, Line{Quantity: fmt.Sprint(rapid.IntRange(1, 2).Draw(rt, "quantity")), Name: name})
			default:
				l := &lines[rapid.IntRange(0, len(lines)-1).Draw(rt, "line")]
				if l.Void = !l.Void; l.Void && l.Quantity == "2" && op == 3 { // only one of them
					l.Quantity = "1"
					lines = append(lines, Line{Quantity: "1", Name: l.Name})
				}
			}
			now := grill(slices.Clone(lines)...)
			if now.Ticket.Void = whole; whole {
				now.Ticket.Lines = nil
			}
			r.arrive(now)
			kitchen, want := made(r.slips), made([]Ticket{now.Ticket})
			for _, name := range []string{"Fish", "Soup"} {
				wanted := max(want[name], 0)
				if kitchen[name] != wanted {
					rt.Fatalf("%s: %d are made, %d are wanted\n%q", name, kitchen[name], wanted, said(r.slips))
				}
			}
		}
	})
}

func made(slips []Ticket) map[string]int {
	out := map[string]int{}
	for _, s := range slips {
		if s.Kind == Correction && len(s.Lines) == 0 {
			clear(out)
		}
		for _, l := range s.Lines {
			var n int
			_, _ = fmt.Sscan(l.Quantity, &n)
			switch {
			case !l.Void:
				out[l.Name] += n
			case s.Kind == Correction:
				out[l.Name] = max(out[l.Name]-n, 0)
			}
		}
	}
	return out
}

// A rail is all that has printed under one key.
type rail struct {
	paper Paper
	voids []uint64
	slips []Ticket
	known bool
}

// arrive does what the queue does with a content that it has not seen.
func (r *rail) arrive(drafts ...Draft) (now []Ticket) {
	if !r.known {
		r.known, r.paper = true, PaperOf(drafts)
		for _, d := range drafts {
			now = append(now, d.Ticket)
		}
	} else {
		var added []Draft
		corrections := r.paper.NewlyVoid(r.voids, drafts)
		added, r.paper = Added(r.paper, drafts)
		for _, d := range append(corrections, added...) {
			now = append(now, d.Ticket)
		}
	}
	r.voids = union(r.voids, r.paper.Voids(drafts))
	r.slips = append(r.slips, now...)
	return now
}

func grill(lines ...Line) Draft {
	return Draft{Station: "grill", Ticket: Ticket{Venue: "v", Request: "r", Record: "r", Number: "18", Lines: lines}}
}

// readDish reads "2 Fish", "-2 Fish" for a void, "Fish/no onion/well done" with modifiers.
func readDish(s string) (lines []Line) {
	for depth, name := range strings.Split(s, "/") {
		l := Line{Depth: min(depth, 1), Quantity: "1", Void: strings.HasPrefix(s, "-")}
		name = strings.TrimPrefix(name, "-")
		if q, rest, ok := strings.Cut(name, " "); ok && strings.Trim(q, "0123456789.") == "" {
			l.Quantity, name = q, rest
		}
		if name, rest, ok := strings.Cut(name, "!"); ok {
			l.Name, l.Notes = name, []string{rest}
		} else if name, rest, ok := strings.Cut(name, "="); ok {
			l.Name, l.ID = name, rest
		} else {
			l.Name = name
		}
		lines = append(lines, l)
	}
	return lines
}

func dishes(all ...string) (lines []Line) {
	for _, s := range all {
		lines = append(lines, readDish(s)...)
	}
	return lines
}

func said(tickets []Ticket) (out []string) {
	for _, t := range tickets {
		if !t.Added {
			out = append(out, "VOID")
		}
		for _, l := range t.Lines {
			s := strings.Repeat(">", l.Depth) + l.Quantity + " " + l.Name
			if l.Parent != "" {
				s += " of " + l.Parent
			}
			for _, n := range l.Notes {
				s += "!" + n
			}
			out = append(out, s)
		}
		out = append(out, t.Later...)
	}
	return out
}

func gone(what string) string { return "Missing now, but not cancelled: " + what + ". Ask." }
