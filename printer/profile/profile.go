// Package profile says what each model of kitchen printer can do, as data: how wide
// its paper is, which letters it has, how it cuts.
//
// A profile holds what cannot be asked of a printer reliably (clones answer with
// another maker's name). It knows no bytes beyond the numbers a model gives its code
// pages, and no wires.
package profile

import "slices"

// A Profile is one model. Each one that [Lookup] hands out is the caller's own.
//
// What later needs a field here, because it differs from model to model: how a
// printer confirms that it printed, its buzzer, and whether it takes raster images
// (Dots is how wide they may be).
type Profile struct {
	Name    string
	Columns int // characters of normal size on a line
	Dots    int // printable width in dots

	// CodePages are the character tables of the model, best first. The first one is
	// selected at the start of every ticket.
	CodePages []CodePage

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
}

// A CodePage is one character table and the number by which this model selects it.
type CodePage struct {
	Number byte
	Name   string // "CP437" … or "WPC1252": see package escpos for the names it can write
}

// Cutter is how a model parts tickets.
type Cutter int

const (
	NoCutter   Cutter = iota // torn by hand
	PartialCut               // leaves a bridge, so tickets do not fall
	FullCut
)

// Sizing is how a model is told to print big.
type Sizing int

const (
	// Scaled models multiply width and height, 1 to 8 times each.
	Scaled Sizing = iota
	// Doubled models know print modes only: normal or double, each way.
	Doubled
)

// Max is how many times the normal size a model can print.
func (s Sizing) Max() int {
	if s == Doubled {
		return 2
	}
	return 8
}

// Lookup finds a model by the name in the configuration.
func Lookup(name string) (Profile, bool) {
	for _, p := range models() {
		if p.Name == name {
			return p, true
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
