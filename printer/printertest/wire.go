package printertest

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"
)

// A client is one connection.
type client struct {
	conn net.Conn
	out  []byte // answers that are not sent yet
	gone bool   // ended by the printer
	cut  bool   // by a reset: what was read and not taken yet is lost
	left bool   // ended by the client; answers that were given before are still sent
	idle *time.Timer
}

// Serve accepts connections from l until Close.
func (p *Printer) Serve(l net.Listener) {
	p.mu.Lock()
	p.ports = append(p.ports, l)
	if p.closed {
		l.Close()
	}
	p.mu.Unlock()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.ServeConn(c) })
	}
}

// ServeConn serves one connection until it ends, and closes it.
func (p *Printer) ServeConn(c net.Conn) {
	k := &client{conn: c}
	p.mu.Lock()
	p.taken.Accepted++
	early, after := p.faults.early, p.faults.earlyAfter
	switch {
	case p.closed, p.model.Others == Refuse && len(p.clients) > 0:
		p.end(k, true)
	case early != Stay:
		p.mu.Unlock()
		dropEarly(c, after, early)
		return
	default:
		if p.model.Others == Evict {
			p.disconnect()
		}
		p.clients = append(p.clients, k)
		p.moved = p.moved && len(p.clients) > 1
		p.restartIdle(k)
		p.work.Go(func() { p.write(k) })
	}
	p.mu.Unlock()
	p.read(k)
}

// dropEarly ends a connection from which nothing is interpreted. The kernel acknowledges what arrives
// within d; what arrives later is never acknowledged.
func dropEarly(c net.Conn, d time.Duration, how Drop) {
	defer c.Close()
	if how == Swallow {
		c.SetReadDeadline(time.Now().Add(d))
		io.Copy(io.Discard, c)
		return
	}
	time.Sleep(d)
	if how == Reset {
		linger(c)
	}
}

// linger makes Close send a reset instead of an orderly end, where the connection knows the difference.
func linger(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
}

// end ends k from the printer's side. The caller holds mu.
func (p *Printer) end(k *client, reset bool) {
	k.gone, k.cut = true, reset
	p.forget(k)
	if reset {
		linger(k.conn)
	}
	k.conn.Close()
}

// forget takes k off the list, so that the next client gets the printer. The caller holds mu.
func (p *Printer) forget(k *client) {
	if i := slices.Index(p.clients, k); i >= 0 {
		p.clients = slices.Delete(p.clients, i, i+1)
		p.moved = p.moved && i > 0
	}
	if k.idle != nil {
		k.idle.Stop()
	}
	p.changed.Broadcast()
}

// disconnect resets all clients. The caller holds mu.
func (p *Printer) disconnect() {
	for len(p.clients) > 0 {
		p.end(p.clients[0], true)
	}
	p.changed.Broadcast()
}

// serves reports whether the printer takes bytes from k now. The caller holds mu.
func (p *Printer) serves(k *client) bool {
	return len(p.clients) > 0 && p.clients[0] == k && !p.faults.hung && !p.faults.stalled &&
		p.firing == 0 && len(p.buffer) < p.model.Buffer
}

// await waits until the printer takes bytes from k, and reports false when k has ended instead.
func (p *Printer) await(k *client) bool {
	for !k.gone && !p.serves(k) {
		p.changed.Wait()
	}
	return !k.gone
}

// read takes bytes from k as fast as the model allows, until the connection ends.
func (p *Printer) read(k *client) {
	chunk := make([]byte, 4096)
	if rate := p.model.BytesPerSecond; rate > 0 {
		chunk = chunk[:max(1, min(len(chunk), rate/50))]
	}
	for {
		p.mu.Lock()
		if !p.await(k) {
			p.mu.Unlock()
			return
		}
		room := min(len(chunk), p.model.Buffer-len(p.buffer))
		// A fault that comes while Read waits ends it by a deadline, see interrupt.
		k.conn.SetReadDeadline(time.Time{})
		p.mu.Unlock()

		n, err := k.conn.Read(chunk[:room])
		if rate := p.model.BytesPerSecond; rate > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
		}
		p.take(k, chunk[:n])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			p.mu.Lock()
			k.left = true
			p.forget(k)
			p.mu.Unlock()
			return
		}
	}
}

// interrupt ends a Read that waits, so that no byte is taken after a fault began. The caller holds mu.
func (p *Printer) interrupt() {
	for _, k := range p.clients {
		k.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// take receives bytes from k. A fault may begin after any of them; then the others wait or are lost.
func (p *Printer) take(k *client, bytes []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(bytes) > 0 && !k.gone {
		p.restartIdle(k)
	}
	for _, b := range bytes {
		if !p.await(k) && k.cut {
			return
		}
		p.receive(b)
	}
}

// receive puts one byte into the receive buffer and executes real-time commands. They are executed when
// they are received, whatever the printer is doing, and stay in the stream: inside another command they
// are also its parameters. The caller holds mu.
func (p *Printer) receive(b byte) {
	p.taken.Bytes++
	p.tail = append(p.tail[max(0, len(p.tail)-31):], b)
	defer p.fire(&p.faults.bytes)
	f := &p.faults
	switch {
	case f.loseAfter > 0:
		f.loseAfter--
	case f.lose > 0:
		f.lose--
		return
	}
	p.buffer = append(p.buffer, b)
	p.rt = append(p.rt, b)
	for len(p.rt) > 0 {
		n := realTimeLength(p.rt)
		if n > len(p.rt) {
			break
		}
		if n == 0 {
			p.rt = p.rt[1:]
			continue
		}
		c := p.rt
		p.rt = nil
		p.realTime(c)
	}
	p.changed.Broadcast()
}

// realTime executes a complete real-time command. The caller holds mu.
func (p *Printer) realTime(c []byte) {
	switch {
	case c[1] == 0x04 && slices.Contains(p.model.RealTime, c[2]):
		p.answer([]byte{p.conditions.realTime(c[2])})
	case c[1] == 0x05 && (c[2] == 1 || c[2] == 2):
		if c[2] == 2 && p.conditions&CutterJam != 0 {
			p.clear()
		}
		p.change(CutterJam, false)
	case c[1] == 0x14 && string(c[2:]) == "\x08\x01\x03\x14\x01\x06\x02\x08":
		p.clear()
	}
}

// clear empties the buffers, a command that is not complete included. The caller holds mu.
func (p *Printer) clear() {
	p.buffer, p.queue = nil, nil
	p.in.cmd, p.in.left, p.in.row, p.in.rows = nil, 0, nil, nil
	p.in.line, p.in.x = Line{}, 0
}

// write sends answers to k. It has its own goroutine because a client that does not read must not stop
// the printer.
func (p *Printer) write(k *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(k.out) == 0 && !k.gone && !k.left {
			p.changed.Wait()
		}
		if k.gone || len(k.out) == 0 {
			break
		}
		b := k.out
		k.out = nil
		p.mu.Unlock()
		_, err := k.conn.Write(b)
		p.mu.Lock()
		if err != nil {
			break
		}
	}
	k.conn.Close()
}

// restartIdle measures the time without a byte from k anew. The caller holds mu.
func (p *Printer) restartIdle(k *client) {
	if k.idle != nil {
		k.idle.Stop()
	}
	if d := p.faults.idle; d > 0 {
		k.idle = time.AfterFunc(d, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if !k.gone && !k.left {
				p.end(k, false)
			}
		})
	}
}
