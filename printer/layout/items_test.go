package layout

import (
	"slices"
	"strings"
	"testing"

	"ticketrail/queue/ticket"
)

// order is a ticket with nothing but these lines.
func order(lines ...ticket.Line) ticket.Delivery {
	return ticket.Delivery{Ticket: ticket.Ticket{Lines: lines}}
}

func TestAModifierIsRedButARawOneIsNot(t *testing.T) {
	d := order(ticket.Line{Quantity: "1", Name: "Burger"}, ticket.Line{Depth: 1, Name: "No onion"},
		ticket.Line{Depth: 1, Name: "{raw}", Raw: true})
	lines := Compose(d, 42, "")
	for text, want := range map[string]bool{"Burger": false, "No onion": true, "{raw}": false} {
		if got := sizeOf(t, lines, text).Red; got != want {
			t.Errorf("%s is red: %v, want %v", text, got, want)
		}
	}
}

func TestEachRefiredItemIsMarkedOnceAboveItsModifiers(t *testing.T) {
	item := ticket.Line{Quantity: "1", Name: "Soup"}
	again, modifier := item, ticket.Line{Depth: 1, Name: "Hot", Refire: true}
	again.Refire = true
	for name, c := range map[string]struct {
		lines []ticket.Line
		want  int
	}{
		"an item and its modifier": {[]ticket.Line{again, modifier}, 1},
		"two items":                {[]ticket.Line{again, again}, 2},
		"a modifier of an item that is not refired": {[]ticket.Line{again, item, modifier}, 2},
	} {
		if got := strings.Count(content(Compose(order(c.lines...), 42, "")), refire); got != c.want {
			t.Errorf("%s: %d marks, want %d", name, got, c.want)
		}
	}
}

func TestASlipHasNoGapsAndNoQuantities(t *testing.T) {
	d := order(ticket.Line{Quantity: "1", Name: "#18 Table B1"}, ticket.Line{Quantity: "1", Name: "#19 Table B22345"})
	d.Ticket.Kind = ticket.Slip
	lines := ComposeWith(d, Options{Columns: 32, BlankLines: 3, Header: []string{}})
	text := content(lines)
	if !strings.Contains(text, "#18 Table B1\n#19 Table B22345\n") {
		t.Errorf("got\n%s", text)
	}
	if got, want := sizeOf(t, lines, "B22345"), (Style{Bold: true, Width: 1, Height: 2}); got != want {
		t.Errorf("a line of the list is %+v, want %+v", got, want)
	}
}

func TestACancelledLineIsAsBigAsALiveOne(t *testing.T) {
	live := []ticket.Line{{Quantity: "3", Name: "Soup", Seat: "4", Notes: []string{"hot"}},
		{Depth: 1, Name: "Bread", Notes: []string{"dark"}}}
	for _, o := range []Options{{Columns: 32}, {Columns: 48, NameSize: Size{3, 3}, ModifierSize: Size{2, 1}}} {
		cancelled := slices.Clone(live)
		for i := range cancelled {
			cancelled[i].Void = true
		}
		of, against := ComposeWith(order(cancelled...), o), ComposeWith(order(live...), o)
		for _, text := range []string{"3x", "Soup", "Seat 4", "hot", "Bread", "dark"} {
			got, want := sizeOf(t, of, text), sizeOf(t, against, text)
			if got.Width != want.Width || got.Height != want.Height {
				t.Errorf("%d columns, %s: cancelled it is %+v, else %+v", o.Columns, text, got, want)
			}
		}
	}
}

func TestWithoutWhiteOnBlackTheMarkOfAVoidIsAsBigAsItsText(t *testing.T) {
	d := order(ticket.Line{Quantity: "3", Name: "Soup", Void: true, Notes: []string{"hot"}})
	for framed, want := range map[bool][]string{
		false: {"** VOID ** 3x Soup", "** VOID **      ! hot"},
		true:  {"VOID 3x Soup", "VOID      ! hot"},
	} {
		lines := ComposeWith(d, Options{Columns: 48, Framed: framed, Header: []string{}})
		for i, text := range want {
			if got := strings.TrimRight(content(lines[i:i+1]), " \n"); got != text {
				t.Errorf("framed %v: line %d is %q, want %q", framed, i, got, text)
			}
		}
		for _, l := range lines[:2] {
			mark, text := l.Spans[0], l.Spans[len(l.Spans)-2]
			if mark.Height != text.Height || framed && mark.Width < text.Width {
				t.Errorf("framed %v: the mark %+v is not as big as %+v", framed, mark, text)
			}
		}
	}
}

func TestOnlyBannersThatStopCookingAreRed(t *testing.T) {
	d := everyday()
	d.Doubt, d.Reprint, d.Ticket.Void, d.Ticket.Refire = true, true, true, true
	lines := Compose(d, 48, "")
	for text, want := range map[string]bool{possibleDuplicate: false, reprint: false, refire: false, void: true} {
		if got := sizeOf(t, lines, text); got.Red != want || !got.Invert {
			t.Errorf("%s is %+v, want red %v", text, got, want)
		}
	}
	d.Ticket.Kind = ticket.Slip
	if got := sizeOf(t, Compose(d, 48, ""), expired); !got.Red {
		t.Errorf("%s is %+v, want red", expired, got)
	}
}

func TestARushIsMarkedUnlessItIsCancelled(t *testing.T) {
	d := everyday()
	d.Ticket.Rush = true
	if got := sizeOf(t, Compose(d, 48, ""), rush); !got.Invert || got.Red {
		t.Errorf("%s is %+v, want white on black", rush, got)
	}
	d.Ticket.Void = true
	if text := Plain(Compose(d, 48, ""), 48); strings.Contains(text, rush) {
		t.Errorf("a cancellation is to be hurried:\n%s", text)
	}
}

func TestABannerIsBlackFromEdgeToEdgeAndDoubleWidthOnTwiceItsColumns(t *testing.T) {
	for columns, want := range map[int]int{18: 1, 19: 1, 20: 2, 21: 2} { // ** VOID ** has 10 letters
		x := composer{columns: columns}
		x.banner(void, true)
		if len(x.lines) != 1 || x.lines[0].Width() != columns {
			t.Errorf("%d columns: the banner is %v", columns, x.lines)
		}
		if st := sizeOf(t, x.lines, void); st.widthFactor() != want {
			t.Errorf("%d columns: the banner is %+v, want width %d", columns, st, want)
		}
	}
}

func TestALabelWiderThanHalfOfItsLineWrapsWithTheText(t *testing.T) {
	for label, want := range map[string]string{
		"123456789 ":  "123456789 Soup\n" + spaces(10) + "croutons\n",
		"1234567890 ": "1234567890 Soup\ncroutons\n",
	} {
		x := composer{columns: 20}
		x.flow(paragraph{label: []Span{{Text: label}}, text: "Soup croutons"})
		if got := content(x.lines); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
