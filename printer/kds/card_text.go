package kds

import (
	"strings"
	"time"
	"unicode/utf8"

	"ticketrail/printer/layout"
)

// oneLine makes untrusted text one line without control characters, see [layout.Clean]. Unlike on
// paper, joiners within a word stay: a screen can render them, and words of many languages are
// misspelt without them.
func oneLine(s string) string {
	return strings.Join(strings.Fields(clean(s)), " ")
}

// clean is [layout.Clean], which removes soft hyphens and joiners, but keeps U+200C and U+200D
// (zero width non-joiner and joiner).
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

// cleanNote is what the guest asked for, with the line breaks that were typed and without empty
// lines.
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

// cleanNotes cleans each note and drops empty ones.
func cleanNotes(in []string) (out []string) {
	for _, s := range in {
		if s = cleanNote(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// clockText is the time of day in the kitchen's zone. Without a known zone it is UTC, and says so:
// a wrong time that looks right would be worse.
func clockText(t time.Time, zone string) string {
	if t.IsZero() {
		return ""
	}
	// "Local" would be the zone of this program, which says nothing about the kitchen.
	if zone != "" && zone != "UTC" && zone != "Local" {
		if loc, err := time.LoadLocation(zone); err == nil {
			return t.In(loc).Format("15:04")
		}
	}
	return t.UTC().Format("15:04 UTC")
}

// unixMillis is a time as pages get it; 0 is none.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
