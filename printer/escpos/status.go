package escpos

import "strings"

// A Condition is what a printer says of itself: a set of bits.
type Condition uint16

const (
	Offline         Condition = 1 << iota // prints nothing at the moment; another bit may say why
	CoverOpen                             //
	PaperOut                              //
	PaperLow                              // near the end of the roll; it still prints
	CutterError                           // the knife is stuck
	Unrecoverable                         // only switching it off and on can help
	MechanicalError                       // cured by a person, then it goes on
	Overheated                            // cured by time
	Fault                                 // an error it does not name
	FeedButton                            // somebody feeds paper by the button
	Waiting                               // for somebody to bring it back online
)

// Blocking are the conditions in which nothing comes out.
const Blocking = Offline | CoverOpen | PaperOut | CutterError | Unrecoverable | MechanicalError | Overheated | Fault

// conditionNames are in the order of the bits; dashboards know them.
var conditionNames = [...]string{
	"offline", "cover_open", "paper_out", "paper_low", "cutter_error", "unrecoverable",
	"mechanical_error", "overheated", "fault", "feed_button", "waiting",
}

// Conditions lists every single one, in a fixed order.
func Conditions() []Condition {
	all := make([]Condition, len(conditionNames))
	for i := range all {
		all[i] = 1 << i
	}
	return all
}

// Name is the word for a single condition, for labels and logs. A set of several has none.
func (c Condition) Name() string {
	for i, name := range conditionNames {
		if c == 1<<i {
			return name
		}
	}
	return ""
}

// Has says whether every bit of other is set.
func (c Condition) Has(other Condition) bool { return c&other == other }

// Any says whether some bit of other is set.
func (c Condition) Any(other Condition) bool { return c&other != 0 }

// String lists the names, "ok" when there are none.
func (c Condition) String() string {
	var names []string
	for _, one := range Conditions() {
		if c.Has(one) {
			names = append(names, one.Name())
		}
	}
	if names == nil {
		return "ok"
	}
	return strings.Join(names, ", ")
}

// FromRealTime reads the answer b to DLE EOT n. Where a pair of bits stands for one thing,
// choose will do: makers differ in which one they drive.
// (Layouts: Epson TM-U220, Ithaca PcOS and Citizen CT-S2000 manuals.)
func FromRealTime(n, b byte) (c Condition) {
	switch n {
	case 1:
		c |= conditionIf(b&0x08, Offline) | conditionIf(b&0x20, Waiting) | conditionIf(b&0x40, FeedButton)
	case 2: // flagByte 3: somebody feeds paper by the button; that ends by itself
		c |= conditionIf(b&0x04, CoverOpen) | conditionIf(b&0x08, FeedButton) | conditionIf(b&0x20, PaperOut) | conditionIf(b&0x40, Fault)
	case 3:
		c |= conditionIf(b&0x04, MechanicalError) | conditionIf(b&0x08, CutterError) | conditionIf(b&0x20, Unrecoverable) | conditionIf(b&0x40, Overheated)
	case 4:
		c |= conditionIf(b&0x0c, PaperLow) | conditionIf(b&0x60, PaperOut)
	}
	return c
}

// RealTimeConditions is what an answer to DLE EOT n can say: what it could say and does not is not so.
func RealTimeConditions(n byte) Condition { return FromRealTime(n, 0xff) }

// FromASB reads the four bytes of an automatic status. The open cover is another bit here
// than in DLE EOT 2. (Layout: Epson TM-U220 and Samsung STP-103 manuals.)
func FromASB(b [4]byte) Condition {
	return conditionIf(b[0]&0x08, Offline) | conditionIf(b[0]&0x20, CoverOpen) | conditionIf(b[0]&0x40, FeedButton) |
		conditionIf(b[1]&0x01, Waiting) | conditionIf(b[1]&0x02, FeedButton) | conditionIf(b[1]&0x04, MechanicalError) |
		conditionIf(b[1]&0x08, CutterError) | conditionIf(b[1]&0x20, Unrecoverable) | conditionIf(b[1]&0x40, Overheated) |
		conditionIf(b[2]&0x03, PaperLow) | conditionIf(b[2]&0x0c, PaperOut)
}

// FromPaper reads the answer to GS r 1.
func FromPaper(b byte) Condition {
	return conditionIf(b&0x03, PaperLow) | conditionIf(b&0x0c, PaperOut)
}

func conditionIf(bits byte, c Condition) Condition {
	if bits != 0 {
		return c
	}
	return 0
}
