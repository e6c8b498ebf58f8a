package virtual

import (
	"fmt"
	"slices"
	"strings"
)

// Condition is a set of conditions that people have to see to.
type Condition uint16

const (
	PaperLow      Condition = 1 << iota // printing continues
	PaperOut                            //
	CoverOpen                           //
	CutterJam                           //
	Unrecoverable                       // an error that only switching it off and on clears
	Overheated                          // the print head; it recovers by itself
	Offline                             // by its button

	// stopping are the conditions that stop the print engine. Paper low is not one of them: a
	// printer prints on until the roll is empty.
	stopping = PaperOut | CoverOpen | CutterJam | Unrecoverable | Overheated | Offline
)

var conditionNames = [...]string{
	"paper_low", "paper_out", "cover_open", "cutter_jam", "unrecoverable", "overheated", "offline",
}

// ConditionNames lists the names that [ParseCondition] accepts.
func ConditionNames() []string { return slices.Clone(conditionNames[:]) }

// ParseCondition parses one name ("paper_out") or several, separated by commas.
func ParseCondition(s string) (Condition, error) {
	var c Condition
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		at := slices.Index(conditionNames[:], name)
		if at < 0 {
			return 0, fmt.Errorf("unknown condition %q; use %s", name, strings.Join(conditionNames[:], ", "))
		}
		c |= 1 << at
	}
	return c, nil
}

// String lists the conditions, separated by commas; none is "ready".
func (c Condition) String() string {
	var names []string
	for i, name := range conditionNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}

	if names == nil {
		return "ready"
	}
	return strings.Join(names, ",")
}

// bitsIf is b if one of any is in c, else 0.
func (c Condition) bitsIf(any Condition, b byte) byte {
	if c&any == 0 {
		return 0
	}
	return b
}

// realTime is the answer to DLE EOT n (manuals of Epson TM-U220 and Citizen CT-S2000). Bits 1 and 4
// are always set, bits 0 and 7 never; that is how a receiver tells this byte from others.
func (c Condition) realTime(n byte) byte {
	status := byte(0x12)

	switch n {
	case 1:
		status |= c.bitsIf(stopping, 0x08)
	case 2:
		status |= c.bitsIf(CoverOpen, 0x04) | c.bitsIf(PaperOut, 0x20) |
			c.bitsIf(CutterJam|Unrecoverable|Overheated, 0x40)
	case 3:
		status |= c.bitsIf(CutterJam, 0x08) | c.bitsIf(Unrecoverable, 0x20) | c.bitsIf(Overheated, 0x40)
	case 4:
		status |= c.bitsIf(PaperLow, 0x0C) | c.bitsIf(PaperOut, 0x60)
	}
	return status
}

// paper is the answer to GS r 1: bits 0 and 1 near end, bits 2 and 3 end.
func (c Condition) paper() byte { return c.bitsIf(PaperLow, 0x03) | c.bitsIf(PaperOut, 0x0C) }

// asb are the four bytes of the automatic status (GS a). Cover open is bit 5 of the first byte, not bit 2 as
// in the answer to DLE EOT 2.
func (c Condition) asb() [4]byte {
	return [4]byte{
		0x10 | c.bitsIf(stopping, 0x08) | c.bitsIf(CoverOpen, 0x20),
		c.bitsIf(CutterJam, 0x08) | c.bitsIf(Unrecoverable, 0x20) | c.bitsIf(Overheated, 0x40),
		c.paper(),
		0x0F,
	}
}

// asbWants reports whether GS a n asks for the change from a to b: on-line status, errors or paper.
// A client that did not ask for a kind of change is not told of it, as with a real printer.
func asbWants(n byte, a, b [4]byte) bool {
	return n&2 != 0 && a[0] != b[0] || n&4 != 0 && a[1] != b[1] || n&8 != 0 && a[2] != b[2]
}

// Set sets or clears conditions. While one of them stops the engine, received bytes stay in the receive
// buffer; when the last one is cleared, printing continues. A client with automatic status has the new status
// in its buffer when Set returns.
func (p *Printer) Set(c Condition, on bool) {
	p.mu.Lock()
	if on {
		p.change(p.cond | c)
	} else {
		p.change(p.cond &^ c)
	}
	p.mu.Unlock()
	p.step()
}

// PaperFor inserts a roll that ends after lines more lines. The roll ends in the middle of a
// ticket, which is how it happens in a kitchen.
func (p *Printer) PaperFor(lines int) {
	p.mu.Lock()
	p.linesLeft = max(lines, 0)
	if p.linesLeft == 0 {
		p.change(p.cond | PaperOut)
	}
	p.mu.Unlock()
	p.step()
}

// Refill inserts a roll that never ends.
func (p *Printer) Refill() {
	p.mu.Lock()
	p.linesLeft = never
	p.mu.Unlock()
	p.Set(PaperLow|PaperOut, false)
}

// JamAtCut jams the cutter at the next cut, which is executed when the jam is cleared. The ticket
// before the cut is printed and proved; only the cut is missing.
func (p *Printer) JamAtCut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jamAtCut = true
}

// change sets new conditions and pushes the status to the clients that asked for it; p.mu is held.
func (p *Printer) change(now Condition) {
	was := p.cond
	if was == now {
		return
	}

	p.cond = now
	p.notify()

	before, after := was.asb(), now.asb()
	for _, c := range p.connected {
		if asbWants(c.asb, before, after) {
			p.answer(c, after[:])
		}
	}
}

// setASB is GS a n: it pushes the status now and at each change that n selects; 0 switches it off.
func (p *Printer) setASB(c *client, n byte) {
	if p.o.Can&ASB == 0 || c == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()

	c.asb = n
	if n != 0 {
		status := p.cond.asb()
		p.answer(c, status[:])
	}
}

// asbOff: ESC @ switches the automatic status off. A sender that does not switch it on again in
// each ticket gets no status any more (UB-E02 Technical Reference Guide).
func (p *Printer) asbOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.connected {
		c.asb = 0
	}
}
