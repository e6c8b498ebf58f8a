package printertest

import (
	"math/rand/v2"
	"strings"
	"time"
)

// A Condition is a state of the printer that its status tells, or several of them.
type Condition int

const (
	PaperOut  Condition = 1 << iota
	NearEnd             // paper will be out soon; it prints
	CoverOpen           // it does not print
	CutterJam           // an error that DLE ENQ recovers from
	HeadHot             // an error that goes away by itself
	Broken              // an error that only a repair removes
	Offline             // for another reason, as a switch on the panel
)

// blocking are the conditions in which a printer is offline: it prints nothing and executes nothing
// but real-time commands. What it has received stays in its buffer.
const blocking = PaperOut | CoverOpen | CutterJam | HeadHot | Broken | Offline

// A Drop is how DropEarly ends a connection.
type Drop int

const (
	Stay    Drop = iota // it does not
	Reset               // nothing is read; the connection is reset
	Finish              // nothing is read; the connection is closed (the kernel resets it if bytes arrived)
	Swallow             // what arrives is read and thrown away, then the connection is closed
)

type faults struct {
	hung, stalled, wrongIDs, noFence bool

	loseAfter, lose int
	idle            time.Duration
	cutOff          int
	early           Drop
	earlyAfter      time.Duration
	garbage         *rand.Rand

	bytes, lines []trigger
}

// A trigger calls do when n more bytes or lines have come, counted from text if that is not empty.
type trigger struct {
	text string
	n    int
	do   func()
}

// fire counts one for each trigger and calls those that are due, without mu, so that they can use any
// method. So that tests see the same each time, the printer first does what it can do at once, and
// nothing else goes on meanwhile. The caller holds mu.
func (p *Printer) fire(list *[]trigger) {
	var due []func()
	keep := (*list)[:0]
	for _, t := range *list {
		if t.text == "" {
			t.n--
		} else if strings.HasSuffix(string(p.tail), t.text) {
			t.text = ""
		}
		if t.text != "" || t.n > 0 {
			keep = append(keep, t)
		} else {
			due = append(due, t.do)
		}
	}
	*list = keep
	for _, do := range due {
		for !p.atRest() {
			p.changed.Wait()
		}
		p.firing++
		p.mu.Unlock()
		do()
		p.mu.Lock()
		p.firing--
		p.changed.Broadcast()
	}
}

func (p *Printer) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.changed.Broadcast()
}

// AfterBytes calls do when n more bytes were taken, before the next one is.
func (p *Printer) AfterBytes(n int, do func()) { p.AfterText("", n, do) }

// AfterText calls do when n more bytes were taken behind text, of at most 32 bytes, before the next one is.
func (p *Printer) AfterText(text string, n int, do func()) {
	p.locked(func() { p.faults.bytes = append(p.faults.bytes, trigger{text, n, do}) })
}

// AfterLines calls do when n more lines, feeds or cuts are on paper, before the next one is.
func (p *Printer) AfterLines(n int, do func()) {
	p.locked(func() { p.faults.lines = append(p.faults.lines, trigger{"", n, do}) })
}

// Set makes a condition true or false. If ASB is on, the client is told.
func (p *Printer) Set(c Condition, on bool) { p.locked(func() { p.change(c, on) }) }

func (p *Printer) change(c Condition, on bool) {
	old := p.conditions
	if p.conditions |= c; !on {
		p.conditions &^= c
	}
	if p.conditions.asb(p.in.asb) != old.asb(p.in.asb) {
		p.sendASB()
	}
}

// Hang makes the printer accept connections, read nothing, print nothing and answer nothing, until
// PowerCycle.
func (p *Printer) Hang() {
	p.locked(func() {
		p.faults.hung = true
		p.interrupt()
	})
}

// PowerCycle switches the printer off and on. What is in its buffers is lost, its interpreter begins
// anew, connections are reset, and a hang is over. Paper and all other faults stay as they are.
func (p *Printer) PowerCycle() {
	p.locked(func() {
		p.power++
		p.buffer, p.rt, p.queue = nil, nil, nil
		p.in = p.reset()
		p.faults.hung, p.faults.stalled = false, false
		p.disconnect()
	})
}

// Lose makes count bytes disappear between the network and the printer, after the next n bytes.
func (p *Printer) Lose(n, count int) {
	p.locked(func() { p.faults.loseAfter, p.faults.lose = n, count })
}

// CloseAfterIdle closes each connection d after the last byte from it, as print servers do, whether or
// not answers are due. 0 ends it.
func (p *Printer) CloseAfterIdle(d time.Duration) { p.locked(func() { p.faults.idle = d }) }

// CutOffAnswers resets the connection instead of answering, for the next n answers to GS ( H or GS r
// behind something that was printed; -1: for all.
func (p *Printer) CutOffAnswers(n int) { p.locked(func() { p.faults.cutOff = n }) }

// DropEarly ends each new connection d after it was accepted. Stay ends the fault.
func (p *Printer) DropEarly(d time.Duration, how Drop) {
	p.locked(func() { p.faults.earlyAfter, p.faults.early = d, how })
}

// WrongIDs makes GS ( H answer with an id that was not asked.
func (p *Printer) WrongIDs(on bool) { p.locked(func() { p.faults.wrongIDs = on }) }

// NoFence stops answers to GS ( H and GS r; DLE EOT is answered as before.
func (p *Printer) NoFence(on bool) { p.locked(func() { p.faults.noFence = on }) }

// Garbage answers every question with 1 to 8 random bytes from this seed. 0 ends it.
func (p *Printer) Garbage(seed uint64) {
	p.locked(func() {
		if p.faults.garbage = nil; seed != 0 {
			p.faults.garbage = seeded(seed)
		}
	})
}

// Steal lets another program have the port: its bytes are received at once, between two bytes of the
// present client, and answers meanwhile are not for that one. It is not read for the time of stall; with
// a stall of 0 it is reset.
func (p *Printer) Steal(other []byte, stall time.Duration) {
	p.locked(func() {
		p.faults.stalled = true
		p.interrupt()
		for _, b := range other {
			p.receive(b)
		}
		if stall == 0 {
			p.faults.stalled = false
			p.disconnect()
			return
		}
		time.AfterFunc(stall, func() { p.locked(func() { p.faults.stalled = false }) })
	})
}

// has returns bit if one of want is true.
func (c Condition) has(want Condition, bit byte) byte {
	if c&want != 0 {
		return bit
	}
	return 0
}

// realTime is the answer to DLE EOT n: bits 1 and 4 are always set, as the manuals of TM-U220, Citizen
// CT-S2000 and PcOS have it.
func (c Condition) realTime(n byte) byte {
	switch n {
	case 1:
		return 0x12 | c.has(blocking, 0x08)
	case 2:
		return 0x12 | c.has(CoverOpen, 0x04) | c.has(PaperOut, 0x20) | c.has(CutterJam|HeadHot|Broken, 0x40)
	case 3:
		return 0x12 | c.has(CutterJam, 0x08) | c.has(Broken, 0x20) | c.has(HeadHot, 0x40)
	case 4:
		return 0x12 | c.has(NearEnd, 0x0C) | c.has(PaperOut, 0x60)
	}
	return 0x12
}

// asb is the four bytes of an automatic status, with the groups that n of GS a n asks for.
func (c Condition) asb(n byte) [4]byte {
	b := [4]byte{0x10, 0, 0, 0x0F}
	if n&2 != 0 {
		b[0] |= c.has(blocking, 0x08) | c.has(CoverOpen, 0x20)
	}
	if n&4 != 0 {
		b[1] = c.has(CutterJam, 0x08) | c.has(Broken, 0x20) | c.has(HeadHot, 0x40)
	}
	if n&8 != 0 {
		b[2] = c.has(NearEnd, 0x03) | c.has(PaperOut, 0x0C)
	}
	return b
}

// sendASB sends the whole status if GS a is on. Which groups are on only decides when it is sent.
func (p *Printer) sendASB() {
	if p.in.asb != 0 {
		b := p.conditions.asb(0xFF)
		p.answer(b[:])
	}
}
