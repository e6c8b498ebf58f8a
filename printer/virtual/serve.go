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

// A slot is a listener that [Printer.Refuse] can take away and give back.
type slot struct {
	addr net.Addr
	tcp  bool
	l    net.Listener // nil while refusing; guarded by the printer's mu
}

// Serve prints what clients of l send, until ctx ends; then it returns nil, with every
// connection closed. It closes l.
func (p *Printer) Serve(ctx context.Context, l net.Listener) error {
	_, tcp := l.(*net.TCPListener)
	s := &slot{addr: l.Addr(), tcp: tcp, l: l}
	p.mu.Lock()
	p.slots = append(p.slots, s)
	_ = p.doors() // they can only close
	p.mu.Unlock()

	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	defer p.settle()
	defer clients.Wait()
	defer cancel()
	defer p.leave(s)
	stop := context.AfterFunc(ctx, func() { p.leave(s) })
	defer stop()
	for {
		c, err := p.accept(ctx, s)
		if ctx.Err() != nil {
			if err == nil {
				_ = c.Close()
				p.left(c)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: accept: %w", p.o.Name, err)
		}
		clients.Go(func() { p.serve(ctx, c) })
	}
}

// accept returns the next client; it sits out the times when there is no listener.
func (p *Printer) accept(ctx context.Context, s *slot) (*client, error) {
	for {
		p.mu.Lock()
		err := p.await(ctx, nil, func() bool { return s.l != nil && !p.full() })
		l := s.l
		p.mu.Unlock()
		if err != nil {
			return nil, err
		}
		conn, err := l.Accept()
		p.mu.Lock()
		off, replaced := p.faults.refuse || p.full(), s.l != l
		var c *client
		if err == nil && !off {
			c = p.arrive(netLink{conn})
			_ = p.doors() // they can only close
		}
		p.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case err == nil: // got in as the door closed
			netLink{conn}.reset()
		case replaced && errors.Is(err, net.ErrClosed):
		default:
			return nil, err
		}
	}
}

// full says that no more clients are accepted; p.mu is held.
func (p *Printer) full() bool { return p.o.Clients > 0 && len(p.connected) >= p.o.Clients }

// doors closes the listeners when new clients are refused and opens them when not; p.mu
// is held.
func (p *Printer) doors() error {
	shut := p.faults.refuse || p.full() && !p.o.Hang
	var errs []error
	for _, s := range p.slots {
		switch {
		case !s.tcp || shut == (s.l == nil):
		case shut:
			_ = s.l.Close()
			s.l = nil
		default:
			l, err := net.Listen(s.addr.Network(), s.addr.String())
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: listen again: %w", p.o.Name, err))
				continue
			}
			s.l = l
		}
	}
	return errors.Join(errs...)
}

// left makes room for another client.
func (p *Printer) left(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := func(o *client) bool { return o == c }
	p.connected, p.line = slices.DeleteFunc(p.connected, gone), slices.DeleteFunc(p.line, gone)
	if err := p.doors(); err != nil {
		p.note(err.Error())
	}
	p.wake()
}

// settle ends what is being printed when nobody serves any more.
func (p *Printer) settle() {
	p.mu.Lock()
	if len(p.slots) == 0 && (p.waiting || len(p.queue) > 0) {
		p.lose(Broken)
	}
	p.mu.Unlock()
	p.step()
}

// leave closes a slot for good.
func (p *Printer) leave(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.l != nil {
		_ = s.l.Close()
	}
	for i, other := range p.slots {
		if other == s {
			p.slots = append(p.slots[:i:i], p.slots[i+1:]...)
			return
		}
	}
}

// serve prints what one client sends.
func (p *Printer) serve(ctx context.Context, c *client) {
	defer p.left(c)
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if !p.sit(ctx, c) {
		return
	}
	end := p.read(ctx, c)
	p.enqueue(segment{c: c, end: &end})
	if p.attached() {
		_ = p.drained(ctx)
	}
	late := p.rise(c)
	if end != Closed {
		return
	}
	c.flushed(ctx)
	if late > 0 {
		t := time.NewTimer(late)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.gone():
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// A printer that does not close holds the connection, not the seat.
	_ = p.await(ctx, c.gone(), func() bool { return !p.faults.keepOpen })
}

// arrive lets a client in, at the end of the line; p.mu is held. One that comes while the
// power is off is lost: nothing hears it.
func (p *Printer) arrive(l link) *client {
	c := &client{link: l, p: p, lost: p.off}
	c.silence(p.off || p.vanished)
	p.clients++
	p.connected = append(p.connected, c)
	p.line = append(p.line, c)
	p.wake()
	return c
}

// sit waits until c is the one who is served, first come, first served.
func (p *Printer) sit(ctx context.Context, c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	reset := func() bool { return c.lost || c.kicked }
	if p.await(ctx, c.gone(), func() bool { return reset() || p.seated == nil && p.line[0] == c }) != nil {
		return false
	}
	if !reset() {
		p.line, p.seated = p.line[1:], c
	}
	return true
}

// rise gives up the seat, which is noticed late if at all, and says how late.
func (p *Printer) rise(c *client) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.asb = 0
	late := p.faults.late
	vacate := func() {
		p.seated = nil
		p.wake()
	}
	switch {
	case p.seated != c:
	case late > 0:
		time.AfterFunc(late, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			vacate()
		})
	default:
		vacate()
	}
	return late
}

// read takes what the client sends until the client ends or a fault does.
func (p *Printer) read(ctx context.Context, c *client) End {
	buf := make([]byte, 4096)
	taken := 0
	for {
		v, err := p.admit(ctx, c, taken)
		if err != nil {
			return Broken
		}
		if v.room == 0 {
			if !v.orderly {
				c.reset()
			}
			return Broken
		}
		if !v.full && len(c.held) > 0 { // there is room for it now
			p.take(c)
			continue
		}
		n, err := c.Read(buf[:min(len(buf), v.room)])
		if p.plugged(ctx, c) != nil {
			return Broken
		}
		if n > 0 && p.hears(c, n) {
			taken += n
			c.held = append(c.held, buf[:n]...)
		}
		if !v.full || err == io.EOF {
			p.take(c)
		} else {
			p.answerHeld(c)
		}
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

// plugged waits while the cable is off. A Read that was just beginning when it came off may
// bring what was sent only after that: it arrives when the cable is on again.
func (p *Printer) plugged(ctx context.Context, c *client) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.await(ctx, c.gone(), func() bool { return !p.vanished || p.off || c.lost || c.kicked })
}

// take puts what was read into the receive buffer.
func (p *Printer) take(c *client) {
	if b := c.held; len(b) > 0 {
		c.held = nil
		p.atReception(c, b)
		p.enqueue(segment{c: c, data: b})
	}
}

// answerHeld carries out a DLE EOT that came while the receive buffer was full. It is not
// kept: there is no room for it.
func (p *Printer) answerHeld(c *client) {
	if b := c.held; len(b) == 3 && b[0] == dle && b[1] == 0x04 {
		c.held = nil
		p.atReception(c, b)
	}
}

// hears counts n bytes that came in, unless there is nobody to hear them.
func (p *Printer) hears(c *client, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off || c.lost {
		return false
	}
	p.taken += int64(n)
	p.wake()
	return true
}
