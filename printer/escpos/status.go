package escpos

import (
	"cmp"
	"math/bits"
	"strings"
)

// A Condition is a set of bits: a printer's report about itself.
type Condition uint16

const (
	Offline         Condition = 1 << iota // does not print at the moment; another bit may say why
	CoverOpen                             // does not print until it is closed
	PaperOut                              // does not print until there is paper
	PaperLow                              // the roll is nearly used up; it still prints
	CutterError                           // the blade is jammed
	Unrecoverable                         // must be switched off and on
	MechanicalError                       // a person must clear it, then it continues
	Overheated                            // continues when it has cooled down
	Fault                                 // an error without a cause
	FeedButton                            // paper is being fed with the button
	Waiting                               // waits to be set online by a person
)

// Blocking are the conditions under which nothing prints.
const Blocking = Offline | CoverOpen | PaperOut | CutterError | Unrecoverable | MechanicalError | Overheated | Fault

// conditionNames are in the order of the bits. They are label values of metrics and must not
// change.
var conditionNames = [...]string{
	"offline", "cover_open", "paper_out", "paper_low", "cutter_error", "unrecoverable",
	"mechanical_error", "overheated", "fault", "feed_button", "waiting",
}

// Conditions returns each single condition, in a fixed order.
func Conditions() []Condition {
	all := make([]Condition, len(conditionNames))
	for i := range all {
		all[i] = 1 << i
	}
	return all
}

// Name returns the name of a single condition, for labels and logs, and "" for a set of several.
func (c Condition) Name() string {
	if at := bits.TrailingZeros16(uint16(c)); c == 1<<at && at < len(conditionNames) {
		return conditionNames[at]
	}
	return ""
}

// Has reports whether every bit of other is set.
func (c Condition) Has(other Condition) bool { return c&other == other }

// Any reports whether at least one bit of other is set.
func (c Condition) Any(other Condition) bool { return c&other != 0 }

// Names are the names of all conditions of a set; never nil.
func (c Condition) Names() []string {
	names := []string{}
	for _, one := range Conditions() {
		if c.Has(one) {
			names = append(names, one.Name())
		}
	}
	return names
}

// String lists the names, or "ok" if there are none.
func (c Condition) String() string { return cmp.Or(strings.Join(c.Names(), ", "), "ok") }

// FromRealTime reads the answer b to DLE EOT n. If a pair of bits stands for one condition, either
// of them counts: manufacturers differ in which one they set. (Layouts: Epson TM-U220, Ithaca PcOS
// and Citizen CT-S2000 manuals.)
func FromRealTime(n, b byte) (c Condition) {
	switch n {
	case 1:
		c |= ifSet(b&0x08, Offline) | ifSet(b&0x20, Waiting) | ifSet(b&0x40, FeedButton)
	case 2: // bit 3, paper is being fed with the button, clears by itself
		c |= ifSet(b&0x04, CoverOpen) | ifSet(b&0x08, FeedButton) | ifSet(b&0x20, PaperOut) | ifSet(b&0x40, Fault)
	case 3:
		c |= ifSet(b&0x04, MechanicalError) | ifSet(b&0x08, CutterError) | ifSet(b&0x20, Unrecoverable) |
			ifSet(b&0x40, Overheated)
	case 4:
		c |= ifSet(b&0x0c, PaperLow) | ifSet(b&0x60, PaperOut)
	}
	return c
}

// RealTimeConditions returns the conditions that an answer to DLE EOT n can report. A condition in
// this set that the answer does not report is over.
func RealTimeConditions(n byte) Condition { return FromRealTime(n, 0xff) }

// FromASB reads the four bytes of an automatic status. The open cover has another bit here than in
// DLE EOT 2. (Layout: Epson TM-U220 and Samsung STP-103 manuals.)
func FromASB(b [4]byte) Condition {
	return ifSet(b[0]&0x08, Offline) | ifSet(b[0]&0x20, CoverOpen) | ifSet(b[0]&0x40, FeedButton) |
		ifSet(b[1]&0x01, Waiting) | ifSet(b[1]&0x02, FeedButton) | ifSet(b[1]&0x04, MechanicalError) |
		ifSet(b[1]&0x08, CutterError) | ifSet(b[1]&0x20, Unrecoverable) | ifSet(b[1]&0x40, Overheated) |
		ifSet(b[2]&0x03, PaperLow) | ifSet(b[2]&0x0c, PaperOut)
}

// FromPaper reads the answer to GS r 1.
func FromPaper(b byte) Condition {
	return ifSet(b&0x03, PaperLow) | ifSet(b&0x0c, PaperOut)
}

func ifSet(bits byte, c Condition) Condition {
	if bits != 0 {
		return c
	}
	return 0
}
