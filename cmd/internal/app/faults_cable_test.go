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

// A cable connects the daemon with a printer, which may be replaced by another one. It sees every
// byte, so that a fault can be injected at an exact place in a ticket.
type cable struct {
	buffered bool // a write returns before the printer reads, as with a socket
	oneWay   bool // no answers, as on a parallel port

	order *atomic.Int64 // counts the tickets on all cables

	mu       sync.Mutex // guards what follows
	changed  chan struct{}
	printers []*virtual.Printer // the last one is connected now
	hang     bool               // Dial blocks
	dead     bool               // not even the kernel of the printer answers
	triggers []*trigger
	corrupt  func(answer []byte) []byte // changes the printer's answers
	passed   []passedTicket             // tickets in the order of their first byte
}

// A passedTicket is a ticket that passed a cable on its way to a printer.
type passedTicket struct {
	number string
	nth    int64 // among all cables
}

// A trigger fires when the bytes of a ticket have reached a certain place.
type trigger struct {
	at   string
	fire func()
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
		if c.corrupt != nil {
			b = c.corrupt(b)
		}
		return b
	}
	c.printers = []*virtual.Printer{virtual.New(o)}
	return c
}

// set changes the cable and wakes the goroutines that wait for a change.
func (c *cable) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// corruptAnswers changes the printer's answers by f; nil: not.
func (c *cable) corruptAnswers(f func(answer []byte) []byte) { c.set(func() { c.corrupt = f }) }

// power switches the printer on or off.
func (c *cable) power(on bool) {
	if on {
		c.printer().PowerOn()
	} else {
		c.printer().PowerOff()
	}
	c.set(func() { c.dead = !on })
}

func (c *cable) cycle() { c.power(false); c.power(true) }

// cut unplugs the network cable: neither side notices.
func (c *cable) cut(on bool) {
	c.printer().Unplug(on)
	c.set(func() { c.dead = on })
}

func (c *cable) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

func (c *cable) printer() *virtual.Printer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.printers[len(c.printers)-1]
}

// swap replaces the printer; the clients of the old one see it lose power.
func (c *cable) swap(p *virtual.Printer) {
	c.printer().PowerCycle()
	c.set(func() { c.printers = append(c.printers, p) })
}

func (c *cable) setHang(on bool) { c.set(func() { c.hang = on }) }

func (c *cable) triggerAt(at string, fire func()) {
	c.set(func() { c.triggers = append(c.triggers, &trigger{at, fire}) })
}

func (c *cable) clearTriggers() { c.set(func() { c.triggers = nil }) }

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
	conn, err := c.printer().Dial(ctx)
	if err != nil {
		return nil, err
	}
	t := &watchedConn{Conn: conn, cable: c}
	switch {
	case c.oneWay:
		return oneWay{t}, nil
	case c.buffered:
		return newBufferedConn(t, c), nil
	}
	return t, nil
}

// watchedConn is a connection whose bytes the cable sees.
type watchedConn struct {
	transport.Conn
	cable *cable
	tail  []byte
	slow  bool // a trigger has fired: the next byte is written alone
}

var sentNumber = regexp.MustCompile(`#([A-Z]+[0-9]+)`)

// next is how many bytes of b are written before a trigger fires, and which.
func (t *watchedConn) next(b []byte) (n int, next *trigger) {
	c := t.cable
	c.mu.Lock()
	defer c.mu.Unlock()
	n = len(b)
	if t.slow {
		t.slow, n = false, 1
	}
	all := append(bytes.Clone(t.tail), b...)
	for _, trigger := range c.triggers {
		from := max(len(t.tail)-len(trigger.at)+1, 0) // bytes that were written already fire nothing
		if k := bytes.Index(all[from:], []byte(trigger.at)); k >= 0 && from+k+len(trigger.at)-len(t.tail) <= n {
			n, next = from+k+len(trigger.at)-len(t.tail), trigger
		}
	}
	return n, next
}

// fire runs a trigger, unless it was removed meanwhile.
func (t *watchedConn) fire(which *trigger) {
	time.Sleep(time.Millisecond) // until the printer has processed what it has read
	c := t.cable
	armed := false
	c.set(func() {
		if i := slices.Index(c.triggers, which); i >= 0 {
			armed, c.triggers = true, slices.Delete(c.triggers, i, i+1)
		}
	})
	if armed {
		t.tail, t.slow = nil, true
		which.fire()
	}
}

const triggerWindow = 40

// record notes the tickets that pass.
func (c *cable) record(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range sentNumber.FindAllSubmatch(b, -1) {
		n := string(m[1])
		if !slices.ContainsFunc(c.passed, func(s passedTicket) bool { return s.number == n }) {
			c.passed = append(c.passed, passedTicket{n, c.order.Add(1)})
		}
	}
}

func (t *watchedConn) Write(b []byte) (int, error) {
	if !t.cable.buffered {
		t.cable.record(b)
	}
	sent := 0
	for sent < len(b) {
		n, trigger := t.next(b[sent:])
		m, err := t.Conn.Write(b[sent : sent+n])
		t.tail = append(t.tail, b[sent:sent+m]...)
		if len(t.tail) > triggerWindow {
			t.tail = t.tail[len(t.tail)-triggerWindow:]
		}
		sent += m
		if err != nil {
			return sent, err
		}
		if trigger != nil {
			t.fire(trigger)
		}
	}
	return sent, nil
}

// oneWay is a connection without answers.
type oneWay struct{ *watchedConn }

func (oneWay) Read([]byte) (int, error) { return 0, io.EOF }
func (oneWay) OneWay() bool             { return true }
