package layout

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/queue/ticket"
)

func TestTheDefaultWordsFindAllergiesAndNothingElse(t *testing.T) {
	b, err := os.ReadFile("testdata/allergies.txt")
	assert.NoError(t, err)
	a, seen := NewAlarms(UsualAlarms()), map[string]int{}
	for line := range strings.Lines(string(b)) {
		verdict, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		seen[verdict]++
		if verdict != "" && verdict != "#" {
			assert.Equal(t, a.Match(text), verdict == "yes", text)
		}
	}
	assert.True(t, seen["yes"] >= 100 && seen["no"] >= 100, seen)

	for _, e := range UsualAlarms() {
		assert.True(t, strings.HasPrefix(e, "-") || a.Match("x "+strings.TrimPrefix(e, "*")), e)
	}
}

func TestAWordIsFoundWhereTheEntrySays(t *testing.T) {
	for _, x := range []struct {
		entries, text string
		want          bool
	}{
		{"nut", "Nuts", true},
		{"nut", "donut", false},
		{"*nut", "donut", true},
		{"nut", "(nut)", true},
		{"nut", "don-nut", true},
		{"nut", "hazel\u00adnut", false}, // a soft hyphen is inside a word
		{"nut", "7nuts", false},
		{"nut free", "nut-free", true},
		{"nut free", "nut   free", true},
		{"nut free", "nut, free", false},
		{"nut free", "nut\nfree", false},
		{"nut free", "nut – free", false},
		{"NÜSSE", "nusse", true},
		{"nusse", "NU\u0308ẞE", true},
		{"nuts", "ｎｕｔｓ", true},
		{"d'allergie", "D’ALLERGIE", true},
		{"花生", "有花生的", true},
		{"땅콩", "꿀땅콩", true},
		{"ถั่ว", "ไม่ใส่ถั่ว", true},
		{"🥜", "no🥜!", true},
		{"nut,-nut bread", "nut bread", false},
		{"nut,-nut bread", "nut breads, nut oil", true},
		{"nut free,-x", "nut x free", false}, // a part that is taken out leaves a gap that no phrase crosses
		{"nut,-*gonut", "gonut", false},
		{"", "nut", false},
		{"-nut", "nut", false},
		{"!", "!", false},
	} {
		assert.Equal(t, NewAlarms(strings.Split(x.entries, ",")).Match(x.text), x.want, x.entries, x.text)
	}
	assert.True(t, !(*Alarms)(nil).Match("nut"), "no words find something")
}

func TestAMegabyteOfAnyTextIsSearched(t *testing.T) {
	slow.Test(t)
	// If the time grew faster than the length of the text, this test would not end.
	a := NewAlarms(UsualAlarms())
	for text, want := range map[string]bool{"allerg": true, "no allergies ": false, "a\u0301": false, "\u0301": false,
		"过": false, "- ": false, "\x00": false, "\xff": false, "กำ": false} {
		assert.Equal(t, a.Match(strings.Repeat(text, 1<<20/len(text))), want, text)
	}
}

// allergies is an order with an alarm in each place where a guest's words may be.
func allergies() ticket.Delivery {
	return ticket.Delivery{Ticket: ticket.Ticket{Number: "18", Notes: []string{"nuts!\nat once", "birthday"},
		Lines: []ticket.Line{
			{Quantity: "2", Name: "No nuts cake", Notes: []string{"well done"}},
			{Quantity: "1", Name: "Burger",
				Notes: []string{"nuts kill her, so please be careful with all of the pans"}},
			{Depth: 1, Quantity: "1", Name: "nuts"},
			{Depth: 1, Quantity: "1", Name: "onion"},
			{Quantity: "1", Name: "Fish", Void: true, Notes: []string{"nuts"}},
			{Depth: 1, Quantity: "1", Name: "nuts", Void: true},
		}}}
}

func TestAnAlarmIsWhiteOnBlackFromEdgeToEdge(t *testing.T) {
	d := allergies()
	d.Ticket.Lines = d.Ticket.Lines[:4]
	seen := ""
	for _, l := range ComposeWith(d, Options{Columns: 32, Alarms: NewAlarms([]string{"nuts", "no nuts"}),
		NameSize: Size{2, 1}, ModifierSize: Size{1, 1}}) {
		text := strings.TrimSpace(content([]Line{l}))
		inverted, all := false, true
		for _, s := range l.Spans {
			inverted, all = inverted || s.Invert, all && s.Invert && s.Bold && s.Red && s.Height >= 2
		}
		if !inverted {
			continue
		}
		seen += text + "\n"
		assert.True(t, all && l.Width() == 32, text, l.Spans)
	}
	want := "! nuts!\nat once\n2x No nuts cake\n! nuts kill her, so please\nbe careful with all of\nthe pans\nnuts\n"
	assert.Equal(t, seen, want)
}

func TestWithoutWhiteOnBlackAnAlarmIsInCapitalsInAFrame(t *testing.T) {
	lines := ComposeWith(allergies(), Options{Columns: 32, Alarms: NewAlarms([]string{"nuts"}), Framed: true})
	assert.Golden(t, "testdata/alarms-framed-32.txt", Plain(lines, 32), *update)
}

func TestACancelledAllergyIsACancellation(t *testing.T) {
	d := allergies()
	d.Ticket.Notes, d.Ticket.Lines = nil, d.Ticket.Lines[4:]
	for _, o := range []Options{{Columns: 32}, {Columns: 32, Framed: true}} {
		want := ComposeWith(d, o)
		o.Alarms = NewAlarms([]string{"nuts"})
		assert.Equal(t, cmp.Diff(want, ComposeWith(d, o)), "")
	}
}
