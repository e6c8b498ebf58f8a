package raster

import (
	"strings"
	"unicode/utf8"
)

// An emoji on a screen may be up to ten code points: people joined by U+200D, skin tones, hair,
// flags of letters or tags. They are read as one, because half of one would print as the name of a
// skin tone or of an invisible character.

const (
	emojiStyle = '\ufe0f'
	keycap     = '\u20e3'
)

// isEmoji reports whether r is one of the pictures on a phone's keyboard. 1F100 to 1F1E5 are
// letters and numbers in circles and squares, which have a readable decomposition.
func isEmoji(r rune) bool { return r >= 0x1f000 && r < 0x1f100 || r >= 0x1f1e6 && r < 0x1fb00 }

// isSkinTone, isRegionalIndicator and isTag report whether r modifies or composes emoji (Unicode technical standard
// 51).
func isSkinTone(r rune) bool          { return r >= 0x1f3fb && r <= 0x1f3ff }
func isRegionalIndicator(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }
func isTag(r rune) bool               { return r >= 0xe0020 && r <= 0xe007f }

// maxEmojiParts is how many parts of a compound emoji are named; more would fill the ticket.
const maxEmojiParts = 2

// emoji reads the emoji at the start of s. It returns its name and how many bytes it has; 0 if s
// starts with something else.
func emoji(s string) (name string, n int) {
	first, size := utf8.DecodeRuneInString(s)
	if first < utf8.RuneSelf {
		return keycapEmoji(s)
	}
	if isRegionalIndicator(first) {
		if second, m := utf8.DecodeRuneInString(s[size:]); isRegionalIndicator(second) {
			return "flag " + string('a'+first-0x1f1e6) + string('a'+second-0x1f1e6), size + m
		}
		return string('a' + first - 0x1f1e6), size
	}
	parts, n := readPictures(s)
	switch {
	case len(parts) == 0:
		return "", 0
	case len(parts) == 1 && !isEmoji(parts[0]):
		return "", 0 // a sign such as ☕ with a variation selector: the fonts may have it
	case len(parts) > 1 && isFamily(parts):
		return "family", n
	}
	var names []string
	for _, r := range parts[:min(len(parts), maxEmojiParts)] {
		names = append(names, nameOf(r))
	}
	return strings.Join(names, "+"), n
}

// readPictures reads the parts of one emoji, without what only changes their appearance.
func readPictures(s string) (parts []rune, n int) {
	for {
		r, size := utf8.DecodeRuneInString(s[n:])
		// U+2190 to U+2BFF are the older signs, such as ☀ and ♥, which become pictures by what
		// follows them.
		if !isEmoji(r) && (r < 0x2190 || r > 0x2bff) {
			return parts, n // what follows the joiner is not a picture
		}
		// The hair styles and the gender signs are parts too; they are left out of the name.
		if len(parts) == 0 || !isSkinTone(r) && r != '♀' && r != '♂' && r < 0x1f9b0 || r > 0x1f9b3 {
			parts = append(parts, r)
		}
		n += size
		for {
			r, size = utf8.DecodeRuneInString(s[n:])
			if r != emojiStyle && !isSkinTone(r) && !isTag(r) {
				break
			}
			n += size
		}
		if r != joiner {
			return parts, n
		}
		n += size
	}
}

// isFamily reports whether all parts are people. "family" says as much to a cook as the names of
// its four members.
func isFamily(parts []rune) bool {
	for _, r := range parts {
		switch r {
		case 0x1f466, 0x1f467, 0x1f468, 0x1f469, 0x1f474, 0x1f475, 0x1f476, 0x1f9d1, 0x1f9d2, 0x1f9d3:
		default:
			return false
		}
	}
	return true
}

// keycapEmoji reads a digit that was typed as a keycap emoji. Its name is the digit itself, because
// it may be a quantity.
func keycapEmoji(s string) (name string, n int) {
	if s[0] != '#' && s[0] != '*' && (s[0] < '0' || s[0] > '9') {
		return "", 0
	}
	r, size := utf8.DecodeRuneInString(s[1:])
	n = 1
	if r == emojiStyle {
		n += size
		r, size = utf8.DecodeRuneInString(s[n:])
	}
	if r != keycap {
		return "", 0
	}
	return s[:1], n + size
}
