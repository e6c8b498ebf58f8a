package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
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
