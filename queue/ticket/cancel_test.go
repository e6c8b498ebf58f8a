package ticket

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestACopyPrintsWhatWasVoidedUnderTheSameRequestAsVoid(t *testing.T) {
	const later = " | Later for #142: VOID at 19:35 (job 2)"
	const evenLater = " | Later for #142: VOID at 19:40 (job 3)"
	for _, c := range []struct {
		name, ordered string
		contents      []string // of the request each time it comes again
		want          string
		voided        int
	}{
		{"nothing", "3Fish 2Chips", []string{"3Fish 2Chips"}, "3Fish 2Chips", 0},
		{"a line", "3Fish 2Chips", []string{"3Fish- 2Chips"}, "3Fish- 2Chips", 1},
		{"a line with its modifiers", "1Fish >1Peas >>1Mint 2Chips", []string{"1Fish- >1Peas- >>1Mint- 2Chips"},
			"1Fish- >1Peas- >>1Mint- 2Chips", 1},
		{"every line", "3Fish 2Chips", []string{"3Fish- 2Chips-"}, "3Fish- 2Chips- VOID", 2},
		{"every line, one after the other", "3Fish 2Chips", []string{"3Fish- 2Chips", "3Fish- 2Chips-"},
			"3Fish- 2Chips- VOID", 2},
		{"what was void already", "1Fish- 2Chips", []string{"1Fish- 2Chips"}, "1Fish- 2Chips", 0},
		{"one more of what was void already", "1Fish- 1Fish", []string{"1Fish- 1Fish-"}, "1Fish- 1Fish- VOID", 1},
		{"a part", "3Fish 2Chips", []string{"2Fish 1Fish- 2Chips"}, "2Fish 1Fish- 2Chips", 1},
		{"a part beside the whole", "3Fish", []string{"3Fish 1Fish-"}, "2Fish 1Fish-", 1},
		{"a part of a line with modifiers", "3Fish >1Peas", []string{"2Fish >1Peas 1Fish- >1Peas-"},
			"2Fish >1Peas 1Fish- >1Peas-", 1},
		{"half a portion", "1.5Fish", []string{"1Fish 0.5Fish-"}, "1Fish 0.5Fish-", 1},
		{"more than a line has", "1Fish", []string{"2Fish-"}, "1Fish- VOID", 1},
		{"of two equal lines", "2Fish 2Fish", []string{"3Fish-"}, "2Fish- 1Fish 1Fish-", 2},
		{"of two lines that differ in the quantity, the one", "2Fish 1Fish", []string{"2Fish 1Fish-"},
			"2Fish 1Fish-", 1},
		{"parts, equal ones", "3Fish", []string{"2Fish 1Fish-", "1Fish 1Fish- 1Fish-"}, "1Fish 1Fish- 1Fish-", 2},
		{"two parts at once", "4Fish", []string{"1Fish 1Fish- 2Fish-"}, "1Fish 2Fish- 1Fish-", 2},
		{"a part, then all", "3Fish", []string{"2Fish 1Fish-", "3Fish-"}, "2Fish- 1Fish- VOID", 2},
		{"the same line by its seat", "1Fish@1 1Fish@2", []string{"1Fish@1 1Fish@2-"}, "1Fish@1 1Fish@2-", 1},
		{"by its modifiers", "1Fish >1Peas 1Fish >1Mint", []string{"1Fish >1Peas 1Fish- >1Mint-"},
			"1Fish >1Peas 1Fish- >1Mint-", 1},
		{"by its seat, one after the other", "1Fish@1 1Fish@2 1Fish@3",
			[]string{"1Fish@1- 1Fish@2 1Fish@3", "1Fish@1- 1Fish@2- 1Fish@3"}, "1Fish@1- 1Fish@2- 1Fish@3", 2},
		{"by its note", "1Fish!raw 1Fish!done", []string{"1Fish!raw 1Fish!done-"}, "1Fish 1Fish-", 1},
		{"without its seat", "1Fish@1 1Chips", []string{"1Fish- 1Chips"}, "1Fish@1- 1Chips", 1},
		{"without its note", "1Fish!raw 1Chips", []string{"1Fish- 1Chips"}, "1Fish- 1Chips", 1},
		{"with a note of its own", "1Fish 1Chips", []string{"1Fish!sorry- 1Chips"}, "1Fish- 1Chips", 1},
		{"a modifier", "1Fish >1Peas >1Mint", []string{"1Fish >1Peas- >1Mint"}, "1Fish >1Peas- >1Mint", 1},
		{"a modifier, then its item", "1Fish >1Peas >1Mint", []string{"1Fish >1Peas- >1Mint", "1Fish- >1Peas- >1Mint-"},
			"1Fish- >1Peas- >1Mint- VOID", 2},
		{"a part of a modifier", "1Fish >3Egg", []string{"1Fish >2Egg >1Egg-"}, "1Fish >2Egg >1Egg-", 1},
		{"a modifier of one of two equal items", "1Fish >1Egg 1Fish >1Egg", []string{"1Fish >1Egg- 1Fish >1Egg"},
			"1Fish >1Egg- 1Fish >1Egg", 1},
		{"the same modifier of another item", "1Fish >1Egg 1Pie >1Egg", []string{"1Fish >1Egg 1Pie >1Egg-"},
			"1Fish >1Egg 1Pie >1Egg-", 1},
		{"a modifier that is an item too", "1Fish >1Egg 1Egg", []string{"1Fish >1Egg 1Egg-"}, "1Fish >1Egg 1Egg-", 1},
		{"a modifier of a modifier, beside two others", "1Fish >2Peas >1Salad >>1Egg",
			[]string{"1Fish >2Peas >1Salad >>1Egg-"}, "1Fish >2Peas >1Salad >>1Egg-", 1},
		{"what was all void already", "1Fish-", []string{"1Fish-"}, "1Fish-", 0},

		// What is not clear stays as it was, and the slip says so.
		{"what is not on the ticket, perhaps renamed", "1Fish", []string{"1Fish 1FISH-"}, "1Fish" + later, 0},
		{"another seat", "1Fish@1", []string{"1Fish@1 1Fish@2-"}, "1Fish@1" + later, 0},
		{"a seat that the line does not have", "1Fish", []string{"1Fish 1Fish@2-"}, "1Fish" + later, 0},
		{"other modifiers", "1Fish >1Peas", []string{"1Fish >1Peas 1Fish- >1Mint-"}, "1Fish >1Peas" + later, 0},
		{"more modifiers", "1Fish >1Peas", []string{"1Fish >1Peas 1Fish- >1Peas- >1Mint-"}, "1Fish >1Peas" + later, 0},
		{"the modifiers of both items", "2Fish >2Egg", []string{"1Fish >1Egg 1Fish- >1Egg-"}, "2Fish >2Egg" + later, 0},
		{"a modifier of one of two items", "2Fish >1Egg",
			[]string{"1Fish >1Egg 1Fish >1Egg-"}, "2Fish >1Egg" + later, 0},
		{"a modifier of a modifier", "2Fish >1Salad >>1Egg", []string{"1Fish >1Salad >>1Egg 1Fish >1Salad >>1Egg-"},
			"2Fish >1Salad >>1Egg" + later, 0},
		{"a modifier of one of two modifiers", "1Fish >2Salad >>1Egg", []string{"1Fish >1Salad >>1Egg >1Salad >>1Egg-"},
			"1Fish >2Salad >>1Egg" + later, 0},
		{"another note", "1Fish!raw", []string{"1Fish!raw 1Fish!done-"}, "1Fish" + later, 0},
		{"another course", "1Fish/Starter", []string{"1Fish/Starter 1Fish/Main-"}, "1Fish" + later, 0},
		{"one of two that differ", "1Fish@1 1Fish@2", []string{"1Fish@1 1Fish-"}, "1Fish@1 1Fish@2" + later, 0},
		{"a modifier of one of two that differ", "1Fish@1 >1Egg 1Fish@2 >1Egg",
			[]string{"1Fish@1 >1Egg- 1Fish@2 >1Egg"},
			"1Fish@1 >1Egg 1Fish@2 >1Egg" + later, 0},
		{"parts that may be a sum", "3Fish", []string{"2Fish 1Fish-", "1Fish 2Fish-"}, "2Fish 1Fish-" + evenLater, 1},
		{"the same part with another note", "3Fish", []string{"2Fish 1Fish!a-", "2Fish 1Fish!b-"},
			"2Fish 1Fish-" + evenLater, 1},
		{"the same line with another note", "1Fish 1Fish", []string{"1Fish 1Fish!a-", "1Fish 1Fish!b-"},
			"1Fish- 1Fish" + evenLater, 1},
		{"by its modifiers, one after the other", "1Fish >1Peas 1Fish >1Mint 1Fish",
			[]string{"1Fish >1Peas 1Fish- >1Mint- 1Fish", "1Fish- >1Peas- 1Fish- >1Mint- 1Fish"},
			"1Fish >1Peas 1Fish- >1Mint- 1Fish" + evenLater, 1},
		{"an item whose modifier another one had", "1Fish >1Egg 1Fish 2Fish >1Egg",
			[]string{"1Fish >1Egg 1Fish 2Fish- >1Egg-", "1Fish- >1Egg- 1Fish 2Fish- >1Egg-"},
			"1Fish >1Egg 1Fish 2Fish- >1Egg-" + evenLater, 1},
		{"a modifier, then its item, beside one without", "1Fish >1Peas 1Fish",
			[]string{"1Fish >1Peas- 1Fish", "1Fish- >1Peas- 1Fish"}, "1Fish >1Peas- 1Fish" + evenLater, 1},
		{"a part of one of two that differ", "2Fish 1Fish@1", []string{"1Fish 1Fish- 1Fish@1"},
			"2Fish 1Fish@1" + later, 0},
		{"lines of one dish that may be a sum", "1Fish 2Fish", []string{"1Fish- 2Fish", "1Fish 2Fish-"},
			"1Fish- 2Fish" + evenLater, 1},
		{"one of two modifiers that differ", "1Fish >1Sauce!a >1Sauce!b", []string{"1Fish >1Sauce!c- >1Sauce!b"},
			"1Fish >1Sauce >1Sauce" + later, 0},
		{"a modifier of items of which there are not as many", "2Fish >1Egg 1Fish >1Egg",
			[]string{"2Fish >1Egg- 1Fish >1Egg"}, "2Fish >1Egg 1Fish >1Egg" + later, 0},
		{"an item beside one with a void modifier", "1Fish >1Egg- 1Fish >1Egg", []string{"1Fish >1Egg- 1Fish- >1Egg-"},
			"1Fish >1Egg- 1Fish >1Egg" + later, 0},
		{"very many digits", "3Fish", []string{"2Fish 0.9999999999999999999999999999999999Fish-"}, "3Fish" + later, 0},
		{"none of it", "3Fish", []string{"3Fish 0Fish-"}, "3Fish" + later, 0},
		{"a quantity that is no number", "3Fish", []string{"2Fish 1e40Fish-"}, "3Fish" + later, 0},
		{"more than the line that is meant", "1Fish@1 1Fish@2", []string{"2Fish@1- 1Fish@2"},
			"1Fish@1 1Fish@2" + later, 0},
		{"a part is clear", "2Pie 1Fish@1 1Fish@2", []string{"2Pie- 1Fish@1 1Fish-"},
			"2Pie- 1Fish@1 1Fish@2" + later, 1},
		{"clear in the end", "1Fish@1 1Fish@2", []string{"1Fish@1 1Fish-", "1Fish@1- 1Fish@2- 1Fish-"},
			"1Fish@1- 1Fish@2- VOID", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := order142(c.ordered)
			var contents [][]Line
			for _, s := range c.contents {
				contents = append(contents, parse(s))
			}
			before := cmp.Diff(Ticket{}, first)
			corrections := resent(first, contents...)
			now, voided := Cancel(first, "grill", corrections)
			if again, _ := Cancel(first, "grill", corrections); cmp.Diff(now, again) != "" {
				t.Errorf("the second time %s", show(again))
			}
			if got := show(now); got != c.want || voided != c.voided {
				t.Errorf("got  %s (%d)\nwant %s (%d)", got, voided, c.want, c.voided)
			}
			if cmp.Diff(Ticket{}, first) != before {
				t.Errorf("the stored ticket has changed: %s", show(first))
			}
		})
	}
}

func TestAPartKeepsItsPlaceOnTheTicket(t *testing.T) {
	first := order142("3Fish 3Fish")
	first.Lines[0].Course, first.Lines[1].Course = "Starters", "Mains"
	first.Lines[1].NoRoute = true
	part := order142("1Fish-").Lines[0]
	part.Notes = []string{"sorry"} // and no course
	fish := func(l Line, quantity string) Line { l.Quantity = quantity; return l }
	now, _ := Cancel(first, "grill", resent(first, []Line{first.Lines[0], fish(first.Lines[1], "2"), part}))
	if got := show(now); got != "3Fish 3Fish | Later for #142: VOID at 19:35 (job 2)" {
		t.Errorf("with a note of its own it may be either: %s", got)
	}
	first.Lines[0].Name = "Soup"
	now, _ = Cancel(first, "grill", resent(first, []Line{first.Lines[0], fish(first.Lines[1], "2"), fish(part, "1")}))
	want := []Line{first.Lines[0], fish(first.Lines[1], "2"), part}
	want[2].Course, want[2].NoRoute = "Mains", true
	if d := cmp.Diff(want, now.Lines); d != "" {
		t.Error(d)
	}
	// The course tells them apart.
	first.Lines[0].Name = "Fish"
	gone := first.Lines[1]
	gone.Void = true
	now, _ = Cancel(first, "grill", resent(first, []Line{first.Lines[0], gone}))
	if got := show(now); got != "3Fish 3Fish-" {
		t.Error(got)
	}
}

func TestWhatIsNotAnOrderIsCopiedAsItIs(t *testing.T) {
	void := order142("")
	void.Kind, void.Void = Correction, true
	whole := []Cancellation{{5, 2, "grill", void}}
	for _, change := range []func(*Ticket){
		func(t *Ticket) { t.Kind = Slip }, func(t *Ticket) { t.Kind = Test }, func(t *Ticket) { t.Void = true },
		func(t *Ticket) { t.Kind, t.Void, t.Lines = Correction, true, parse("1Fish-") },
	} {
		in := order142("1Fish 1Chips")
		change(&in)
		if now, voided := Cancel(in, "grill", whole); voided != 0 || cmp.Diff(in, now) != "" {
			t.Errorf("%s became %s", show(in), show(now))
		}
	}
}

// show is a ticket as one line of text: - is a void, > a modifier, < its item, then what is in Later.
func show(t Ticket) string {
	var b strings.Builder
	for _, l := range t.Lines {
		b.WriteString(" " + strings.Repeat(">", l.Depth) + l.Quantity + l.Name)
		if l.Seat != "" {
			b.WriteString("@" + l.Seat)
		}
		if l.Void {
			b.WriteString("-")
		}
		if l.Parent != "" {
			b.WriteString("<" + l.Parent)
		}
	}
	if t.Void {
		b.WriteString(" VOID")
	}
	for _, s := range t.Later {
		b.WriteString(" | " + s)
	}
	return strings.TrimPrefix(b.String(), " ")
}

// parse reads lines as show writes them; a word after ! is a note, one after / a course.
func parse(text string) (lines []Line) {
	for _, word := range strings.Fields(text) {
		var l Line
		for strings.HasPrefix(word, ">") {
			l.Depth, word = l.Depth+1, word[1:]
		}
		word, l.Void = strings.CutSuffix(word, "-")
		word, l.Course, _ = strings.Cut(word, "/")
		word, note, noted := strings.Cut(word, "!")
		if noted {
			l.Notes = []string{note}
		}
		word, l.Seat, _ = strings.Cut(word, "@")
		n := len(word) - len(strings.TrimLeft(word, "0123456789.e"))
		l.Quantity, l.Name = word[:n], word[n:]
		lines = append(lines, l)
	}
	return lines
}

// order142 is the order of these tests with some lines.
func order142(lines string) Ticket {
	return Ticket{
		Venue: "v", Request: "r", Record: "r", Number: "142", Lines: parse(lines),
		Received: time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC),
	}
}

// resent are the corrections that the queue makes when a request comes again with new content for the
// station grill, once for each of contents.
func resent(first Ticket, contents ...[]Line) (out []Cancellation) {
	known := blank.Voids([]Draft{{Station: "grill", Ticket: first}})
	for i, lines := range contents {
		t := first
		t.Lines = lines
		t.Received = t.Received.Add(time.Duration(i+1) * 5 * time.Minute)
		drafts := []Draft{{Station: "grill", Ticket: t}}
		for _, d := range blank.NewlyVoid(known, drafts) {
			n := uint64(i + 2)
			out = append(out, Cancellation{Job: n, Arrival: n, Station: "grill", Ticket: d.Ticket})
		}
		known = union(known, blank.Voids(drafts))
	}
	return out
}

// union has each value as often as the one of a and b that has it more often.
func union(a, b []uint64) []uint64 {
	out := slices.Clone(a)
	for _, x := range a {
		if i := slices.Index(b, x); i >= 0 {
			b = slices.Delete(slices.Clone(b), i, i+1)
		}
	}
	out = append(out, b...)
	slices.Sort(out)
	return out
}
