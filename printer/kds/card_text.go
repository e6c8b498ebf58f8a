package kds

import (
	"strings"
	"time"
	"unicode/utf8"

	"ticketrail/printer/layout"
)

// line makes text from the service one line that a page or another program may show: see
// [layout.Clean]. What joins or parts letters within a word stays, for a screen can draw
// it and words of many languages are misspelt without it.
func oneLine(s string) string {
	return strings.Join(strings.Fields(clean(s)), " ")
}

func clean(s string) string {
	if !strings.ContainsAny(s, "\u00ad\u200c\u200d\u2060") {
		return layout.Clean(s)
	}
	var b strings.Builder
	start := 0
	for i, r := range s {
		if r != 0xad && r != 0x200c && r != 0x200d && r != 0x2060 {
			continue
		}
		b.WriteString(layout.Clean(s[start:i]))
		start = i + utf8.RuneLen(r)
		if r == 0x200c || r == 0x200d {
			b.WriteRune(r)
		}
	}
	b.WriteString(layout.Clean(s[start:]))
	return b.String()
}

// note is what the guest asked for, with the line breaks that were typed.
func cleanNote(s string) string {
	var out []string
	for l := range strings.FieldsFuncSeq(s, lineBreak) {
		if l = oneLine(l); l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

func lineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
}

func cleanNotes(in []string) (out []string) {
	for _, s := range in {
		if s = cleanNote(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// clock is the time of day where the kitchen is; where nobody knows its zone, UTC, and it
// says so.
func clockText(t time.Time, zone string) string {
	if t.IsZero() {
		return ""
	}
	// "Local" is where this program runs, which says nothing about the kitchen.
	if zone != "" && zone != "UTC" && zone != "Local" {
		if loc, err := time.LoadLocation(zone); err == nil {
			return t.In(loc).Format("15:04")
		}
	}
	return t.UTC().Format("15:04 UTC")
}

// millis is a time as pages get it; 0 is none.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
