package main

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/deploy/assert"
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
		got, err := parseSince(s, now)
		assert.True(t, err == nil && got.Equal(want), s, got, err, want)
	}
	for _, s := range []string{"yesterday", "-2h", "-1d", "25:00", "7", "2026-13-01"} {
		got, err := parseSince(s, now)
		assert.True(t, err != nil, s, got)
	}
}

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	hostile := "a\x1b[2Jb\u009b31mc\x7fd\re\nf\tg\x00"
	var out strings.Builder
	tb := newTable(&out, "A", "B")
	tb.row(hostile, hostile)
	must(t, tb.end())
	must(t, printLine(&out, "%s", hostile))
	must(t, showJSON(&out, map[string]any{"x": hostile, "y": jsonOrString([]byte(`"` + "\u009b\x7f" + `"`)),
		"z": jsonOrString([]byte("\x1b\xff"))}))
	for _, r := range out.String() {
		if r != '\n' && (r < ' ' || r >= 0x7f && r <= 0x9f) {
			t.Fatalf("%U gets through:\n%q", r, out.String())
		}
	}
	assert.Equal(t, strings.Count(out.String(), "\n"), 8, out.String())
}

func TestJSONKeepsControlCharactersAsEscapes(t *testing.T) {
	hostile := "a\x1b[2J\u009b\x7f<&>é"
	var out strings.Builder
	must(t, showJSON(&out, hostile))
	var back string
	err := json.Unmarshal([]byte(out.String()), &back)
	assert.True(t, err == nil && back == hostile, hostile, back, err)
}

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m",
		125 * time.Minute: "2h5m", 50 * time.Hour: "2d2h",
	} {
		assert.Equal(t, finding.Age(d), want, d)
	}
}

func TestOfManyJobNumbersTheFirstAndTheLastAreSaid(t *testing.T) {
	for want, ids := range map[string][]uint64{"now job 7": {7}, "now jobs 7 … 31": {7, 8, 30, 31}} {
		assert.Equal(t, jobNumbers(ids), want, ids)
	}
}

func TestAListOfScreensSaysWhatACookMayHaveMissed(t *testing.T) {
	for want, s := range map[string]admin.Screen{
		"0":             {},
		"7":             {Open: 7},
		"7, 3 not seen": {Open: 7, Unseen: 3},
	} {
		assert.Equal(t, ticketsOf(s), want, s)
	}
}

func TestFindingsKeepTheirWordsInColour(t *testing.T) {
	findings := []finding.Finding{
		{Level: finding.Fail, Subject: "grill", Text: "paper out", Do: "put in a new roll"},
		{Level: finding.Warn, Subject: "clock", Text: "not synchronized\x1b[2J"},
		{Level: finding.OK, Subject: "orders", Text: "42"},
	}
	plain := "FAIL  grill   paper out\n              to fix: put in a new roll\nWARN  clock   not synchronized�[2J\n" +
		"OK    orders  42\n"
	assert.Equal(t, findingsText(findings, false), plain, "the findings are")
	coloured := strings.NewReplacer("FAIL", "\x1b[1;31mFAIL\x1b[0m", "WARN", "\x1b[33mWARN\x1b[0m",
		"OK", "\x1b[32mOK\x1b[0m").Replace(plain)
	assert.Equal(t, findingsText(findings, true), coloured, "in colour they are")
}

func TestASubjectThatFailsIsNotOKToo(t *testing.T) {
	got := findingsText([]finding.Finding{
		{Level: finding.Fail, Subject: "orders", Text: "the disk is full"},
		{Level: finding.Fail, Subject: "disk", Text: "paper out", Station: true},
		{Level: finding.OK, Subject: "orders", Text: "0 orders"},
		{Level: finding.OK, Subject: "disk", Text: "900 MB free"},
	}, false)
	want := "FAIL  orders  the disk is full\nFAIL  disk    paper out\n" +
		"      orders  0 orders\nOK    disk    900 MB free\n"
	assert.Equal(t, got, want)
}

func TestACSVReadsBackAsItWasWritten(t *testing.T) {
	rows := [][]string{{"a,b", `say "x"`, "", "Łukasz"}, {"", "", "", ""}}
	r := report{}
	for _, row := range rows {
		r.rows = append(r.rows, slices.Clone(row))
	}
	var b strings.Builder
	must(t, r.writeCSV(&b, []string{"w", "x", "y", "z"}))
	got, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	assert.True(t, err == nil && len(got) == 3 && slices.Equal(got[1], rows[0]) && slices.Equal(got[2], rows[1]), got,
		err)
}
