package layout

import (
	"regexp"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// upperCase writes s in capitals the way people do: ß becomes SS, and i becomes İ in text that
// contains ı, İ or ğ, which only the Turkic languages use. Letters whose capitals no font has
// (Georgian), or whose capital means something else (µ is not a Greek M), stay as they are.
func upperCase(s string) string {
	tag := language.Und
	if strings.ContainsAny(s, "ıİğĞ") {
		tag = language.Turkish
	}
	upper := cases.Upper(tag) // a Caser has state and must not be shared
	return upperCasable.ReplaceAllStringFunc(s, upper.String)
}

// upperCasable matches the text between letters that must stay as they are.
var upperCasable = regexp.MustCompile(`[^µ\x{10d0}-\x{10ff}]+`)
