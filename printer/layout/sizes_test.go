package layout

import (
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestTextIsAsLargeAsConfiguredAndAsThePaperHasRoomFor(t *testing.T) {
	item := func(quantity, name string) ticket.Line { return ticket.Line{Quantity: quantity, Name: name} }
	bread, onion := item("2", "Bread"), ticket.Line{Depth: 1, Name: "No onion"}
	detailed := order(ticket.Line{Quantity: "1", Name: "Soup", Seat: "4", Notes: []string{"hot"}},
		ticket.Line{Depth: 1, Name: "Bread", Course: "Mains", Notes: []string{"dark"}})
	olives := func(quantity string) ticket.Delivery {
		return order(item("1", "Salad"), ticket.Line{Depth: 1, Quantity: quantity, Name: "Olives"})
	}
	cancelled := func(name string) ticket.Delivery {
		return order(ticket.Line{Quantity: "1", Name: name, Void: true}, bread)
	}
	large := func(most int) Options {
		return Options{Columns: 48, NameSize: Size{3, 3}, ModifierSize: Size{3, 3}, NumberSize: Size{3, 3},
			TableSize: Size{3, 3}, MaxSize: most}
	}
	table := ticket.Delivery{Ticket: ticket.Ticket{Table: "Gooseberrybush"}} // 14 letters
	day := everyday()                                                        // the longest word is Fashioned, 9 letters
	nuts := NewAlarms([]string{"nuts"})
	for _, c := range []struct {
		d    ticket.Delivery
		o    Options
		want map[Size]string
	}{
		{day, Options{Columns: 20, NameSize: Size{8, 8}, ModifierSize: Size{1, 1}},
			map[Size]string{{1, 8}: "Negroni", {1, 1}: "Large"}},
		{day, Options{Columns: 48, NameSize: Size{1, 2}, ModifierSize: Size{2, 2}},
			map[Size]string{{1, 2}: "Negroni|Large"}},
		{day, Options{Columns: 42, NameSize: Size{1, 1}}, map[Size]string{{1, 1}: "Negroni|Large"}},
		{day, Options{Columns: 42, NameSize: Size{0, 2}, ModifierSize: Size{-3, 99}},
			map[Size]string{{1, 2}: "Negroni|Large"}},
		{day, Options{Columns: 42}, map[Size]string{{2, 2}: "Negroni", {2, 1}: "Large"}},

		// The printer is not asked for anything that it cannot do.
		{day, large(0), map[Size]string{{3, 3}: "#7|Table|2x|Negroni|Large"}},
		{day, large(2), map[Size]string{{2, 2}: "#7|Table|2x|Negroni|Large"}},
		{day, large(8), map[Size]string{{3, 3}: "#7|Table|2x|Negroni|Large"}},

		// Number and table have sizes of their own; a table is narrower rather than broken.
		{day, Options{Columns: 48, NumberSize: Size{4, 4}, TableSize: Size{1, 3}},
			map[Size]string{{4, 4}: "#7", {1, 3}: "Table"}},
		{table, Options{Columns: 56, TableSize: Size{4, 4}}, map[Size]string{{4, 4}: "Gooseberrybush"}},
		{table, Options{Columns: 55, TableSize: Size{4, 4}}, map[Size]string{{3, 4}: "Gooseberrybush"}},
		{table, Options{Columns: 42, TableSize: Size{4, 4}}, map[Size]string{{3, 4}: "Gooseberrybush"}},
		{table, Options{Columns: 41, TableSize: Size{4, 4}}, map[Size]string{{2, 4}: "Gooseberrybush"}},

		// A name is narrower alone, and only if a word does not fit: "1x" in double width and a space take 5 of 33.
		{order(item("1", "Fourteenletter"), bread, onion), Options{Columns: 33},
			map[Size]string{{2, 2}: "Fourteenletter|Bread|2x", {2, 1}: "No onion"}},
		{order(item("1", "Fifteenletters-"), bread, onion), Options{Columns: 33},
			map[Size]string{{1, 2}: "Fifteenletters-", {2, 2}: "Bread|2x", {2, 1}: "No onion"}},
		{order(item("1", strings.Repeat("So ", 9)), bread), Options{Columns: 33}, map[Size]string{{2, 2}: "So|Bread"}},
		{order(item("1", "Fifteen-letters")), Options{Columns: 33}, map[Size]string{{2, 2}: "Fifteen-"}},
		{order(item("1", "Four\u00adteen\u00adletters")), Options{Columns: 33}, map[Size]string{{2, 2}: "Fourteen-"}},

		// Thai and Han cannot be read wide and low.
		{order(bread, ticket.Line{Depth: 1, Name: "不要香菜"}, ticket.Line{Depth: 1, Name: "ไม่เผ็ด"}),
			Options{Columns: 48}, map[Size]string{{1, 2}: "不要香菜|ไม่เผ็ด"}},

		// A cancelled word needs room beside its mark: VOID, "1x" in double width and two spaces take 10 of 48.
		{cancelled("Nineteenletters----"), Options{Columns: 48}, map[Size]string{{2, 2}: "Nineteen|Bread"}},
		{cancelled("Twentyletters-------"), Options{Columns: 48}, map[Size]string{{1, 2}: "Twenty", {2, 2}: "Bread"}},

		// A quantity of one digit takes at most a third of the paper: with a space, 15, 9 and 5 columns.
		{order(item("1", "Soup")), Options{Columns: 48, NameSize: Size{8, 8}}, map[Size]string{{7, 8}: "1x"}},
		{order(item("1", "Soup")), Options{Columns: 32, NameSize: Size{8, 8}}, map[Size]string{{4, 8}: "1x"}},
		{order(item("1", "Soup")), Options{Columns: 20, NameSize: Size{8, 8}}, map[Size]string{{2, 8}: "1x"}},

		// Wide text is narrowed if fewer than eight letters fit.
		{olives("10"), Options{Columns: 32, ModifierSize: Size{2, 1}}, map[Size]string{{2, 1}: "Olives"}},
		{olives("100"), Options{Columns: 32, ModifierSize: Size{2, 1}},
			map[Size]string{{1, 2}: "100x|Olives"}}, // a wide quantity would be an item's

		// A mark such as [NO] stays beside its word: the word alone would be an order.
		{order(bread, ticket.Line{Depth: 1, Name: "[NO] Peppercorn"}), Options{Columns: 32},
			map[Size]string{{1, 2}: "[NO] Peppercorn"}},
		{order(bread, ticket.Line{Depth: 1, Name: "[selected: false] Rare"}), Options{Columns: 32},
			map[Size]string{{1, 2}: "[selected: false] Rare"}},

		// A course is a bar as large as the ticket's, or only as high if it is long.
		{order(ticket.Line{Course: "Starters"}), Options{Columns: 16}, map[Size]string{{2, 2}: "Starters"}},
		{order(ticket.Line{Course: "Main dish"}), Options{Columns: 16}, map[Size]string{{0, 2}: "Main dish"}},

		// Details and notes have the size of modifiers, alarms the size of names.
		{detailed, Options{Columns: 48, ModifierSize: Size{1, 2}},
			map[Size]string{{1, 2}: "hot|Bread|Course Mains|dark"}},
		{detailed, Options{Columns: 48, ModifierSize: Size{2, 1}},
			map[Size]string{{2, 1}: "hot|Bread|Course Mains|dark"}},
		{order(item("1", "Nuts")), Options{Columns: 48, Alarms: nuts, NameSize: Size{2, 3}},
			map[Size]string{{2, 3}: "Nuts"}},

		// Raw data prints small and makes nothing else smaller.
		{order(item("1", "Soup"), ticket.Line{Quantity: "1", Raw: true, Name: strings.Repeat("{", 40)}),
			Options{Columns: 48}, map[Size]string{{2, 2}: "Soup", {}: "{"}},
	} {
		lines := ComposeWith(c.d, c.o)
		for want, texts := range c.want {
			for text := range strings.SplitSeq(texts, "|") {
				got := sizeOf(t, lines, text)
				assert.True(t, (Size{got.Width, got.Height}) == want && got.Bold == (want != Size{}), text, got, want)
			}
		}
	}
}

func TestTheLinesOfAnItemAreWrittenLikeThis(t *testing.T) {
	item := func(quantity, name string) ticket.Line { return ticket.Line{Quantity: quantity, Name: name} }
	seated := func(course, seat string) ticket.Line {
		return ticket.Line{Quantity: "1", Name: "Soup", Course: course, Seat: seat}
	}
	hot := ticket.Line{Depth: 1, Name: "Hot"}
	for _, c := range []struct {
		columns int
		lines   []ticket.Line
		want    string // the first lines, without spaces at the right
	}{
		// Courses are bars, seats group their lines, and both end with a rule.
		{20, []ticket.Line{seated("Mains", "1"), seated("Mains", "1"), seated("Mains", "2"), seated("", "2"),
			seated("", "")},
			spaces(5) + "Mains\n------ Seat 1 ------\n1x Soup\n1x Soup\n------ Seat 2 ------\n1x Soup\n" +
				"------ Seat 2 ------\n1x Soup\n--------------------\n1x Soup\n"},
		{20, []ticket.Line{seated("", "123456789")}, "-- Seat 123456789 --\n"},
		{20, []ticket.Line{seated("", "12 in the garden")}, "-- Seat 12 in the --\n------ garden ------\n"},

		// A name wraps at a hyphen and at a syllable before it is cut.
		{16, []ticket.Line{item("1", "Half-and-half pie")}, "1x Half-and-\n     half pie\n"},
		{16, []ticket.Line{item("1", "Hähnchen-Gorgonzola-Brust")}, "1x Hähnchen-\n     Gorgonzola-\n     Brust\n"},
		{16, []ticket.Line{item("1", "Donau\u00addampf\u00adschiff\u00adkapitän")},
			"1x Donaudampf-\n     schiff-\n     kapitän\n"},
		{16, []ticket.Line{item("1", "abcdefghijk\u00adno\u00ad \u00ad"), item("1", "\u00ad")},
			"1x abcdefghijk\n     no\n\n1x (no name)\n"},

		// Names begin in one column unless a quantity is too wide. Five letters of double width and a space are 11 of
		// 33 columns, the most that all names move for. A modifier is indented below any item.
		{33, []ticket.Line{item("1234", "Soup"), item("1", "Bread"), hot},
			"1234x Soup\n" + spaces(6) + "1x Bread\n" + spaces(11) + "Hot\n"},
		{33, []ticket.Line{item("12345", "Soup"), item("1", "Bread"), hot}, "12345x Soup\n1x Bread\n       Hot\n"},
		// Below a third of the paper the level is a mark: a number would be a quantity.
		{16, []ticket.Line{item("1", "Soup"), hot, {Depth: 2, Quantity: "2", Name: "Oil"}, {Depth: 64, Name: "Dip"}},
			"1x Soup\n     Hot\n     › 2x Oil\n     ›› Dip\n"},
		{42, []ticket.Line{item("1", "Soup"), {Depth: 4, Name: "Oil"}, {Depth: 5, Name: "Dip"}},
			"1x Soup\n" + spaces(13) + "Oil\n" + spaces(14) + "› Dip\n"},
		{32, []ticket.Line{item("123456789", "Soup"), hot}, "123456789x Soup\n  Hot\n==="},

		{42, []ticket.Line{item("2", " \n")}, "2x (no name)\n"},
		{42, []ticket.Line{item("0", "Soup")}, "0x Soup\n     ! quantity 0\n"},
		{42, []ticket.Line{item("10", "Soup")}, "10x Soup\n==="},
		{42, []ticket.Line{item("0.5", "Soup")}, "0.5x Soup\n==="},
	} {
		var got strings.Builder
		for _, l := range ComposeWith(order(c.lines...), Options{Columns: c.columns, Header: []string{}}) {
			got.WriteString(strings.TrimRight(content([]Line{l}), " \n") + "\n")
		}
		assert.True(t, strings.HasPrefix(got.String(), c.want), c.columns, got.String(), c.want)
	}
}
