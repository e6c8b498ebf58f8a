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

// A key is one thing that models.yaml says of a model and that may be overridden.
type key struct {
	name string
	set  func(p *Profile, v any) error // its error says the value seen and what is possible
}

func keys() []key {
	return []key{
		{"about", func(p *Profile, v any) error { return setText(&p.About, v) }},
		{"columns", func(p *Profile, v any) error { return setNumber(&p.Columns, v, 20, 255) }},
		{"dots", func(p *Profile, v any) error { return setNumber(&p.Dots, v, 160, maxDots) }},
		{"code_pages", func(p *Profile, v any) error { return setCodePages(&p.CodePages, v) }},
		{"two_byte", func(p *Profile, v any) error { return setWord(&p.TwoByte, v, twoBytes()) }},
		{"cutter", func(p *Profile, v any) error { return setWord(&p.Cutter, v, cutters()) }},
		{"feed_before_cut", func(p *Profile, v any) error { return setNumber(&p.FeedBeforeCut, v, 0, 30) }},
		{"sizing", func(p *Profile, v any) error { return setWord(&p.Sizing, v, sizings()) }},
		{"small_font", func(p *Profile, v any) error { return setFlag(&p.SmallFont, v) }},
		{"invert", func(p *Profile, v any) error { return setFlag(&p.Invert, v) }},
		{"two_colour", func(p *Profile, v any) error { return setFlag(&p.TwoColour, v) }},
		{"kanji", func(p *Profile, v any) error { return setFlag(&p.Kanji, v) }},
		{"raster", func(p *Profile, v any) error { return setWord(&p.Raster, v, rasters()) }},
		{"qr", func(p *Profile, v any) error { return setWord(&p.QR, v, qrs()) }},
		{"buzzer", func(p *Profile, v any) error { return setWord(&p.Buzzer, v, buzzers()) }},
		{"confirm", func(p *Profile, v any) error { return setWord(&p.Confirm, v, confirms()) }},
	}
}

// maxDots keeps the width of an image in a number whose bytes, wherever they stand in a
// command, spell no other one. The widest kitchen paper, 112 mm, has 832 dots.
const maxDots = 1000

// Override is p with some of its keys changed. The keys and their values are those of
// models.yaml; p's name stays. The error joins everything that is wrong, each with the
// key, the value seen and what is possible; the Profile is p as it was then.
func (p Profile) Override(over map[string]any) (Profile, error) {
	out, err := p.with(over)
	if err == nil {
		err = out.check()
	}
	if err != nil {
		return p, err
	}
	return out, nil
}

func (p Profile) with(over map[string]any) (Profile, error) {
	p = p.clone()
	known := keys()
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
		if err := known[i].set(&p, over[name]); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return p, errors.Join(problems...)
}

// check finds keys that contradict each other.
func (p *Profile) check() error {
	var problems []error
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
	return errors.Join(problems...)
}

func setText(to *string, v any) error {
	s, ok := v.(string)
	if !ok || len(s) > mostText || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
		return fmt.Errorf("%s is not possible; use a line of text, %d letters at most", quoted(v), mostText)
	}
	*to = s
	return nil
}

const (
	mostText  = 200 // bytes
	mostShown = 60  // bytes of a value, in an error
)

func setFlag(to *bool, v any) error {
	b, ok := v.(bool)
	if !ok {
		return fmt.Errorf("%s is not possible; use true or false", quoted(v))
	}
	*to = b
	return nil
}

func setNumber(to *int, v any, least, most int) error {
	n, ok := whole(v)
	if !ok || n < least || n > most {
		return fmt.Errorf("%s is not possible; use a whole number from %d to %d", quoted(v), least, most)
	}
	*to = n
	return nil
}

// whole takes the shapes in which YAML, JSON and viper hand over a whole number.
func whole(v any) (int, bool) {
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

func setWord[T comparable](to *T, v any, words []word[T]) error {
	s, _ := v.(string)
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
		if s == w.text {
			*to = w.value
			return nil
		}
	}
	last := len(texts) - 1
	return fmt.Errorf("%s is not possible; use %s or %s", quoted(v), strings.Join(texts[:last], ", "), texts[last])
}

// quoted is a value as an error shows it: on one line, without anything that commands a
// terminal, and not whole where somebody put a file in the place of a word.
func quoted(v any) string {
	s, text := v.(string)
	if !text {
		s = fmt.Sprint(v)
	}
	if len(s) > mostShown {
		s = strings.ToValidUTF8(s[:mostShown], "") + "…"
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

// PageNames lists the code pages that can be written. A test of package escpos holds it
// against the tables there.
func PageNames() []string {
	return []string{
		"CP437", "CP850", "CP852", "CP855", "CP858", "CP860", "CP862", "CP863", "CP865", "CP866",
		"ISO8859-1", "ISO8859-2", "ISO8859-3", "ISO8859-4", "ISO8859-5", "ISO8859-6", "ISO8859-7", "ISO8859-8", "ISO8859-9", "ISO8859-15",
		"WPC1250", "WPC1251", "WPC1252", "WPC1253", "WPC1254", "WPC1255", "WPC1256", "WPC1257", "WPC1258",
	}
}
