package raster

import (
	"strings"
	"unicode/utf8"
)

// NameEmoji replaces every emoji by its name, whatever the fonts have: [hot pepper] can be read from across the
// kitchen, a pepper 24 dots high cannot. Skin tones are left out. A character that a font may have, such as ☕, stays.
func NameEmoji(s string) string {
	if ascii(s) {
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

// changesLook reports whether r only changes how the emoji before it looks: as a picture, in a skin tone, as the flag
// of a region (Unicode technical standard 51).
func changesLook(r rune) bool {
	return r == emojiStyle || r >= 0x1f3fb && r <= 0x1f3ff || r >= 0xe0020 && r <= 0xe007f
}

const (
	emojiStyle = '\ufe0f'
	keycap     = '\u20e3'
)

// emoji reads the emoji at the start of s. It returns its name and how many bytes it has; 0 if s
// starts with something else.
func emoji(s string) (name string, n int) {
	first, n := utf8.DecodeRuneInString(s)
	second, more := utf8.DecodeRuneInString(s[n:])

	switch {
	case isRegionalIndicator(first) && isRegionalIndicator(second):
		return "flag " + string('a'+first-0x1f1e6) + string('a'+second-0x1f1e6), n + more
	case isRegionalIndicator(first):
		return string('a' + first - 0x1f1e6), n
	case isEmoji(first):
		for more > 0 && changesLook(second) {
			n += more
			second, more = utf8.DecodeRuneInString(s[n:])
		}
		return nameOf(first), n
	case !strings.ContainsRune("0123456789#*", first):
		return "", 0
	}

	// A digit that was typed as a keycap is named by itself, because it may be a quantity.
	if second == emojiStyle {
		n += more
		second, more = utf8.DecodeRuneInString(s[n:])
	}

	if second != keycap {
		return "", 0
	}
	return string(first), n + more
}
