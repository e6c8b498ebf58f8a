package virtual

import (
	"context"
	"math"
	"time"
)

// The print engine is not a goroutine: whoever brings it something to do (bytes, a
// condition that clears, the end of a line's time) steps it, and it goes on until it has
// to wait. So nothing is left running in a test when everybody has gone.

// A segment is part of what waits in the receive buffer.
type segment struct {
	c    *client
	data []byte
	end  *End // of the connection, behind data
}

// engine is the state of the print engine, guarded by the printer's mu, but for the
// decoder, which belongs to who is stepping.
type engine struct {
	decoder    *decoder
	stepping   bool
	waiting    bool // for the line being printed
	timer      *time.Timer
	generation int // counts what makes a timer that was set before meaningless

	queue     []segment
	queued    int  // bytes in queue
	lostEnd   *End // the buffer was lost: this ends what is on the paper
	linesLeft int  // lines left on the roll
}

// largeBuffer is the receive buffer of a printer that has none of its own size.
const largeBuffer = 1 << 20

// attached is a printer that prints what it took before it reads on, as long as it prints.
func (p *Printer) attached() bool { return p.o.ReceiveBuffer <= 0 && p.o.LinesPerSecond <= 0 }

// room is how many bytes may be read now; p.mu is held. While the engine of an attached
// printer is busy there is none.
func (p *Printer) bufferSpace() int {
	if p.attached() && p.working() {
		return 0
	}
	size := p.o.ReceiveBuffer
	if size <= 0 {
		size = largeBuffer
	}
	return max(size-p.queued, 0)
}

// pendingWork says that the engine has something to do and will do it; p.mu is held.
func (p *Printer) working() bool {
	return p.stepping || p.waiting || p.lostEnd != nil || len(p.queue) > 0 && p.cond&stopping == 0
}

func (p *Printer) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.working()
}

// enqueue puts bytes, or the end of a connection, into the receive buffer.
func (p *Printer) enqueue(s segment) {
	p.mu.Lock()
	if s.c.stale { // of before it was switched off
		p.mu.Unlock()
		return
	}
	p.queue = append(p.queue, s)
	p.queued += len(s.data)
	p.notify()
	p.mu.Unlock()
	p.step()
}

// step lets the engine go on. It returns at once when somebody else is at it.
func (p *Printer) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stepping {
		return
	}
	p.stepping = true
	for p.advance() {
	}
	p.stepping = false
	p.notify()
}

// advance does one thing and says whether there may be more. p.mu is held, and given up
// while the decoder is at work.
func (p *Printer) advance() bool {
	if e := p.lostEnd; e != nil {
		p.lostEnd = nil
		p.unlocked(func() { p.decoder.powerOff(*e) })
		return true
	}
	if p.waiting || p.cond&stopping != 0 || len(p.queue) == 0 {
		return false
	}
	s, shift := &p.queue[0], p.generation
	if len(s.data) == 0 {
		end := s.end
		p.queue = p.queue[1:]
		if end != nil {
			p.unlocked(func() { p.decoder.end(*end) })
		}
		return true
	}
	data, used, lines := s.data, 0, 0
	p.decoder.client = s.c
	p.unlocked(func() {
		for used < len(data) && lines == 0 {
			if p.decoder.cuts(data[used]) && p.cutterJams() {
				break
			}
			lines = p.decoder.feed(data[used])
			used++
		}
	})
	if p.generation == shift {
		p.queue[0].data = data[used:]
		p.queued -= used
	}
	p.notify()
	p.paperMoved(lines)
	return true
}

// unlocked does what must not hold p.mu.
func (p *Printer) unlocked(f func()) {
	p.mu.Unlock()
	defer p.mu.Lock()
	f()
}

// moved is what follows when lines have been printed; p.mu is held.
func (p *Printer) paperMoved(lines int) {
	if lines == 0 {
		return
	}
	if p.linesLeft != never {
		p.linesLeft = max(p.linesLeft-lines, 0)
		if p.linesLeft == 0 {
			p.change(p.cond | PaperOut)
		}
	}
	perLine := p.faults.perLine
	if perLine <= 0 && p.o.LinesPerSecond > 0 {
		perLine = time.Duration(float64(time.Second) / p.o.LinesPerSecond)
	}
	if perLine <= 0 {
		return
	}
	p.waiting = true
	shift := p.generation
	p.timer = time.AfterFunc(time.Duration(min(float64(lines)*float64(perLine), math.MaxInt64/2)), func() {
		p.mu.Lock()
		if p.generation == shift {
			p.waiting = false
		}
		p.mu.Unlock()
		p.step()
	})
}

// lose empties the receive buffer; what is on the paper ends with e. p.mu is held.
func (p *Printer) clearBuffer(e End) {
	p.generation++
	p.queue, p.queued, p.waiting, p.fences = nil, 0, false, nil
	if p.timer != nil {
		p.timer.Stop()
	}
	p.lostEnd = &e
	p.notify()
}

// jammed says that the cut must wait, because the blade sticks.
func (p *Printer) cutterJams() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jamAtCut {
		p.jamAtCut = false
		p.change(p.cond | CutterJam)
	}
	return p.cond&CutterJam != 0
}

// drained waits until everything in the receive buffer is on paper, or nothing moves.
func (p *Printer) drained(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.await(ctx, nil, func() bool { return !p.working() })
}
