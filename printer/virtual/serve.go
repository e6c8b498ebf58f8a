package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// How real network boards behave, as far as it is simulated: one client is served and the others
// are connected but unheard (escpos-php issues 1182 and 394); the next client is served only when
// the one before has left; a full receive buffer stops the reading, so that the sender's writes
// block. An Epson board accepts up to three clients (UB-E02 Technical Reference Guide).

// A listener is a net.Listener that Refuse can close and reopen.
type listener struct {
	addr net.Addr
	tcp  bool
	l    net.Listener // nil while refusing; guarded by the printer's mu
}

// Serve prints the tickets of clients of l until ctx ends. It then closes l and every connection and returns nil.
func (p *Printer) Serve(ctx context.Context, l net.Listener) error {
	_, tcp := l.(*net.TCPListener)
	listening := &listener{addr: l.Addr(), tcp: tcp, l: l}
	p.mu.Lock()
	p.listeners = append(p.listeners, listening)
	p.mu.Unlock()

	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup

	// The order matters: no new clients, then every client ended, then the paper finished. A test
	// that returns from Serve sees the last ticket.
	defer p.abortUnserved()
	defer clients.Wait()
	defer cancel()
	defer p.closeListener(listening)
	stop := context.AfterFunc(ctx, func() { p.closeListener(listening) })
	defer stop()

	for {
		accepted, err := p.accept(ctx, listening)
		if ctx.Err() != nil {
			if err == nil {
				_ = accepted.Close()
				p.removeClient(accepted)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: accept: %w", p.o.Name, err)
		}

		clients.Go(func() { p.serve(ctx, accepted) })
	}
}

// accept returns the next client. While there is no listener it waits. Whether the printer refuses
// is checked before and after Accept, because Refuse may be called while it waits, and its promise
// is that no client is let in after it has returned.
func (p *Printer) accept(ctx context.Context, s *listener) (*client, error) {
	for {
		p.mu.Lock()
		err := p.await(ctx, nil, func() bool { return s.l != nil && !p.full() })
		current := s.l
		p.mu.Unlock()

		if err != nil {
			return nil, err
		}

		conn, err := current.Accept()
		p.mu.Lock()
		off, replaced := p.faults.refuse || p.full(), s.l != current
		var c *client
		if err == nil && !off {
			c = p.addClient(netLink{conn})
		}
		p.mu.Unlock()

		switch {
		case c != nil:
			return c, nil
		case err == nil: // accepted while the listener was being closed
			netLink{conn}.reset()
		case replaced && errors.Is(err, net.ErrClosed):
		default:
			return nil, err
		}
	}
}

// full reports whether Options.Clients are connected; p.mu is held.
func (p *Printer) full() bool { return p.o.Clients > 0 && len(p.connected) >= p.o.Clients }

// removeClient makes room for another client.
func (p *Printer) removeClient(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := func(o *client) bool { return o == c }
	p.connected, p.waitingClients = slices.DeleteFunc(p.connected, gone), slices.DeleteFunc(p.waitingClients, gone)
	p.notify()
}

// abortUnserved ends the current ticket when no Serve is running any more. Otherwise half a ticket
// would wait for bytes that never come, and no test would see it.
func (p *Printer) abortUnserved() {
	p.mu.Lock()
	if len(p.listeners) == 0 && (p.waiting || len(p.queue) > 0) {
		p.clearBuffer()
	}
	p.mu.Unlock()
	p.step()
}

// closeListener closes a listener for good.
func (p *Printer) closeListener(s *listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.l != nil {
		_ = s.l.Close()
	}

	p.listeners = slices.DeleteFunc(p.listeners, func(other *listener) bool { return other == s })
}

// serve handles one client until it leaves.
func (p *Printer) serve(ctx context.Context, c *client) {
	defer p.removeClient(c)
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()

	if !p.waitServed(ctx, c) {
		return
	}

	// The end of the connection goes through the receive buffer like bytes: it may end a ticket
	// whose lines are not printed yet.
	end := p.read(ctx, c)
	p.enqueue(segment{c: c, end: &end})
	if p.attached() {
		_ = p.drained(ctx)
	}

	p.endService(c)
	// A close with unsent answers would lose them, and the client could not prove its ticket.
	if end == Closed {
		c.flushed(ctx)
	}
}

// addClient adds a client to the waiting ones; p.mu is held. While the power is off its bytes are
// lost. The kernel of a real board completes the connection before the printer looks at it, so a
// client counts as connected from here on, served or not.
func (p *Printer) addClient(l link) *client {
	added := &client{link: l, p: p, stale: p.off}
	added.setMute(p.off || p.unplugged)
	p.clientCount++
	p.connected = append(p.connected, added)
	p.waitingClients = append(p.waitingClients, added)
	p.notify()
	return added
}

// waitServed waits until c is served, in the order of arrival. It returns false if c left or ctx ended.
func (p *Printer) waitServed(ctx context.Context, c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	reset := func() bool { return c.stale || c.resetAsked }

	if p.await(ctx, c.gone(), func() bool { return reset() || p.served == nil && p.waitingClients[0] == c }) != nil {
		return false
	}

	if !reset() {
		p.waitingClients, p.served = p.waitingClients[1:], c
	}
	return true
}

// endService lets the next client be served.
func (p *Printer) endService(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.asb = 0

	if p.served == c {
		p.served = nil
		p.notify()
	}
}

// read reads from the client until the client or a fault ends the connection.
func (p *Printer) read(ctx context.Context, c *client) End {
	buf := make([]byte, 4096)
	taken := 0
	for {
		allowed, err := p.admit(ctx, c, taken)
		if err != nil {
			return Broken
		}
		if allowed.room == 0 {
			if !allowed.orderly {
				c.reset()
			}
			return Broken
		}

		if !allowed.probeOnly && len(c.unbuffered) > 0 { // the buffer has space again
			p.buffer(c)
			continue
		}

		stop := p.limitIdle(c)
		count, err := c.Read(buf[:min(len(buf), allowed.room)])
		stop()
		if p.waitPluggedIn(ctx, c) != nil {
			return Broken
		}

		if count > 0 && p.countRead(c, count) {
			c.release(locked(p, func() bool { return p.faults.holds }))
			taken += count
			c.unbuffered = append(c.unbuffered, p.arrive(buf[:count])...)
		}

		if !allowed.probeOnly || err == io.EOF {
			p.buffer(c)
		} else {
			p.answerHeld(c)
		}

		p.reach(buf[:count])
		switch {
		case err == io.EOF:
			return Closed
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil: // see client.interrupt
			_ = c.SetReadDeadline(time.Time{})
		case err != nil:
			return Broken
		}
	}
}

// limitIdle has the connection closed after faults.idle, unless the function that it returns is called before.
func (p *Printer) limitIdle(c *client) (stop func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.faults.idle <= 0 {
		return func() bool { return true }
	}
	return time.AfterFunc(p.faults.idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		c.idle = true
		c.interrupt()
	}).Stop
}

// waitPluggedIn waits while the cable is unplugged. A Read that was in progress may return bytes that were
// sent after that; they are used once the cable is plugged in.
func (p *Printer) waitPluggedIn(ctx context.Context, c *client) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.await(ctx, c.gone(), func() bool { return !p.unplugged || p.off || c.stale || c.resetAsked })
}

// buffer moves the bytes read to the receive buffer.
func (p *Printer) buffer(c *client) {
	if held := c.unbuffered; len(held) > 0 {
		c.unbuffered = nil
		p.atReceipt(c, held)
		p.enqueue(segment{c: c, data: held})
	}
}

// answerHeld executes a DLE EOT that came while the receive buffer was full. It is not queued.
func (p *Printer) answerHeld(c *client) {
	if held := c.unbuffered; len(held) == 3 && held[0] == dle && held[1] == 0x04 {
		c.unbuffered = nil
		p.atReceipt(c, held)
	}
}

// countRead counts n received bytes. It returns false if they are lost, because the power is or was off.
func (p *Printer) countRead(c *client, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.off || c.stale {
		return false
	}
	p.bytesRead += int64(n)
	p.notify()
	return true
}
