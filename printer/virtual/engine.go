package virtual

import (
	"context"
	"math"
	"time"
)

// The print engine is not a goroutine. Whatever gives it work (received bytes, a condition that clears, the
// time of a line that has passed) calls step, which works until it has to wait. So no goroutine is left at the
// end of a test.

// A segment is a part of the receive buffer.
type segment struct {
	c    *client
	data []byte
	end  *End // the end of the connection, after data
}

// engine is the state of the print engine, guarded by the printer's mu, except for the decoder, which belongs
// to the goroutine in step.
type engine struct {
	decoder    *decoder
	stepping   bool
	waiting    bool // until the current line is printed
	generation int  // increased to invalidate timers that were set before

	queue     []segment
	queued    int  // bytes in queue
	lost      bool // the buffer was lost; this ends the ticket on the paper
	linesLeft int  // lines left on the roll
}

// largeBuffer is the receive buffer if Options.ReceiveBuffer is 0.
const largeBuffer = 1 << 20

// fastest is how many dots the paper moves in a second if nothing is set: 1.5 m, three times as fast as any printer
// does, so that tests over real sockets are short, and slow enough for the daemon to believe the answers.
const fastest = 12000

// attached reports whether it prints its buffer before it reads on.
func (p *Printer) attached() bool {
	return p.o.ReceiveBuffer <= 0 && (p.o.LinesPerSecond <= 0 || math.IsInf(p.o.LinesPerSecond, 1))
}

// bufferSpace is how many bytes may be read now; p.mu is held. An attached printer reads none while it prints.
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

// working reports whether the engine has work that it can do; p.mu is held.
func (p *Printer) working() bool {
	return p.stepping || p.waiting || p.lost || len(p.queue) > 0 && !p.stopped()
}

// stopped reports whether the engine may not go on; p.mu is held.
func (p *Printer) stopped() bool { return p.cond&stopping != 0 || p.faults.frozen }

// enqueue puts bytes, or the end of a connection, into the receive buffer.
func (p *Printer) enqueue(s segment) {
	p.mu.Lock()
	if s.c.stale { // sent before it was switched off
		p.mu.Unlock()
		return
	}

	p.queue = append(p.queue, s)
	p.queued += len(s.data)
	p.notify()
	p.mu.Unlock()
	p.step()
}

// step lets the engine work. It returns at once if another goroutine is in it. That goroutine sees
// the new work before it leaves, because both check under p.mu.
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

// advance does one piece of work and reports whether there may be more. p.mu is held, and released
// while the decoder works. A piece ends with each line on the paper, so that paper out, a jam or a
// power cut can happen between any two lines.
func (p *Printer) advance() bool {
	if p.lost {
		p.lost = false
		p.unlocked(p.decoder.powerOff)
		return true
	}

	if p.waiting || p.stopped() || len(p.queue) == 0 {
		return false
	}

	next, shift := &p.queue[0], p.generation
	if len(next.data) == 0 {
		end := next.end
		p.queue = p.queue[1:]
		if end != nil {
			p.unlocked(func() { p.decoder.end(*end) })
		}
		return true
	}

	data, used, lines := next.data, 0, 0
	p.decoder.client = next.c
	p.unlocked(func() {
		for used < len(data) && lines == 0 {
			// Checked before the last byte of the command is taken: the cut must still be in the
			// buffer when the jam is cleared.
			if p.decoder.cuts(data[used]) && p.cutterJams() {
				break
			}
			lines = p.decoder.feed(data[used])
			used++
		}
	})

	// The buffer may have been cleared while the decoder ran; its first segment is then another
	// one.
	if p.generation == shift {
		p.queue[0].data = data[used:]
		p.queued -= used
	}

	p.notify()
	p.paperMoved(lines)
	return true
}

// unlocked calls f without p.mu.
func (p *Printer) unlocked(f func()) {
	p.mu.Unlock()
	defer p.mu.Lock()
	f()
}

// paperMoved handles the printing of lines: the end of the paper and the time they take. p.mu is held.
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

	if faults := &p.faults; faults.onLine != nil {
		if faults.lines -= lines; faults.lines <= 0 {
			do := faults.onLine
			faults.onLine = nil
			p.unlocked(do)
		}
	}

	takes, clears := float64(p.decoder.moved)*float64(time.Second)/fastest, p.decoder.resets > 0
	switch {
	case clears:
		takes = float64(p.decoder.resets)
	case p.faults.perLine > 0:
		takes = float64(lines) * float64(p.faults.perLine)
	case p.o.LinesPerSecond > 0:
		takes = float64(lines) * float64(time.Second) / p.o.LinesPerSecond
	}

	if takes == 0 {
		return
	}

	p.waiting = true
	shift := p.generation
	// It is limited, because a sender that feeds for ever would overflow a Duration.
	time.AfterFunc(time.Duration(min(takes, math.MaxInt64/2)), func() {
		p.mu.Lock()
		if p.generation == shift {
			p.waiting = false
			if clears {
				p.clearBuffer()
			}
		}
		p.mu.Unlock()
		p.step()
	})
}

// clearBuffer empties the receive buffer; the ticket on the paper ends there. p.mu is held.
func (p *Printer) clearBuffer() {
	p.generation++
	p.queue, p.queued, p.waiting = nil, 0, false
	p.lost = true
	p.notify()
}

// cutterJams reports whether the cut has to wait for a jam to be cleared.
func (p *Printer) cutterJams() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.jamAtCut {
		p.jamAtCut = false
		p.change(p.cond | CutterJam)
	}
	return p.cond&CutterJam != 0
}

// drained waits until everything in the receive buffer is printed, or the engine is stopped.
func (p *Printer) drained(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.await(ctx, nil, func() bool { return !p.working() })
}
