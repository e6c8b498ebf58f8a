package virtual

import (
	"cmp"
	"slices"
	"time"
)

// There are three ways to answer: on receipt (DLE EOT), in order (GS r, GS ( H and GS I: when the
// engine reaches them, so not while it is stopped), and unasked (GS a). The daemon's confirmation depends on this
// difference, so the simulation must not blur it.

// Capability is the set of questions that a printer answers.
type Capability uint8

const (
	RealTime    Capability = 1 << iota // DLE EOT n, on receipt
	ASB                                // GS a n: the status is pushed at each change
	StatusQuery                        // GS r n, in order
	ProcessID                          // GS ( H, in order: the id is returned when the data before it is printed
	Identify                           // GS I n: model and maker

	Everything = RealTime | ASB | StatusQuery | ProcessID | Identify
)

// identity holds the answers to GS I n, by n: 66 is the maker, 67 the model.
type identity map[byte]string

// tmT88V is an Epson TM-T88V without Chinese characters.
var tmT88V = identity{66: "_EPSON\x00", 67: "_TM-T88V\x00"}

// Clone has the faults of the answers. The zero value answers as in Epson's manual. The daemon
// must not take such an answer for a proof.
type Clone struct {
	// Answer replaces the right answer; nil keeps it. See [WrongID] and [Garbage].
	Answer func(right []byte) []byte
	// Late delays each answer.
	Late time.Duration
	// Early: its interface answers GS r and GS ( H on receipt, and its engine answers nothing in order.
	Early bool
}

// WrongID answers GS ( H with an id that was not sent. Another program that prints at the same time
// looks like this.
func WrongID(right []byte) []byte {
	if len(right) == 7 && right[0] == 0x37 {
		right = slices.Clone(right)
		copy(right[2:6], "~~~~")
	}
	return right
}

// Garbage answers everything with bytes that are no valid answer. A wrong baud rate looks like
// this.
func Garbage([]byte) []byte { return []byte("\xff\xfe\xc3\xa9OK\r\n\x7f") }

// answer sends c the right answer, or the one that Clone makes of it.
func (p *Printer) answer(c *client, right []byte) {
	if p.o.Clone.Answer != nil {
		right = p.o.Clone.Answer(right)
	}

	switch {
	case c == nil || len(right) == 0:
	case p.o.Clone.Late > 0:
		time.AfterFunc(p.o.Clone.Late, func() { c.send(right) })
	default:
		c.send(right)
	}
}

// query answers b if it is a command that is answered in order, or at receipt with [Clone].Early.
func (p *Printer) query(c *client, b []byte) {
	if p.o.Remembers {
		p.mu.Lock()
		c = cmp.Or(p.served, c)
		p.mu.Unlock()
	}

	switch {
	case b[0] == gs && b[1] == 'r':
		if p.o.Can&StatusQuery != 0 && b[2]&^'0' == 1 {
			p.answer(c, []byte{p.Conditions().paper()})
		}
	case b[0] == gs && b[1] == 'I':
		if p.o.Can&Identify != 0 {
			p.answer(c, []byte(p.o.identity[b[2]])) // an unknown n is not answered
		}
	case b[0] == gs && b[1] == '(' && b[2] == 'H' && len(b) == 11 && b[5] == 48:
		if p.o.Can&ProcessID != 0 {
			p.answer(c, slices.Concat([]byte{0x37, 0x22}, b[7:11], []byte{0}))
		}
	case b[0] == gs && b[1] == 'a':
		p.setASB(c, b[2])
	}
}

// atReceipt executes commands that are not queued. Like real printers, it looks at all received bytes, images included:
// image data that equals DLE EOT is executed too.
func (p *Printer) atReceipt(c *client, b []byte) {
	last := c.last[:]
	for _, v := range b {
		last = append(append(last[:0], last[1:]...), v)
		switch short := last[len(last)-3:]; {
		case p.o.Can&RealTime != 0 && short[0] == dle && short[1] == 0x04 && v >= 1 && v <= 4:
			p.answer(c, []byte{p.Conditions().realTime(v)})
		case p.o.Clone.Early && string(short) == "\x1dr\x01":
			p.query(c, short)
		case p.o.Clone.Early && string(last[:7]) == "\x1d(H\x06\x0000":
			p.query(c, last)
		}
	}
}
