package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A link is the printer's end of a connection.
type link interface {
	io.Reader
	Close() error          // in order
	reset()                // so that the client notices
	gone() <-chan struct{} // closed once the client is known to have left; nil if that cannot be known
}

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
	if p.faults.refuse && tcp {
		_ = l.Close()
		s.l = nil
	}
	p.slots = append(p.slots, s)
	p.mu.Unlock()

	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
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
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: accept: %w", p.o.Name, err)
		}
		clients.Go(func() { p.serve(ctx, netLink{c}) })
	}
}

// accept returns the next client; it sits out the times when there is no listener.
func (p *Printer) accept(ctx context.Context, s *slot) (net.Conn, error) {
	for {
		p.mu.Lock()
		l, changed := s.l, p.changed
		p.mu.Unlock()
		if l == nil {
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}
		c, err := l.Accept()
		p.mu.Lock()
		off, replaced := p.faults.refuse, s.l != l
		p.mu.Unlock()
		switch {
		case err == nil && !off:
			return c, nil
		case err == nil: // got in as the door closed
			netLink{c}.reset()
		case replaced && errors.Is(err, net.ErrClosed):
		default:
			return nil, err
		}
	}
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
func (p *Printer) serve(ctx context.Context, c link) {
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	p.mu.Lock()
	p.clients++
	p.wake()
	p.mu.Unlock()

	select {
	case p.seat <- struct{}{}:
	case <-c.gone():
		return
	case <-ctx.Done():
		return
	}
	end := p.print(ctx, c)
	<-p.seat
	if end != Closed {
		return
	}
	for { // a printer that does not close holds the connection, not the seat
		p.mu.Lock()
		keep, changed := p.faults.keepOpen, p.changed
		p.mu.Unlock()
		if !keep || pause(ctx, c, changed) != nil {
			return
		}
	}
}

// print feeds the decoder until the client ends or a fault does.
func (p *Printer) print(ctx context.Context, c link) (end End) {
	d := newDecoder(p.o, p.emit, p.record)
	defer func() { d.end(end) }()
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
		n, err := c.Read(buf[:min(len(buf), v.room)])
		taken += n
		p.mu.Lock()
		p.taken += int64(n)
		p.wake()
		p.mu.Unlock()
		for _, b := range buf[:n] {
			if lines := d.feed(b); lines > 0 && p.linger(ctx, lines) != nil {
				return Broken
			}
		}
		switch {
		case err == io.EOF:
			return Closed
		case err != nil:
			return Broken
		}
	}
}

// linger is the time the head takes for some lines. A client that leaves meanwhile does
// not stop it: what was taken is printed.
func (p *Printer) linger(ctx context.Context, lines int) error {
	p.mu.Lock()
	d := p.faults.perLine
	p.mu.Unlock()
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(time.Duration(lines) * d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// netLink is a connection from a listener. A client that has left is noticed by
// reading only, as in life.
type netLink struct{ net.Conn }

func (l netLink) gone() <-chan struct{} { return nil }

func (l netLink) reset() {
	if c, ok := l.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = l.Conn.Close()
}
