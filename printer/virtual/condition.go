package virtual

import (
	"fmt"
	"slices"
	"strings"
)

// Condition is what is wrong with the printer for people to see to, as a set.
type Condition uint16

const (
	PaperLow      Condition = 1 << iota // near its end; printing goes on
	PaperOut                            // at its end
	CoverOpen                           //
	CutterJam                           // the blade is stuck
	Unrecoverable                       // an error that only switching it off cures
	Overheated                          // the head is hot and cools down by itself
	Offline                             // by the button on the printer

	// stopping are those that stop the print engine.
	stopping = PaperOut | CoverOpen | CutterJam | Unrecoverable | Overheated | Offline
)

var conditionNames = [...]string{"paper_low", "paper_out", "cover_open", "cutter_jam", "unrecoverable", "overheated", "offline"}

// ConditionNames lists what [ParseCondition] takes.
func ConditionNames() []string { return slices.Clone(conditionNames[:]) }

// ParseCondition reads one name ("paper_out") or several with commas in between.
func ParseCondition(s string) (Condition, error) {
	var c Condition
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		i := slices.Index(conditionNames[:], name)
		if i < 0 {
			return 0, fmt.Errorf("%q is nothing that happens to a printer; use %s", name, strings.Join(conditionNames[:], ", "))
		}
		c |= 1 << i
	}
	return c, nil
}

// String names the conditions, with commas in between; none is "ready".
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

// bits is b if any of these is wrong, else 0.
func (c Condition) bitsIf(any Condition, b byte) byte {
	if c&any == 0 {
		return 0
	}
	return b
}

// realTime is the answer to DLE EOT n (TM-U220, CT-S2000 and PcOS manuals).
func (c Condition) realTime(n byte) byte {
	b := byte(0x12)
	switch n {
	case 1:
		b |= c.bitsIf(stopping, 0x08)
	case 2:
		b |= c.bitsIf(CoverOpen, 0x04) | c.bitsIf(PaperOut, 0x20) | c.bitsIf(CutterJam|Unrecoverable|Overheated, 0x40)
	case 3:
		b |= c.bitsIf(CutterJam, 0x08) | c.bitsIf(Unrecoverable, 0x20) | c.bitsIf(Overheated, 0x40)
	case 4:
		b |= c.bitsIf(PaperLow, 0x0C) | c.bitsIf(PaperOut, 0x60)
	}
	return b
}

// paper is the answer to GS r 1.
func (c Condition) paper() byte { return c.bitsIf(PaperLow, 0x03) | c.bitsIf(PaperOut, 0x0C) }

// pushed are the four bytes of the automatic status. Cover open is bit 5 of the first
// byte, not bit 2 as in the answer to DLE EOT 2.
func (c Condition) asb() [4]byte {
	return [4]byte{
		0x10 | c.bitsIf(stopping, 0x08) | c.bitsIf(CoverOpen, 0x20),
		c.bitsIf(CutterJam, 0x08) | c.bitsIf(Unrecoverable, 0x20) | c.bitsIf(Overheated, 0x40),
		c.paper(),
		0x0F,
	}
}

// concerns says whether a change from a to b is one that GS a n asks for: of online and offline,
// of errors, of paper.
func asbWants(n byte, a, b [4]byte) bool {
	return n&2 != 0 && a[0] != b[0] || n&4 != 0 && a[1] != b[1] || n&8 != 0 && a[2] != b[2]
}

// Conditions is what is wrong now.
func (p *Printer) Conditions() Condition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cond
}

// Set makes conditions true or false. While one that stops the engine is true, what was
// sent stays in the receive buffer; once the last one clears, printing goes on. Who asked
// for automatic status is told when Set returns, or will be as soon as he reads.
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

// PaperFor puts in a roll that is out after so many more lines.
func (p *Printer) PaperFor(lines int) {
	p.mu.Lock()
	p.linesLeft = max(lines, 0)
	if p.linesLeft == 0 {
		p.change(p.cond | PaperOut)
	}
	p.mu.Unlock()
	p.step()
}

// Refill puts in a roll that never ends.
func (p *Printer) Refill() {
	p.mu.Lock()
	p.linesLeft = never
	p.mu.Unlock()
	p.Set(PaperLow|PaperOut, false)
}

// JamAtCut jams the blade at the next cut, which is made when the jam is cleared.
func (p *Printer) JamAtCut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jamAtCut = true
}

// change takes note of new conditions and tells who wants to know; p.mu is held.
func (p *Printer) change(now Condition) {
	was := p.cond
	if was == now {
		return
	}
	p.cond = now
	p.notify()
	a, b := was.asb(), now.asb()
	for _, c := range p.connected {
		if asbWants(c.asb, a, b) {
			p.answer(c, b[:])
		}
	}
	if now&^was&PaperOut != 0 {
		for _, f := range p.fences {
			p.answer(f.c, noPaper(f.id))
		}
	}
}

// automatic is GS a n: on from now on for what n asks for, with the status at once; n = 0
// switches it off.
func (p *Printer) setASB(c *client, n byte) {
	if p.o.Can&ASB == 0 || c == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.asb = n
	if n != 0 {
		b := p.cond.asb()
		p.answer(c, b[:])
	}
}

// asbOff is what ESC @ does to the automatic status.
func (p *Printer) asbOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.connected {
		c.asb = 0
	}
}
