package escpos

import (
	"math"
	"strings"
	"unicode/utf8"
)

// nameEmoji replaces every emoji by its name in brackets. Skin tones are left out. A character that a font may have,
// such as ☕, stays. s went through [normalize].
func nameEmoji(s string) string {
	if all(s, isASCII) {
		return s
	}

	var b strings.Builder
	for s != "" {
		name, size := emoji(s)
		if size > 0 {
			b.WriteString("[" + name + "]")
		} else {
			_, size = utf8.DecodeRuneInString(s)
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

// isEmoji reports whether r is one of the pictures on a phone's keyboard. 1F100 to 1F1E5 are
// letters and numbers in circles and squares, which have a readable decomposition.
func isEmoji(r rune) bool { return r >= 0x1f000 && r < 0x1f100 || r >= 0x1f1e6 && r < 0x1fb00 }

func isRegionalIndicator(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func isSkinTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// emoji reads the emoji at the start of s. It returns its name and how many bytes it has; 0 if s
// starts with something else. A digit that was typed as a keycap is named by itself, because it may be a quantity.
func emoji(s string) (name string, n int) {
	const keycap = '\u20e3'
	first, n := utf8.DecodeRuneInString(s)
	second, more := utf8.DecodeRuneInString(s[n:])

	switch {
	case isRegionalIndicator(first) && isRegionalIndicator(second):
		return "flag " + string('a'+first-0x1f1e6) + string('a'+second-0x1f1e6), n + more
	case isRegionalIndicator(first):
		return string('a' + first - 0x1f1e6), n
	case isEmoji(first):
		for isSkinTone(second) {
			n += more
			second, more = utf8.DecodeRuneInString(s[n:])
		}
		return nameOf(first, math.MaxInt), n
	case second == keycap && strings.ContainsRune("0123456789#*", first):
		return string(first), n + more
	}
	return "", 0
}
