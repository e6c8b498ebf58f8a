package layout

import (
	"regexp"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// upperCase writes s in capital letters, as people write them: ß becomes SS, and i
// becomes İ in a text with ı, İ or ğ in it, for those only Turkish and its sisters have.
// Letters whose capital no font has, or that would then mean something else, stay:
// Georgian's, and µ, which is no Greek M.
func upperCase(s string) string {
	tag := language.Und
	if strings.ContainsAny(s, "ıİğĞ") {
		tag = language.Turkish
	}
	upper := cases.Upper(tag) // it has a state, so it is made anew
	return upperCasable.ReplaceAllStringFunc(s, upper.String)
}

var upperCasable = regexp.MustCompile(`[^µ\x{10d0}-\x{10ff}]+`)
