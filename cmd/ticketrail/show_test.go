package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/layout"
)

func TestSinceAcceptsDurationsAndTimes(t *testing.T) {
	zone := time.FixedZone("AEDT", 11*3600)
	now := time.Date(2026, 11, 21, 0, 30, 0, 0, zone)
	for s, want := range map[string]time.Time{
		"":                     {},
		"2h":                   now.Add(-2 * time.Hour),
		"90s":                  now.Add(-90 * time.Second),
		"3d":                   now.AddDate(0, 0, -3),
		"00:15":                time.Date(2026, 11, 21, 0, 15, 0, 0, zone),
		"23:30":                time.Date(2026, 11, 20, 23, 30, 0, 0, zone), // last night's
		"2026-11-20":           time.Date(2026, 11, 20, 0, 0, 0, 0, zone),
		"2026-11-20 18:30":     time.Date(2026, 11, 20, 18, 30, 0, 0, zone),
		"2026-11-20 18:30:05":  time.Date(2026, 11, 20, 18, 30, 5, 0, zone),
		"2026-11-20T18:30:00Z": time.Date(2026, 11, 20, 18, 30, 0, 0, time.UTC),
	} {
		if got, err := parseSince(s, now); err != nil || !got.Equal(want) {
			t.Errorf("--since %q is %v (%v), want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"yesterday", "-2h", "-1d", "25:00", "7", "2026-13-01"} {
		if got, err := parseSince(s, now); err == nil {
			t.Errorf("--since %q is taken for %v", s, got)
		}
	}
}

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	hostile := "a\x1b[2Jb\u009b31mc\x7fd\re\nf\tg\x00"
	var out strings.Builder
	tb := newTable(&out, "A", "B")
	tb.row(hostile, hostile)
	if err := tb.end(); err != nil {
		t.Fatal(err)
	}
	if err := printLine(&out, "%s", hostile); err != nil {
		t.Fatal(err)
	}
	if err := showJSON(&out,
		map[string]any{"x": hostile, "y": jsonOrString([]byte(`"` + "\u009b\x7f" + `"`)),
			"z": jsonOrString([]byte("\x1b\xff"))}); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.String() {
		if r != '\n' && (r < ' ' || r >= 0x7f && r <= 0x9f) {
			t.Fatalf("%U gets through:\n%q", r, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 8 {
		t.Errorf("%d lines, want 8: a value may not make lines\n%q", n, out.String())
	}
}

func TestJSONKeepsControlCharactersAsEscapes(t *testing.T) {
	hostile := "a\x1b[2J\u009b\x7f<&>é"
	var out strings.Builder
	if err := showJSON(&out, hostile); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back != hostile {
		t.Errorf("%q comes back as %q, %v", hostile, back, err)
	}
}

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m",
		125 * time.Minute: "2h5m", 50 * time.Hour: "2d2h",
	} {
		if got := admin.Age(d); got != want {
			t.Errorf("span(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestOfManyJobNumbersOnlySomeAreListed(t *testing.T) {
	var ids []uint64
	for i := range uint64(30) {
		ids = append(ids, i+1)
	}
	if got := jobNumbers(ids[:1]); got != "now job 1" {
		t.Error(got)
	}
	if got := jobNumbers(ids); !strings.HasSuffix(got, " 20 … 30") || !strings.HasPrefix(got, "now jobs 1 2 ") {
		t.Error(got)
	}
}

func TestColumnsAlignInEveryScript(t *testing.T) {
	var out strings.Builder
	tb := newTable(&out, "NAME", "ID")
	for _, name := range []string{"Zoë K.", "王秀英", "Zoe\u0308", "", "ｱｲｳ"} {
		tb.row(name, "|")
	}
	tb.row("no id", "")
	if err := tb.end(); err != nil {
		t.Fatal(err)
	}
	want := "NAME    ID\nZoë K.  |\n王秀英  |\nZoe\u0308     |\n        |\nｱｲｳ     |\nno id\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestAListOfScreensSaysWhatACookMayHaveMissed(t *testing.T) {
	for want, s := range map[string]admin.Screen{
		"0":                         {},
		"7":                         {Open: 7},
		"7, 3 not seen":             {Open: 7, Unseen: 3},
		"0, 1 on paper":             {OnPaper: 1},
		"7, 3 not seen, 1 on paper": {Open: 7, Unseen: 3, OnPaper: 1},
	} {
		if got := ticketsOf(s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}

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

func TestACSVCellIsNoFormulaAndHasNoControlCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"Zoë K.": "Zoë K.", "": "", "O'Neil": "O'Neil", "Jean-Luc": "Jean-Luc", "a=b": "a=b", "3.5": "3.5",
		"2026-01-05": "2026-01-05",
		"=1+1":       "'=1+1", "+61 4": "'+61 4", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)", "＝1": "'＝1",
		"\t=1": "' =1", "\r=1": "' =1", "  =1": "'  =1", "\u200b=1": "'\u200b=1", "\ufeff=1": "'\ufeff=1",
		"a\x1b[31mb": "a [31mb", "a\r\nb": "a  b", "a\u0085b": "a b", "a\xffb": "a\ufffdb",
		"a\u202egnp.exe": "a gnp.exe", "a\u2066b\u2069": "a b ", "\u200f=1": "' =1", "\u061ca": " a",
		"a\u200cb": "a\u200cb",
	} {
		if got := csvCell(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestACSVReadsBackAsItWasWritten(t *testing.T) {
	rows := [][]string{{"a,b", `say "x"`, "", "Łukasz"}, {"", "", "", ""}}
	r := report{}
	for _, row := range rows {
		r.rows = append(r.rows, reportRow{csv: slices.Clone(row)})
	}
	var b strings.Builder
	if err := r.writeCSV(&b, []string{"w", "x", "y", "z"}); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(got) != 3 || !slices.Equal(got[1], rows[0]) || !slices.Equal(got[2], rows[1]) {
		t.Errorf("%q, %v", got, err)
	}
}
