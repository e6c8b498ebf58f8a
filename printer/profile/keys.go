package profile

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxText  = 200 // bytes
	maxShown = 60  // bytes of a value, in an error
)

// Override is p with some of its keys changed. The keys and their values are those of
// models.yaml; p's name stays. The error joins everything that is wrong, each with the
// key, the value seen and what is possible; the Profile is p as it was then.
func (p Profile) Override(over map[string]any) (Profile, error) {
	out := p.clone()
	known := out.keys()
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(over)) {
		i := slices.IndexFunc(known, func(k key) bool { return k.name == name })
		if i < 0 {
			names := make([]string, len(known))
			for i, k := range known {
				names[i] = k.name
			}
			problems = append(problems, fmt.Errorf("%s: a profile has no such key; there are %s", name, strings.Join(names, ", ")))
			continue
		}
		if err := known[i].set(over[name]); err != nil {
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

// contradictions are keys that cannot be true together.
func (p *Profile) contradictions() (problems []error) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if p.Dots < p.Columns*6 {
		bad("dots: %d are too few for %d columns, which are %d at the least", p.Dots, p.Columns, p.Columns*6)
	}
	if p.TwoByte != NoTwoByte && p.Sizing == Doubled {
		bad("two_byte: %s is possible with sizing: scaled only; use none", p.TwoByte)
	}
	if p.QR == RasterQR && p.Raster == NoRaster {
		bad("qr: raster needs a raster command, and raster is none; use native or none")
	}
	if p.SmallFont && p.Sizing != Doubled {
		bad("small_font: true is possible with sizing: doubled only; use false")
	}
	return problems
}

// set gives the field of k a value from YAML; where that is an error, the field is of no use. No
// type is taken for another: a library's decoder would cut 42.5 to 42, and take yes for true and
// 7 for a text. The error says the value seen and what is possible.
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
	case encoding.TextUnmarshaler:
		s, _ := v.(string)
		err := to.UnmarshalText([]byte(s))
		ok, use = err == nil, fmt.Sprint(err)
	}
	if !ok {
		return fmt.Errorf("%s is not possible; %s", quoted(v), use)
	}
	return nil
}

// whole takes the shapes in which YAML, JSON and viper hand over a whole number.
func wholeNumber(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), int64(int(n)) == n
	case uint64:
		return int(n), n <= 1<<31
	case float64:
		return int(n), n == float64(int(n)) // not for NaN
	}
	return 0, false
}

// quoted is a value as an error shows it: on one line, without anything that commands a
// terminal, and not whole where somebody put a file in the place of a word.
func quoted(v any) string {
	s, text := v.(string)
	if !text {
		s = fmt.Sprint(v)
	}
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	s = strconv.Quote(s)
	if !text {
		s = s[1 : len(s)-1]
	}
	return s
}

// setCodePages takes a list of NAME=NUMBER.
func setCodePages(to *[]CodePage, v any) error {
	const use = "use a list like [CP437=0, WPC1252=16], the best first"
	var texts []string
	switch l := v.(type) {
	case []string:
		texts = l
	case []any:
		for _, e := range l {
			s, ok := e.(string)
			if !ok {
				return fmt.Errorf("%s is not possible; %s", quoted(e), use)
			}
			texts = append(texts, s)
		}
	}
	if len(texts) == 0 {
		return fmt.Errorf("%s is not possible; %s", quoted(v), use)
	}
	pages := make([]CodePage, 0, len(texts))
	for _, s := range texts {
		name, number, _ := strings.Cut(s, "=")
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil || name == "" {
			return fmt.Errorf("%s is not possible; %s", quoted(s), use)
		}
		if i := slices.IndexFunc(pages, func(p CodePage) bool { return p.Number == byte(n) }); i >= 0 {
			return fmt.Errorf("%s: %d is the number of %s already; a number stands for one page", quoted(s), n, pages[i].Name)
		}
		if !slices.Contains(PageNames(), name) {
			return fmt.Errorf("%s: no page of that name can be written; there are %s", quoted(s), strings.Join(PageNames(), ", "))
		}
		pages = append(pages, CodePage{byte(n), name})
	}
	*to = pages
	return nil
}
