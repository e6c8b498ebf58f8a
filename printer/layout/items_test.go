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

// rows is what prints for the lines of d, without header and footer.
func rows(d ticket.Delivery, o Options) []string {
	o.Header = []string{}
	text := strings.TrimSuffix(content(ComposeWith(d, o)), "\n")
	out := strings.Split(text, "\n")
	return out[:len(out)-1] // the rule above the footer, which has nothing to identify
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

func TestAHeadingSharesItsLineOnlyWithFourColumnsOfRule(t *testing.T) {
	for course, want := range map[string]string{
		strings.Repeat("x", 14): "-- xxxxxxxxxxxxxx --",
		strings.Repeat("x", 15): strings.Repeat("-", 20),
	} {
		if got := rows(order(ticket.Line{Quantity: "1", Name: "Soup", Course: course}),
			Options{Columns: 20})[0]; got != want {
			t.Errorf("%s: the heading begins with %q, want %q", course, got, want)
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

func TestAVoidMarkIsShortOnNarrowPaperOnly(t *testing.T) {
	d := order(ticket.Line{Quantity: "1", Name: "Soup", Void: true})
	for columns, want := range map[int]string{16: "VOID 1x Soup", 39: "VOID 1x Soup", 40: "** VOID ** 1x Soup"} {
		if got := strings.TrimRight(rows(d, Options{Columns: columns})[0], " "); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
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

func TestDetailsAndNotesHaveTheSizeOfModifiers(t *testing.T) {
	d := order(ticket.Line{Quantity: "1", Name: "Soup", Seat: "4", Notes: []string{"hot"}},
		ticket.Line{Depth: 1, Name: "Bread", Parent: "Set", Course: "Mains", Notes: []string{"dark"}})
	for _, want := range []Size{{1, 2}, {2, 1}} {
		lines := ComposeWith(d, Options{Columns: 48, ModifierSize: want})
		for _, text := range []string{"Seat 4", "hot", "Bread", "of Set", "Course Mains", "dark"} {
			if got := sizeOf(t, lines, text); got.Width != want.Width || got.Height != want.Height {
				t.Errorf("%s is %+v, want %+v", text, got, want)
			}
		}
	}
}

func TestAQuantityOfZeroIsSaidInWords(t *testing.T) {
	for quantity, want := range map[string]bool{"0": true, "10": false, "0.5": false} {
		got := content(Compose(order(ticket.Line{Quantity: quantity, Name: "Soup"}), 42, ""))
		if strings.Contains(got, "! quantity 0") != want || !strings.Contains(got, quantity+"x Soup") {
			t.Errorf("quantity %s: got\n%s", quantity, got)
		}
	}
}

func TestNamesBeginInOneColumnUnlessAQuantityIsTooWide(t *testing.T) {
	for quantity, want := range map[string][]string{
		// 5 letters of double width and a space are 11 of 33 columns, the most that all names move for.
		"1234":  {"1234x Soup", spaces(6) + "1x Bread", spaces(11) + "Hot"},
		"12345": {"12345x Soup", "1x Bread", spaces(5) + "Hot"},
	} {
		d := order(ticket.Line{Quantity: quantity, Name: "Soup"}, ticket.Line{Quantity: "1", Name: "Bread"},
			ticket.Line{Depth: 1, Name: "Hot"})
		got := rows(d, Options{Columns: 33})
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Errorf("quantity %s: got\n%s\nwant\n%s", quantity, strings.Join(got, "\n"), strings.Join(want, "\n"))
				break
			}
		}
	}
	d := order(ticket.Line{Quantity: "123456789", Name: "Soup"}, ticket.Line{Depth: 1, Name: "Hot"})
	if got := rows(d, Options{Columns: 32}); got[len(got)-1] != "  Hot" {
		t.Errorf("a modifier must be indented below any item, got\n%s", strings.Join(got, "\n"))
	}
}

func TestAnItemWithoutANameSaysSo(t *testing.T) {
	d := order(ticket.Line{Quantity: "2", Name: " \n"})
	if got := rows(d, Options{Columns: 42}); got[0] != "2x (no name)" {
		t.Errorf("got %q", got[0])
	}
}

func TestNamesAreNarrowerOnlyIfAWordDoesNotFit(t *testing.T) {
	// "1x" in double width and a space take 5 of 33 columns.
	for name, want := range map[string]int{
		"Fourteenletter":         2,
		"Fifteen-letters":        1,
		strings.Repeat("So ", 9): 2,
	} {
		d := order(ticket.Line{Quantity: "1", Name: name}, ticket.Line{Quantity: "2", Name: "Bread"},
			ticket.Line{Depth: 1, Name: "No onion"})
		lines := Compose(d, 33, "")
		for _, text := range []string{strings.Fields(name)[0], "Bread"} {
			if got := sizeOf(t, lines, text); got != (Style{Bold: true, Width: want, Height: 2}) {
				t.Errorf("beside %q, %s is %+v, want width %d", name, text, got, want)
			}
		}
		if got := sizeOf(t, lines, "No onion"); got.Height != 2 {
			t.Errorf("below %q, a modifier is %+v", name, got)
		}
		if got := sizeOf(t, lines, "2x").Width; got != 2 {
			t.Errorf("beside %q, a quantity has width %d", name, got)
		}
	}
}

func TestAQuantityOfOneDigitTakesAtMostAThirdOfThePaper(t *testing.T) {
	for columns, want := range map[int]int{48: 7, 32: 4, 20: 2} { // with a space: 15, 9 and 5 columns
		d := order(ticket.Line{Quantity: "1", Name: "Soup"})
		if got := sizeOf(t, ComposeWith(d, Options{Columns: columns, NameSize: Size{8, 8}}), "1x").Width; got != want {
			t.Errorf("%d columns: it has width %d, want %d", columns, got, want)
		}
	}
}

func TestACancelledWordNeedsRoomBesideItsMark(t *testing.T) {
	// ** VOID **, "1x" in double width and two spaces take 16 of 48 columns.
	for name, want := range map[string]int{"Sixteen-letters-": 2, "Seventeen-letters": 1} {
		d := order(ticket.Line{Quantity: "1", Name: name, Void: true}, ticket.Line{Quantity: "2", Name: "Bread"})
		if got := sizeOf(t, Compose(d, 48, ""), "Bread").Width; got != want {
			t.Errorf("beside %s: width %d, want %d", name, got, want)
		}
	}
}

func TestWideTextIsNarrowedIfFewerThanEightLettersFit(t *testing.T) {
	for quantity, want := range map[string]int{"100": 2, "1000": 1} {
		d := order(ticket.Line{Quantity: "1", Name: "Salad"}, ticket.Line{Depth: 1, Quantity: quantity, Name: "Olives"})
		lines := ComposeWith(d, Options{Columns: 32, ModifierSize: Size{2, 1}})
		if got := sizeOf(t, lines, "Olives").Width; got != want {
			t.Errorf("beside %s: width %d, want %d", quantity, got, want)
		}
	}
}

func TestRawDataPrintsSmallAndMakesNothingElseSmaller(t *testing.T) {
	d := order(ticket.Line{Quantity: "1", Name: "Soup"}, ticket.Line{Quantity: "1", Raw: true,
		Name: strings.Repeat("{", 40)})
	lines := Compose(d, 48, "")
	if got := sizeOf(t, lines, "{"); got != (Style{}) {
		t.Errorf("raw data is %+v", got)
	}
	if got := sizeOf(t, lines, "Soup").Width; got != 2 {
		t.Errorf("the item beside it has width %d", got)
	}
}

func TestACorrectionSaysWhetherItCancelsAllOrPart(t *testing.T) {
	d := everyday()
	d.Ticket.Kind = ticket.Correction
	for _, want := range []string{"cancels part of an order already printed", "cancels an order already printed"} {
		if got := content(Compose(d, 42, "")); !strings.Contains(got, want) {
			t.Errorf("with %d lines: %q is missing in\n%s", len(d.Ticket.Lines), want, got)
		}
		d.Ticket.Lines = nil
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
