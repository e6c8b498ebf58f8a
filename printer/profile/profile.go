// Package profile describes the models of kitchen printers as data: paper width, characters, cutter, buzzer,
// and how the result of a ticket is confirmed.
//
// The data is models.yaml. It holds the properties that a printer cannot be asked reliably, because clones answer with
// the name of another maker's model. Each key can be overridden for a printer that differs: [Profile.Override]. The
// package knows no commands, except the numbers by which a model selects its code pages.
package profile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Adding a model is an entry in models.yaml, no code. A wrong value prints badly in ways that no
// test here can see, so each entry names its source, and doubtful properties are left at their safe
// value: no two-byte characters, more feed, never the cash drawer.

// A Profile is one model. Copies share their code pages, which nothing changes.
//
// The fields are the only list of the keys of a profile: the json tag is the key in models.yaml, in
// printers[].override and in listings; the range tag is the range of a number, the oneof tag the values of a word.
type Profile struct {
	Name  string `json:"name"`  // cannot be overridden
	About string `json:"about"` // one line: which printers these are

	// Columns is how many characters of normal size fit on a line, Dots how many dots: a character of
	// normal size is Dots/Columns dots wide. With at most 1000 dots, the width bytes of an image command
	// never look like a real-time command (10h 04h and others), which printers execute wherever it
	// appears. The widest kitchen paper, 112 mm, has 832.
	Columns int `json:"columns" range:"20 to 255"`
	Dots    int `json:"dots" range:"160 to 1000"`

	// CodePages are the character tables of the model, preferred ones first. The first is selected at the
	// start of every ticket.
	CodePages []CodePage `json:"code_pages"`
	// TwoByte is the encoding of the model's built-in Chinese characters.
	TwoByte TwoByte `json:"two_byte" oneof:"none gb18030"`

	Cutter Cutter `json:"cutter" oneof:"none partial full"`
	// FeedBeforeCut is how many lines of normal height are fed after the ticket, so that its last line is
	// past the cutter, or past the tear bar if there is no cutter.
	FeedBeforeCut int `json:"feed_before_cut" range:"0 to 30"`

	// LinesPerSecond is how fast lines of normal height print. Tickets to a printer that gives no answer are
	// sent no faster; for others it bounds how long an answer is waited for.
	LinesPerSecond int `json:"lines_per_second" range:"1 to 100"`

	Sizing Sizing `json:"sizing" oneof:"scaled doubled"`
	// SmallFont: Columns counts characters of the smaller of a Doubled model's two fonts.
	SmallFont bool `json:"small_font"`

	Invert    bool `json:"invert"`     // prints white on black
	TwoColour bool `json:"two_colour"` // has a red ribbon
	// Kanji: the model starts in a mode in which it takes two accented letters for one Chinese or Japanese
	// character, until FS . switches that off.
	Kanji bool `json:"kanji"`

	Raster  Raster  `json:"raster" oneof:"none bit_image graphics"`
	QR      QR      `json:"qr" oneof:"none native raster"`
	Buzzer  Buzzer  `json:"buzzer" oneof:"none esc_paren_a esc_b drawer"`
	Confirm Confirm `json:"confirm" oneof:"auto process_id status none"` // how the result of a ticket is found out
}

// Lookup finds a model by the name in the configuration.
func Lookup(name string) (Profile, bool) {
	for _, model := range models() {
		if model.Name == name {
			return model, true
		}
	}
	return Profile{}, false
}

// Unknown is the error for a name that [Lookup] does not find. It lists the names.
func Unknown(name string) error {
	return fmt.Errorf("unknown printer profile %q; use one of %s", name, strings.Join(Names(), ", "))
}

// Names lists the models, sorted.
func Names() []string {
	var names []string
	for _, p := range models() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// All lists the models in the order of models.yaml: models of a maker first, generic ones last.
func All() []Profile { return slices.Clone(models()) }

// YAML lists the keys of p as in printers[].override, one on a line. An operator copies a line from
// there into override, so it must be valid YAML.
func (p Profile) YAML() string {
	var b strings.Builder
	for _, k := range p.keys() {
		value := fmt.Sprint(k.to.Elem())
		switch k.to.Interface().(type) {
		case *string:
			value = strconv.Quote(value)
		case *[]CodePage:
			value = strings.ReplaceAll(value, " ", ", ")
		}

		fmt.Fprintf(&b, "%s: %s\n", k.name, value)
	}
	return b.String()
}

// A key is one field of a profile other than its name.
type key struct {
	name    string
	to      reflect.Value // a pointer to the field
	numbers string        // the range of a number: "20 to 255"
	words   []string      // the values of a word
}

// keys lists the keys of p. Setting one changes p. A new field of Profile is so a key everywhere at
// once: in the file, in overrides and in listings.
func (p *Profile) keys() []key {
	var out []key
	for f, v := range reflect.ValueOf(p).Elem().Fields() {
		if name := f.Tag.Get("json"); name != "name" {
			out = append(out, key{name, v.Addr(), f.Tag.Get("range"), strings.Fields(f.Tag.Get("oneof"))})
		}
	}
	return out
}
