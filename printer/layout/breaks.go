package layout

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// breakWithoutHyphen returns how many bytes of word fit into room columns up to a place where the
// word may be broken without a hyphen, and their width; 0 if there is no such place.
func breakWithoutHyphen(word string, room int) (n, width int) {
	var before rune
	w := 0
	for i, r := range word {
		if canBreakBetween(before, r) {
			n, width = i, w
		}
		if w += displaywidth.Rune(r); w > room {
			return n, width
		}
		before = r
	}
	return n, width
}

// canBreakBetween reports whether a line may end after a and the next line begin with b.
//
// Beside Han and kana it may, except before closing punctuation and small kana and after opening
// punctuation (the kinsoku rules of Japanese typesetting). Thai and Lao words are separated by
// neither spaces nor marks, and only a dictionary finds them; before the vowels that begin a
// syllable is the best guess without one.
func canBreakBetween(a, b rune) bool {
	if b >= 0x0e40 && b <= 0x0e44 || b >= 0x0ec0 && b <= 0x0ec4 {
		return a >= 0x0e01 && a <= 0x0eff && (a < 0x0e40 || a > 0x0e44) && (a < 0x0ec0 || a > 0x0ec4)
	}
	return (isEastAsian(a) || isEastAsian(b)) && displaywidth.Rune(b) > 0 &&
		!strings.ContainsRune("、。，．・：；？！ー々〻ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ）］｝」』】〉》〕”’)]},.:;!?%…", b) &&
		!strings.ContainsRune("（［｛「『【〈《〔“‘([{$€£¥￥＄#", a)
}

// isEastAsian reports whether r belongs to the scripts that are written without spaces between
// words.
func isEastAsian(r rune) bool {
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) ||
		strings.ContainsRune("ー、。，．・！？）」』】》", r))
}

// widestWord returns the width of the widest part of s that should stay in one piece.
func widestWord(s string) int {
	most, w := 0, 0
	before := ' '
	for _, r := range s {
		if r == ' ' || canBreakBetween(before, r) {
			w = 0
		}
		if r != ' ' {
			w += displaywidth.Rune(r)
			most = max(most, w)
		}
		before = r
	}
	return most
}
