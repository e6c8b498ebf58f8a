// Package profile says what each model of kitchen printer can do, as data: how wide
// its paper is, which letters it has, how it cuts, rings and answers.
//
// The data is models.yaml. A profile holds what cannot be asked of a printer reliably
// (clones answer with another maker's name), and any key of it can be overridden for a
// printer that differs: [Profile.Override]. It knows no bytes beyond the numbers a model
// gives its code pages, and no wires.
package profile

import "slices"

// A Profile is one model. Each one that [Lookup] hands out is the caller's own.
type Profile struct {
	Name  string
	About string // one line for people: which printers these are

	// Columns is how many characters of normal size stand on a line, Dots how many dots: a
	// character of normal size is Dots/Columns dots wide.
	Columns int
	Dots    int

	// CodePages are the character tables of the model, best first. The first one is
	// selected at the start of every ticket.
	CodePages []CodePage
	// TwoByte is what the model's own Chinese, Japanese or Korean letters are called by.
	TwoByte TwoByte

	Cutter Cutter
	// FeedBeforeCut is how many lines of normal height go out below the ticket before
	// the cut, or before the tear bar where there is no cutter.
	FeedBeforeCut int

	Sizing Sizing
	// SmallFont says that Columns counts the smaller of a Doubled model's two fonts.
	SmallFont bool

	Invert    bool // prints white on black
	TwoColour bool // has a red ribbon
	// Kanji says that the model is sold with Chinese or Japanese characters that take
	// accented letters for halves of theirs until that is switched off.
	Kanji bool

	Raster Raster
	QR     QR
	Buzzer Buzzer
	// Confirm says how it is learnt that a ticket came out; "" is Auto.
	Confirm Confirm
}

// A CodePage is one character table and the number by which this model selects it.
type CodePage struct {
	Number byte
	Name   string // "CP437" … or "WPC1252": see package escpos for the names it can write
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
