package layout

import (
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

// order is a ticket with nothing but these lines.
func order(lines ...ticket.Line) ticket.Delivery {
	return ticket.Delivery{Ticket: ticket.Ticket{Lines: lines}}
}

func TestEachRefiredItemIsMarkedOnceAboveItsModifiers(t *testing.T) {
	item := ticket.Line{Quantity: "1", Name: "Soup"}
	again, modifier := item, ticket.Line{Depth: 1, Name: "Hot", Refire: true}
	again.Refire = true
	void := again
	void.Void = true
	for name, c := range map[string]struct {
		lines []ticket.Line
		want  int
	}{
		"an item and its modifier":                  {[]ticket.Line{again, modifier}, 1},
		"two items":                                 {[]ticket.Line{again, again}, 2},
		"a cancelled item":                          {[]ticket.Line{void}, 0},
		"a modifier of an item that is not refired": {[]ticket.Line{again, item, modifier}, 2},
	} {
		assert.Equal(t, strings.Count(content(Compose(order(c.lines...), 42, "")), refire), c.want, name)
	}
}

func TestFieldsThatNothingReadsAreSmallUnlessTheyAreAlarms(t *testing.T) {
	notes := []string{"sauce apart", "spice: hot", "contains: nuts"}
	d := order(ticket.Line{Quantity: "1", Name: "Soup", Notes: notes, Unread: 2})
	d.Ticket.Notes, d.Ticket.Unread = []string{"birthday", "source: shop"}, 1
	lines := ComposeWith(d, Options{Columns: 42, Header: []string{}, Alarms: NewAlarms([]string{"nuts"})})
	for text, small := range map[string]bool{
		"sauce apart": false, "spice: hot": true, "contains: nuts": false, "birthday": false, "source: shop": true,
	} {
		style := sizeOf(t, lines, text)
		alarm := text == "contains: nuts"
		assert.True(t, (style == Style{}) == small && (!alarm || style.Width == 2 && style.Height == 2), text, style)
	}
}

func TestANoteHasOneExclamationMarkAtItsEdge(t *testing.T) {
	for note, want := range map[string]string{
		"! ! COELIAC": "! COELIAC\n", "hurry!": "! hurry!\n", "!!": "! !!\n",
		"حساسية من السمسم!": "! حساسية من السمسم\n", // from right to left, both would be at the left
	} {
		item := ticket.Line{Quantity: "1", Name: "Soup", Notes: []string{note}}
		assert.Contains(t, content(Compose(order(item), 48, "")), " "+want)
	}
}

func TestASlipHasNoGapsAndNoQuantities(t *testing.T) {
	d := order(ticket.Line{Quantity: "1", Name: "#18 Table B1"}, ticket.Line{Quantity: "1", Name: "#19 Table B22345"})
	d.Ticket.Kind = ticket.ExpiredList
	lines := ComposeWith(d, Options{Columns: 32, BlankLines: 3, Header: []string{}})
	assert.Contains(t, content(lines), "#18 Table B1\n#19 Table B22345\n")
	assert.Equal(t, sizeOf(t, lines, "B22345"), Style{Bold: true, Width: 1, Height: 2})
}

func TestWithoutWhiteOnBlackAVoidAnAllergyAndARepetitionAloneAreRedAndFramed(t *testing.T) {
	d := order(ticket.Line{Quantity: "3", Name: "Soup", Void: true, Notes: []string{"hot"}},
		ticket.Line{Quantity: "1", Name: "Fish", Void: true, MayCancel: "no"},
		ticket.Line{Quantity: "1", Name: "Cake", Refire: true},
		ticket.Line{Depth: 1, Name: "No nuts"}, ticket.Line{Depth: 1, Name: "No cream", MayCancel: "VOIDED"})
	d.Doubt, d.Ticket.Rush, d.Ticket.Banners = true, true, []string{"LATE, as wide as the paper has room for"}
	got, edge := "", strings.Repeat("*", 40)
	for _, l := range ComposeWith(d, Options{Columns: 40, Framed: true, Header: []string{},
		Alarms: NewAlarms([]string{"nuts"})}) {
		text := strings.TrimRight(content([]Line{l}), " \n")
		red := slices.ContainsFunc(l.Spans, func(s Span) bool { return s.Red })
		assert.True(t, red == strings.HasPrefix(text, "* ") || text == edge, text, red)
		if mark := l.Spans[min(1, max(len(l.Spans)-1, 0)):]; strings.HasPrefix(text, "* VOID") {
			last := mark[len(mark)-3]
			assert.True(t, mark[0].Height == last.Height && mark[0].Width >= last.Width, mark[0], last)
		}
		got += strings.Join(strings.Fields(strings.ReplaceAll(text, edge, "-")), " ") + "|"
	}
	want := "-|* POSSIBLE DUPLICATE *|* check the rail *|-|" +
		"= LATE, as wide as the paper has room ==|================= for ==================|" +
		"=============== RUSH ===============|" +
		"-|* VOID 3x Soup *|* VOID ! hot *|-|* VOID 1x Fish *|* VOID ** cancelled? no ** *|-|" +
		"============= REFIRE =============|1x Cake|-|* NO NUTS *|-|No cream|-|* ** cancelled? VOIDED ** *|-|"
	assert.True(t, strings.HasPrefix(got, want), got, want)
}

func TestEachSlipOfATicketHasItsNumberAndEveryMark(t *testing.T) {
	d := order(ticket.Line{Quantity: "2", Name: "Latte", Course: "Hot"},
		ticket.Line{Depth: 1, Quantity: "1", Name: "Oat"},
		ticket.Line{Quantity: "1", Name: "Tea", Course: "Hot", Void: true}, ticket.Line{Quantity: "1", Name: "Cola"})
	d.Doubt, d.Ticket.Number, d.Ticket.Customer, d.Ticket.Notes = true, "18", "Priya", []string{"nuts!"}
	d.Ticket.AlsoAt = []string{"bar"}
	for cut, want := range map[string]string{
		"none": "POSSIBLE DUPLICATE|replaces the piece above|#18 Priya|! nuts!|Hot|2x Latte|Oat|VOID 1x Tea|-|" +
			"1x Cola|ALSO AT: bar|",
		ByItem: "POSSIBLE DUPLICATE|replaces the piece above|#18 1/3 Priya|! nuts!|Hot|2x Latte|Oat|cut|" +
			"POSSIBLE DUPLICATE|check the rail|#18 2/3 Priya|! nuts!|Hot|VOID 1x Tea|cut|" +
			"POSSIBLE DUPLICATE|check the rail|#18 3/3 Priya|! nuts!|1x Cola|",
		ByCourse: "POSSIBLE DUPLICATE|replaces the piece above|#18 1/2 Priya|! nuts!|Hot|2x Latte|Oat|" +
			"VOID 1x Tea|cut|" +
			"POSSIBLE DUPLICATE|check the rail|#18 2/2 Priya|! nuts!|1x Cola|",
	} {
		got := ""
		for _, l := range ComposeWith(d, Options{Columns: 42, Cut: cut, AfterPiece: true}) {
			text := strings.Join(strings.Fields(content([]Line{l})), " ")
			if text = strings.ReplaceAll(text, strings.Repeat("-", 42), "-"); text != "" && text[0] != '=' {
				got += text + "|"
			}
			if l.Cut {
				got += "cut|"
			}
		}
		assert.Equal(t, got, want, cut)
	}
	assert.Equal(t, sizeOf(t, ComposeWith(d, Options{Columns: 42, Cut: ByItem}), "Priya").Height, 2)
}

func TestWhatIsNoOrderIsOneSlipForAPrinterOfLabelsToo(t *testing.T) {
	for kind, change := range map[string]func(*ticket.Ticket){
		"list of the orders of a screen": func(t *ticket.Ticket) { t.IsList = true },
		"list of expired tickets":        func(t *ticket.Ticket) { t.Kind = ticket.ExpiredList },
		"test ticket":                    func(t *ticket.Ticket) { t.Kind = ticket.Test },
	} {
		d := order(ticket.Line{Quantity: "1", Name: "Tea", Course: "#1"},
			ticket.Line{Quantity: "1", Name: "Cola", Course: "#2"})
		change(&d.Ticket)
		for _, cut := range []string{ByItem, ByCourse} {
			lines := ComposeWith(d, Options{Columns: 42, Cut: cut})
			assert.True(t, !strings.Contains(content(lines), "1/"), kind, lines)
			assert.True(t, !slices.ContainsFunc(lines, func(l Line) bool { return l.Cut }), kind)
		}
	}
}

func TestARushIsMarkedUnlessItIsCancelled(t *testing.T) {
	d := everyday()
	d.Ticket.Rush = true
	got := sizeOf(t, Compose(d, 48, ""), rush)
	assert.True(t, got.Invert && !got.Red, got)
	d.Ticket.Void = true
	assert.Equal(t, firstWith(Compose(d, 48, ""), rush), "")
}

func TestABannerIsBlackFromEdgeToEdgeAndDoubleWidthOnTwiceItsColumns(t *testing.T) {
	for columns, want := range map[int]int{6: 1, 7: 1, 8: 2, 9: 2} { // VOID has 4 letters
		x := composer{columns: columns}
		x.warning(void)
		assert.True(t, len(x.lines) == 1 && x.lines[0].Width() == columns, columns, x.lines)
		assert.Equal(t, sizeOf(t, x.lines, void).widthFactor(), want, columns)
	}
}

func TestALabelWiderThanHalfOfItsLineWrapsWithTheText(t *testing.T) {
	for label, want := range map[string]string{
		"123456789 ":  "123456789 Soup\n" + spaces(10) + "croutons\n",
		"1234567890 ": "1234567890 Soup\ncroutons\n",
	} {
		x := composer{columns: 20}
		x.flow(paragraph{label: []Span{{Text: label}}, text: "Soup croutons"})
		assert.Equal(t, content(x.lines), want)
	}
}
