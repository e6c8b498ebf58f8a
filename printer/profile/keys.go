package profile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxText = 200 // bytes of a text value

// Override returns p with some keys changed. Keys and values are as in models.yaml; the name
// stays. The error lists every mistake, each with the key, the value and the valid values; p is
// then returned unchanged. All mistakes at once, because each reload that fails costs the operator
// a round.
func (p Profile) Override(over map[string]any) (Profile, error) {
	out := p
	known := out.keys()
	var problems []error

	for _, name := range slices.Sorted(maps.Keys(over)) {
		at := slices.IndexFunc(known, func(k key) bool { return k.name == name })
		if at < 0 {
			names := make([]string, len(known))
			for i, k := range known {
				names[i] = k.name
			}
			problems = append(problems,
				fmt.Errorf("%s: unknown key of a profile; use one of %s", name, strings.Join(names, ", ")))
			continue
		}

		if err := known[at].set(over[name]); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}

	if len(problems) == 0 {
		problems = out.contradictions()
	}

	if len(problems) > 0 {
		return p, errors.Join(problems...)
	}
	return out, nil
}

// contradictions checks the keys that depend on each other. Each of them would print every ticket
// wrongly, or nothing, without any error from the printer.
func (p *Profile) contradictions() (problems []error) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	// The built-in font for drawn lines has letters 6 dots wide.
	if p.Dots < p.Columns*6 {
		bad("dots: %d are too few for %d columns; use at least %d", p.Dots, p.Columns, p.Columns*6)
	}

	if p.TwoByte != NoTwoByte && p.Sizing == Doubled {
		bad("two_byte: %s is valid with sizing: scaled only; use none", p.TwoByte)
	}
	if p.QR == RasterQR && p.Raster == NoRaster {
		bad("qr: raster needs a raster command, and raster is none; use native or none")
	}
	if p.SmallFont && p.Sizing != Doubled {
		bad("small_font: true is valid with sizing: doubled only; use false")
	}
	return problems
}

// set assigns a value from YAML to the field of k. After an error the field is undefined. Types are not
// converted: a decoding library would cut 42.5 to 42, and accept yes for true and 7 for a text. The error
// says the value and the valid ones.
func (k key) set(v any) error {
	use, ok := "", false
	switch to := k.to.Interface().(type) {
	case *[]CodePage:
		return setCodePages(to, v)
	case *string:
		*to, ok = v.(string)
		ok = ok && len(*to) <= maxText && utf8.ValidString(*to) && !strings.ContainsFunc(*to, unicode.IsControl)
		use = fmt.Sprintf("use a line of text, %d letters at most", maxText)
	case *bool:
		*to, ok = v.(bool)
		use = "use true or false"
	case *int:
		var least, most int
		fmt.Sscanf(k.numbers, "%d to %d", &least, &most)
		*to, ok = wholeNumber(v)
		ok = ok && *to >= least && *to <= most
		use = "use a whole number from " + k.numbers
	default:
		text, _ := v.(string)
		last := len(k.words) - 1
		ok, use = slices.Contains(k.words, text), "use "+strings.Join(k.words[:last], ", ")+" or "+k.words[last]
		k.to.Elem().SetString(text)
	}

	if !ok {
		return fmt.Errorf("%s is not valid; %s", quoted(v), use)
	}
	return nil
}

// wholeNumber accepts the types that YAML and JSON decode a whole number to, if it is not too large for an int: JSON
// decodes every number to float64.
func wholeNumber(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case float64:
		return int(n), n == float64(int(n)) // not for NaN
	}
	return 0, false
}

// quoted is a value as an error shows it: on one line, without control characters, and of a long one the beginning.
func quoted(v any) string {
	if text, ok := v.(string); ok {
		return fmt.Sprintf("%.60q", text) // a whole file may have ended up in one value by a missing quote
	}
	shown := fmt.Sprintf("%.60q", fmt.Sprint(v))
	return shown[1 : len(shown)-1]
}

// setCodePages parses a list of NAME=NUMBER.
func setCodePages(to *[]CodePage, v any) error {
	const use = "use a list like [CP437=0, WPC1252=16], the preferred one first"
	list, _ := v.([]any)
	if len(list) == 0 {
		return fmt.Errorf("%s is not valid; %s", quoted(v), use)
	}

	pages := make([]CodePage, 0, len(list))
	for _, element := range list {
		text, _ := element.(string)
		name, number, _ := strings.Cut(text, "=")
		parsed, err := strconv.ParseUint(number, 10, 8)
		if err != nil || name == "" {
			return fmt.Errorf("%s is not valid; %s", quoted(element), use)
		}

		// Two names for one number cannot both be right, and the printer would print one of them as
		// the other.
		if at := slices.IndexFunc(pages, func(p CodePage) bool { return p.Number == byte(parsed) }); at >= 0 {
			return fmt.Errorf("%s: the number %d is already used by %s", quoted(text), parsed, pages[at].Name)
		}

		if !slices.Contains(PageNames(), name) {
			return fmt.Errorf("%s: unsupported code page; use one of %s", quoted(text), strings.Join(PageNames(), ", "))
		}

		pages = append(pages, CodePage{byte(parsed), name})
	}
	*to = pages
	return nil
}
