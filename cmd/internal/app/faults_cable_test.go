package app

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// A cable leads from the daemon to whatever printer stands at its end. It sees every byte
// go by, so that a fault can strike at an exact place in a ticket.
type cable struct {
	buffered bool // what is written is out of the daemon's hands at once, as with a socket
	oneWay   bool // nothing comes back, as on a parallel port

	order *atomic.Int64 // counts what goes by on any cable

	mu       sync.Mutex // guards what follows
	changed  chan struct{}
	printers []*virtual.Printer // the last one stands there now
	hang     bool               // dialling is never answered
	dead     bool               // nobody is at the printer's end, not even a kernel
	traps    []*trap
	twist    func(answer []byte) []byte // what becomes of what the printer says
	seen     []sight                    // tickets as they first went by
}

// A sight is a ticket that goes by on its way to a printer.
type sight struct {
	number string
	nth    int64 // of all in the kitchen
}

// A trap is sprung when the bytes of a ticket have come to a certain place.
type trap struct {
	at     string
	spring func()
}

func newCable(o virtual.Options, buffered, oneWay bool) *cable {
	c := &cable{buffered: buffered, oneWay: oneWay, changed: make(chan struct{})}
	answer := o.Clone.Answer
	o.Clone.Answer = func(b []byte) []byte {
		if answer != nil {
			b = answer(b)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.twist != nil {
			b = c.twist(b)
		}
		return b
	}
	c.printers = []*virtual.Printer{virtual.New(o)}
	return c
}

// set changes something about the cable, and tells who waits for that.
func (c *cable) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// says puts f between the printer and who hears it; nil is nothing.
func (c *cable) says(f func(answer []byte) []byte) { c.set(func() { c.twist = f }) }

// power pulls the plug or puts it back.
func (c *cable) power(on bool) {
	if on {
		c.now().PowerOn()
	} else {
		c.now().PowerOff()
	}
	c.set(func() { c.dead = !on })
}

func (c *cable) cycle() { c.power(false); c.power(true) }

// cut is the network cable: pulled, nobody is told.
func (c *cable) cut(on bool) {
	c.now().Unplug(on)
	c.set(func() { c.dead = on })
}

func (c *cable) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

func (c *cable) now() *virtual.Printer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.printers[len(c.printers)-1]
}

// swap puts another printer there; clients of the one before see its plug pulled.
func (c *cable) swap(p *virtual.Printer) {
	c.now().PowerCycle()
	c.set(func() { c.printers = append(c.printers, p) })
}

func (c *cable) setHang(on bool) { c.set(func() { c.hang = on }) }

func (c *cable) arm(at string, spring func()) {
	c.set(func() { c.traps = append(c.traps, &trap{at, spring}) })
}

func (c *cable) disarm() { c.set(func() { c.traps = nil }) }

func (c *cable) Dial(ctx context.Context) (transport.Conn, error) {
	for {
		c.mu.Lock()
		hang, changed := c.hang, c.changed
		c.mu.Unlock()
		if !hang {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	conn, err := c.now().Dial(ctx)
	if err != nil {
		return nil, err
	}
	t := &tapped{Conn: conn, cable: c}
	switch {
	case c.oneWay:
		return oneWay{t}, nil
	case c.buffered:
		return newSocket(t, c), nil
	}
	return t, nil
}

// tapped is a connection whose bytes the cable sees.
type tapped struct {
	transport.Conn
	cable *cable
	tail  []byte
	slow  bool // a trap was sprung: the next byte goes alone
}

var numberOnWire = regexp.MustCompile(`#([A-Z]+[0-9]+)`)

// next says how many bytes of b go out before something happens, and what that is.
func (t *tapped) next(b []byte) (n int, next *trap) {
	c := t.cable
	c.mu.Lock()
	defer c.mu.Unlock()
	n = len(b)
	if t.slow {
		t.slow, n = false, 1
	}
	all := append(bytes.Clone(t.tail), b...)
	for _, trap := range c.traps {
		from := max(len(t.tail)-len(trap.at)+1, 0) // what has gone by springs nothing
		if k := bytes.Index(all[from:], []byte(trap.at)); k >= 0 && from+k+len(trap.at)-len(t.tail) <= n {
			n, next = from+k+len(trap.at)-len(t.tail), trap
		}
	}
	return n, next
}

// spring springs a trap, unless it was disarmed meanwhile.
func (t *tapped) spring(which *trap) {
	time.Sleep(time.Millisecond) // the bubble's clock: until the printer has seen to what it took
	c := t.cable
	armed := false
	c.set(func() {
		if i := slices.Index(c.traps, which); i >= 0 {
			armed, c.traps = true, slices.Delete(c.traps, i, i+1)
		}
	})
	if armed {
		t.tail, t.slow = nil, true
		which.spring()
	}
}

const tailLength = 40

// sees notes the tickets that go by.
func (c *cable) sees(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range numberOnWire.FindAllSubmatch(b, -1) {
		n := string(m[1])
		if !slices.ContainsFunc(c.seen, func(s sight) bool { return s.number == n }) {
			c.seen = append(c.seen, sight{n, c.order.Add(1)})
		}
	}
}

func (t *tapped) Write(b []byte) (int, error) {
	if !t.cable.buffered {
		t.cable.sees(b)
	}
	sent := 0
	for sent < len(b) {
		n, trap := t.next(b[sent:])
		m, err := t.Conn.Write(b[sent : sent+n])
		t.tail = append(t.tail, b[sent:sent+m]...)
		if len(t.tail) > tailLength {
			t.tail = t.tail[len(t.tail)-tailLength:]
		}
		sent += m
		if err != nil {
			return sent, err
		}
		if trap != nil {
			t.spring(trap)
		}
	}
	return sent, nil
}

// oneWay is a connection on which nothing comes back.
type oneWay struct{ *tapped }

func (oneWay) Read([]byte) (int, error) { return 0, io.EOF }
