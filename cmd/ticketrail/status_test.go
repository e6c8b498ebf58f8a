package main

import (
	"bytes"
	"strings"
	"testing"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/layout"
)

func TestAnOverviewFits80ColumnsAndKeepsItsWordsInColour(t *testing.T) {
	o := admin.Overview{Findings: []admin.Finding{
		{Level: admin.Fail, Subject: "grill", Text: strings.Repeat("paper ", 30), Do: "put in a new roll"},
		{Level: admin.Warn, Subject: "clock", Text: "not synchronized\x1b[2J"},
		{Level: admin.OK, Subject: "orders", Text: "42"},
	}}
	plain, coloured := overviewText(o, 80, false), overviewText(o, 80, true)
	for line := range strings.Lines(plain) {
		if layout.Width(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("%q is wider than 80 columns", line)
		}
	}
	if strings.Contains(plain, "\x1b") ||
		!strings.Contains(plain, "\n              to fix: put in a new roll\nWARN  clock   not") {
		t.Errorf("the overview is\n%s", plain)
	}
	for _, word := range []string{
		"\x1b[1;31mFAIL\x1b[0m  grill", "\x1b[33mWARN\x1b[0m  clock", "\x1b[32mOK\x1b[0m    orders",
	} {
		if !strings.Contains(coloured, word) {
			t.Errorf("%q is missing in\n%q", word, coloured)
		}
	}
	if strings.Contains(coloured, "\x1b[2J") {
		t.Error("a control sequence of a text reaches the terminal")
	}
}

func TestDoctorNamesAStationOnceIfTheDaemonReportsIt(t *testing.T) {
	said := []admin.Finding{{Subject: "grill", Station: true}, {Subject: "orders"}}
	found := []admin.Finding{{Subject: "printer grill"}, {Subject: "printer orders"}, {Subject: "port"}}
	var subjects []string
	for _, f := range joinFindings(said, found) {
		subjects = append(subjects, f.Subject)
	}
	if got := strings.Join(subjects, ", "); got != "grill, orders, printer orders, port" {
		t.Errorf("the findings are about %s", got)
	}
}

func TestTheLastCellOfATableIsFoldedOnATerminal(t *testing.T) {
	for _, c := range []struct{ last, want string }{
		{"short", "ID      NOTE\nlonger  short\n"},
		{"one two three four five six", "ID      NOTE\nlonger  one two three four\n        five six\n"},
		// A word that has no room there goes below, whole.
		{"http://127.0.0.1:9322/screen", "ID      NOTE\nlonger\n    http://127.0.0.1:9322/screen\n"},
	} {
		var b bytes.Buffer
		table := newTable(&b, "ID", "NOTE")
		table.columns = 28
		table.row("longer", c.last)
		if err := table.end(); err != nil || b.String() != c.want {
			t.Errorf("%q gives %v and\n%s", c.last, err, b.String())
		}
	}
}

func TestATableOfLongNamesFitsTheTerminalAndIsWholeInAPipe(t *testing.T) {
	const order, station = "\x1b[2J\u202eorder-with-a-long-number", "grill-upstairs-beside-the-厨房厨房厨房"
	for columns, whole := range map[int]bool{0: true, 60: false} {
		var b bytes.Buffer
		table := newTable(&b, "ID", "ORDER", "STATION", "STATE", "NOTE")
		table.columns = columns
		table.row("17", order, station, "pending", "the printer does not answer")
		if err := table.end(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if columns > 0 && layout.Width(strings.TrimRight(line, "\n")) > columns {
				t.Errorf("%q is wider than %d columns", line, columns)
			}
		}
		if strings.Contains(b.String(), station) != whole || !strings.Contains(b.String(), "pending") ||
			strings.Contains(b.String(), "…") == whole || strings.ContainsAny(b.String(), "\x1b\u202e") {
			t.Errorf("%d columns:\n%s", columns, b.String())
		}
	}
}
