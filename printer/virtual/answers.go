package virtual

import (
	"bytes"
	"slices"
	"time"
)

// Ability is what a printer can tell, as a set. None is a printer that never says a word.
type Capability uint8

const (
	RealTime    Capability = 1 << iota // DLE EOT n, answered at reception
	ASB                                // GS a n: status pushed at every change
	StatusQuery                        // GS r n, answered in its turn
	ProcessID                          // GS ( H: says which data have been printed
	Identify                           // GS I n: who it is

	Everything = RealTime | ASB | StatusQuery | ProcessID | Identify
)

// identity is what GS I n answers, by n.
type identity map[byte]string

// An Epson TM-T88V without Chinese.
var tmT88V = identity{
	1: "\x20", 2: "\x02", 3: "\x01",
	65: "_30.40 ESC/POS\x00", 66: "_EPSON\x00", 67: "_TM-T88V\x00", 68: "_J5BF001234\x00", 69: "_\x00",
}

// Clone is what is wrong with the answers. The zero value answers as the manual says.
type Clone struct {
	// Answer is what it says in place of the right answer; nil is the right one. [WrongID]
	// and [Babble] are two of the kind.
	Answer func(right []byte) []byte
	// Late is by how much each answer is late.
	Late time.Duration
	// Hasty answers GS r and GS ( H at reception, when nothing has been printed yet.
	Hasty bool
	// NoPaper answers GS ( H with 37 33 when the paper is out, as boards of Chinese
	// printers do, and with 37 22 too once it has printed.
	NoPaper bool
}

// WrongID answers GS ( H with an id that nobody sent.
func WrongID(right []byte) []byte {
	if len(right) == 7 && right[0] == 0x37 {
		right = slices.Clone(right)
		copy(right[2:6], "~~~~")
	}
	return right
}

// Babble answers everything with bytes that are no answer at all.
func Garbage([]byte) []byte { return []byte("\xff\xfe\xc3\xa9OK\r\n\x7f") }

// answer sends the right answer to c, or what this printer says in its place.
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

// A query is an instruction that is answered in its turn. It tells whether b is one.
func (p *Printer) query(c *client, b []byte) {
	switch {
	case b[0] == gs && b[1] == 'r':
		if p.o.Can&StatusQuery != 0 && !p.o.Clone.Hasty {
			p.answerStatus(c, b[2])
		}
	case b[0] == gs && b[1] == 'I':
		p.answerIdentity(c, b[2])
	case b[0] == gs && b[1] == '(' && b[2] == 'H' && len(b) == 11 && b[5] == 48:
		if p.o.Can&ProcessID != 0 && !p.o.Clone.Hasty {
			p.settleFence(c, b[7:11])
			p.answer(c, processed(b[7:11]))
		}
	case b[0] == gs && b[1] == 'a':
		p.setASB(c, b[2])
	}
}

// processed is the answer to GS ( H function 48.
func processed(id []byte) []byte {
	return slices.Concat([]byte{0x37, 0x22}, id, []byte{0})
}

func (p *Printer) answerStatus(c *client, n byte) {
	switch n {
	case 1, 49:
		p.answer(c, []byte{p.Conditions().paper()})
	case 2, 50, 4, 52: // the drawer's connector; ink
		p.answer(c, []byte{0})
	}
}

func (p *Printer) answerIdentity(c *client, n byte) {
	if n >= '1' && n <= '3' {
		n -= '0'
	}
	if p.o.Can&Identify != 0 {
		p.answer(c, []byte(p.o.identity[n])) // none: silence
	}
}

// A fence is a GS ( H that was received and not yet carried out.
type fence struct {
	c  *client
	id [4]byte
}

// settleFence forgets a fence that is carried out.
func (p *Printer) settleFence(c *client, id []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.fences, func(f fence) bool { return f.c == c && bytes.Equal(f.id[:], id) }); i >= 0 {
		p.fences = slices.Delete(p.fences, i, i+1)
	}
}

// atReception carries out what does not wait for its turn. It looks at the bytes as they
// come in, images included, as printers do: bits that look like DLE EOT are obeyed.
func (p *Printer) atReceipt(c *client, b []byte) {
	for _, v := range b {
		copy(c.last[:], c.last[1:])
		c.last[len(c.last)-1] = v
		l := c.last[:]
		switch {
		case p.o.Can&RealTime != 0 && l[8] == dle && l[9] == 0x04 && l[10] >= 1 && l[10] <= 4:
			p.answer(c, []byte{p.Conditions().realTime(l[10])})
		case p.o.Clone.Hasty && p.o.Can&StatusQuery != 0 && l[8] == gs && l[9] == 'r':
			p.answerStatus(c, l[10])
		case p.o.Can&ProcessID != 0 && bytes.HasPrefix(l, []byte("\x1d(H\x06\x0000")):
			p.fenceArrives(c, [4]byte(l[7:]))
		}
	}
}

func (p *Printer) fenceArrives(c *client, id [4]byte) {
	if p.o.Clone.Hasty {
		p.answer(c, processed(id[:]))
		return
	}
	if !p.o.Clone.NoPaper {
		return
	}
	p.mu.Lock()
	out := p.cond&PaperOut != 0
	p.fences = append(p.fences, fence{c, id})
	p.mu.Unlock()
	if out {
		p.answer(c, noPaper(id))
	}
}

func noPaper(id [4]byte) []byte {
	return []byte{0x37, 0x33, id[0], id[1], id[2], id[3], 0}
}
