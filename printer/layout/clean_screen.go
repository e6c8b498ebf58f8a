package layout

import (
	"strings"
	"unicode/utf8"
)

// OneLine makes a string from the service safe to show on a screen: one line without control characters,
// see [Clean], and without space at its ends. Unlike on paper, joiners within a word stay: a screen can
// render them, and words of many languages are misspelt without them.
func OneLine(s string) string {
	return strings.Join(strings.Fields(cleanButJoiners(s)), " ")
}

// cleanButJoiners is [Clean], but it removes soft hyphens and word joiners, and keeps U+200C and U+200D
// (zero width non-joiner and joiner).
func cleanButJoiners(s string) string {
	if !strings.ContainsAny(s, "\u00ad\u200c\u200d\u2060") {
		return Clean(s)
	}
	var b strings.Builder
	start := 0
	for i, r := range s {
		if r != 0xad && r != 0x200c && r != 0x200d && r != 0x2060 {
			continue
		}
		b.WriteString(Clean(s[start:i]))
		start = i + utf8.RuneLen(r)
		if r == 0x200c || r == 0x200d {
			b.WriteRune(r)
		}
	}
	b.WriteString(Clean(s[start:]))
	return b.String()
}

// Notes makes what guests asked for safe to show on a screen. Each note keeps the line breaks that were
// typed; empty lines and empty notes are left out.
func Notes(in []string) (out []string) {
	for _, s := range in {
		var lines []string
		for l := range strings.FieldsFuncSeq(s, lineBreak) {
			if l = OneLine(l); l != "" {
				lines = append(lines, l)
			}
		}
		if len(lines) > 0 {
			out = append(out, strings.Join(lines, "\n"))
		}
	}
	return out
}
