// Package printertest is a kitchen printer for tests that judge what ticketrail says about a ticket: it
// keeps what came out on paper, and a test compares. It is written from the printers' manuals alone and
// shares no code and no assumption with the rest of printer, so that an error in how ticketrail
// understands printers is not repeated here.
//
// A Printer runs over real TCP connections and, through ServeConn, inside a testing/synctest bubble. All
// methods may be called at any time from any goroutine.
package printertest

import (
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// A Model is what a printer can do. The zero Model prints text and answers nothing.
type Model struct {
	IDFence     bool            // GS ( H function 48 is answered with 37 22 id 00 when all before it is printed
	StatusFence bool            // GS r is answered when the printer's interpreter reaches it
	RealTime    []byte          // the n of DLE EOT n that are answered
	ASB         bool            // GS a is known
	Raster      bool            // GS v 0 and GS ( L are known
	Chinese     bool            // a GB18030 ROM: two-byte characters until FS .
	Names       map[byte]string // answers to GS I n; for n from 65 on they are sent as 5F name 00

	Columns int // of font A; 0: 48
	Dots    int // printable width; 0: 12 for each column

	LinesPerSecond float64 // of 30 dots each; 0: at once
	Ahead          int     // lines that the interpreter may be ahead of the paper
	NewestID       bool    // of several pending ids, only the newest is answered
	Buffer         int     // receive buffer in bytes; 0: 4096. While it is full nothing is read
	BytesPerSecond int     // read from the wire, as over a serial line; 0: at once

	Others Others // what happens to a client while another one is connected
}

// Others says what a printer does with a second client. Printers serve one at a time.
type Others int

const (
	Queue  Others = iota // it is accepted; nothing is read from it until those before it are gone
	Refuse               // it is reset at once
	Evict                // it takes the port; the one before is reset
)

// Dots per line, as the manuals have it for 180 dpi: 1/6 inch line spacing, 24 dots characters.
const (
	lineDots = 30
	charDots = 24
)

// A Printer is one printer. Make it with New and end it with Close.
type Printer struct {
	model Model
	work  sync.WaitGroup

	// mu guards everything below. changed is signalled whenever a goroutine may have to go on.
	mu      sync.Mutex
	changed *sync.Cond
	closed  bool
	ports   []net.Listener
	clients []*client // the first one has the printer
	taken   Taken

	buffer []byte // received, not yet interpreted
	tail   []byte // the last bytes taken
	rt     []byte // a real-time command as far as it was received
	in     interpreter
	queue  []step // interpreted, not yet on paper
	power  int    // counts power cycles, so that a line in work is lost
	paper  []Line
	moved  bool // something was printed since the client came

	conditions Condition
	faults     faults
	firing     int  // triggers that are running
	sleeping   bool // a line takes its time
}

// A step is a piece of work of the mechanism: a line, a cut, or an answer that has to wait for the paper.
type step struct {
	dots  int // how far the paper moves
	do    func()
	fence bool
}

// Taken counts what the printer took from the network.
type Taken struct {
	Bytes    int // read, lost ones included
	Accepted int // connections
	Clients  int // connected now
}

// New returns a printer that is switched on and has paper.
func New(m Model) *Printer {
	if m.Columns == 0 {
		m.Columns = 48
	}
	if m.Dots == 0 {
		m.Dots = 12 * m.Columns
	}
	if m.Buffer == 0 {
		m.Buffer = 4096
	}
	p := &Printer{model: m}
	p.changed = sync.NewCond(&p.mu)
	p.in = p.reset()
	p.work.Go(p.run)
	return p
}

// Close ends the printer, its listeners and its connections, and waits for its goroutines.
func (p *Printer) Close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.ports {
		l.Close()
	}
	p.disconnect()
	p.mu.Unlock()
	p.work.Wait()
}

// Taken returns the counters.
func (p *Printer) Taken() Taken {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.taken
	t.Clients = len(p.clients)
	return t
}

// Wait waits until no client is connected and all that was received is interpreted and on paper. The
// caller ends what stops the printer before.
func (p *Printer) Wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && (p.firing > 0 || len(p.clients)+len(p.buffer)+len(p.queue) > 0) {
		p.changed.Wait()
	}
}

// run interprets and prints until Close. The paper goes first as soon as the interpreter is as far
// ahead as the model allows, so that an answer of the interpreter is never later than on a real one.
func (p *Printer) run() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed {
		switch {
		case p.firing > 0 || p.stopped():
			p.changed.Wait()
		case len(p.queue) > p.model.Ahead, len(p.queue) > 0 && len(p.buffer) == 0:
			p.print()
		case len(p.buffer) > 0:
			b := p.buffer[0]
			p.buffer = p.buffer[1:]
			p.interpret(b)
			p.changed.Broadcast()
		default:
			p.changed.Wait()
		}
	}
}

// stopped reports whether the printer executes nothing. The caller holds mu.
func (p *Printer) stopped() bool { return p.closed || p.faults.hung || p.conditions&blocking != 0 }

// atRest reports whether the printer has done all that needs no time. The caller holds mu.
func (p *Printer) atRest() bool {
	return p.firing > 0 || p.sleeping || p.stopped() || len(p.queue)+len(p.buffer) == 0
}

// print does the first step of the queue. If the printer stops meanwhile, the step is done again later:
// the manuals say that printing is resumed from the line in which it stopped.
func (p *Printer) print() {
	s, power := p.queue[0], p.power
	if p.model.LinesPerSecond > 0 && s.dots > 0 {
		p.sleeping = true
		p.changed.Broadcast()
		p.mu.Unlock()
		time.Sleep(time.Duration(float64(s.dots) / lineDots / p.model.LinesPerSecond * float64(time.Second)))
		p.mu.Lock()
		p.sleeping = false
	}
	if p.power != power || p.stopped() {
		return
	}
	p.queue = p.queue[1:]
	s.do()
	if s.dots > 0 {
		p.moved = true
		p.firing++ // what fires here is the printer itself, which needs not come to rest
		p.fire(&p.faults.lines)
		p.firing--
	}
	p.changed.Broadcast()
}

// answerID answers GS ( H function 48.
func (p *Printer) answerID(id []byte) {
	if p.model.NewestID {
		p.queue = slices.DeleteFunc(p.queue, func(s step) bool { return s.fence })
	}
	p.queue = append(p.queue, step{fence: true, do: func() {
		if p.faults.wrongIDs {
			id = []byte{id[1], id[2], id[3], id[0] ^ 1}
		}
		p.answerFence(append(append([]byte{0x37, 0x22}, id...), 0))
	}})
}

// answerFence sends the answer to a question that stands in order, unless a fault prevents it.
func (p *Printer) answerFence(b []byte) {
	switch {
	case p.faults.noFence:
	case p.faults.cutOff != 0 && p.moved && len(p.clients) > 0:
		p.faults.cutOff--
		p.end(p.clients[0], true)
	default:
		p.moved = false
		p.answer(b)
	}
}

// answer sends b to the client that has the printer now, who need not be the one who asked: a printer
// knows one line to the outside. Without a client the answer is lost.
func (p *Printer) answer(b []byte) {
	if len(p.clients) == 0 || p.faults.stalled {
		return
	}
	if r := p.faults.garbage; r != nil {
		b = make([]byte, 1+r.IntN(8))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
	k := p.clients[0]
	k.out = append(k.out, b...)
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
