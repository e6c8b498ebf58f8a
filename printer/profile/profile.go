// Package profile says what each model of kitchen printer can do, as data: how wide
// its paper is, which letters it has, how it cuts, rings and answers.
//
// The data is models.yaml. A profile holds what cannot be asked of a printer reliably
// (clones answer with another maker's name), and any key of it can be overridden for a
// printer that differs: [Profile.Override]. It knows no bytes beyond the numbers a model
// gives its code pages, and no wires.
package profile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Profile is one model. Each one that [Lookup] hands out is the caller's own.
//
// Its fields are the only list of what a profile says: the json tag is the key in models.yaml,
// in printers[].override and in listings, the range tag what a number may be.
type Profile struct {
	Name  string `json:"name"`  // no key: it cannot be overridden
	About string `json:"about"` // one line for people: which printers these are

	// Columns is how many characters of normal size stand on a line, Dots how many dots: a
	// character of normal size is Dots/Columns dots wide. The most dots keep the width of an
	// image in a number whose bytes, wherever they stand in a command, spell no other one; the
	// widest kitchen paper, 112 mm, has 832.
	Columns int `json:"columns" range:"20 to 255"`
	Dots    int `json:"dots" range:"160 to 1000"`

	// CodePages are the character tables of the model, best first. The first one is
	// selected at the start of every ticket.
	CodePages []CodePage `json:"code_pages"`
	// TwoByte is what the model's own Chinese, Japanese or Korean letters are called by.
	TwoByte TwoByte `json:"two_byte"`

	Cutter Cutter `json:"cutter"`
	// FeedBeforeCut is how many lines of normal height go out below the ticket before
	// the cut, or before the tear bar where there is no cutter.
	FeedBeforeCut int `json:"feed_before_cut" range:"0 to 30"`

	Sizing Sizing `json:"sizing"`
	// SmallFont says that Columns counts the smaller of a Doubled model's two fonts.
	SmallFont bool `json:"small_font"`

	Invert    bool `json:"invert"`     // prints white on black
	TwoColour bool `json:"two_colour"` // has a red ribbon
	// Kanji says that the model is sold with Chinese or Japanese characters that take
	// accented letters for halves of theirs until that is switched off.
	Kanji bool `json:"kanji"`

	Raster  Raster  `json:"raster"`
	QR      QR      `json:"qr"`
	Buzzer  Buzzer  `json:"buzzer"`
	Confirm Confirm `json:"confirm"` // how it is learnt that a ticket came out
}

// Lookup finds a model by the name in the configuration.
func Lookup(name string) (Profile, bool) {
	for i := range models() {
		if p := &models()[i]; p.Name == name {
			return p.clone(), true
		}
	}
	return Profile{}, false
}

// Unknown is the error for a name that [Lookup] does not find. It says which there are.
func Unknown(name string) error {
	return fmt.Errorf("%q is no printer profile; there is %s", name, strings.Join(Names(), ", "))
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

// All lists the models in the order of models.yaml: makers first, generic ones last.
func All() []Profile {
	out := slices.Clone(models())
	for i := range out {
		out[i] = out[i].clone()
	}
	return out
}

func (p Profile) clone() Profile {
	p.CodePages = slices.Clone(p.CodePages)
	return p
}

// YAML is the keys of p as they would stand in printers[].override, one a line.
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

// A key is one field of a profile but its name.
type key struct {
	name    string
	to      reflect.Value // a pointer to the field
	numbers string        // "20 to 255": what a number may be
}

func (p *Profile) keys() []key {
	var out []key
	for f, v := range reflect.ValueOf(p).Elem().Fields() {
		if name := f.Tag.Get("json"); name != "name" {
			out = append(out, key{name, v.Addr(), f.Tag.Get("range")})
		}
	}
	return out
}
