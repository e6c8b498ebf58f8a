package virtual

// PowerOff switches the printer off: the receive buffer and everything not printed yet is lost;
// clients get no error. Until [Printer.PowerOn] a Dial in memory waits for its context; on a socket
// the kernel accepts clients and nothing answers. That is why a daemon must not believe a write:
// the buffer is lost without a sign (escpos-php issue 57).
func (p *Printer) PowerOff() {
	p.mu.Lock()
	if !p.off {
		p.off = true
		for _, c := range p.connected {
			c.stale = true
			c.setMute(true)
			c.interrupt()
		}
		p.clearBuffer()
	}

	p.mu.Unlock()
	p.step()
}

// PowerOn switches it on. Earlier connections are reset, as a host does with segments of a connection that it
// does not know. An unrecoverable error is cleared.
func (p *Printer) PowerOn() {
	p.mu.Lock()
	p.off, p.faults.frozen = false, false
	p.change(p.cond &^ Unrecoverable)
	p.notify()
	p.mu.Unlock()
	p.step()
}

// PowerCycle is [Printer.PowerOff] and [Printer.PowerOn].
func (p *Printer) PowerCycle() {
	p.PowerOff()
	p.PowerOn()
}

// Unplug pulls the network cable: the printer prints its buffer, nothing reaches it, its
// answers are lost, and clients get no error. After Unplug with false connections continue. The
// difference to PowerOff: no connection is reset afterwards, and the buffer prints.
func (p *Printer) Unplug(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unplugged = on

	for _, c := range p.connected {
		c.setMute(on || p.off || c.stale)
		c.interrupt()
	}
	p.notify()
}

// Reset resets every connection there is. The idle timer of a network board does this, after five
// minutes on Epson's.
func (p *Printer) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.connected {
		c.resetAsked = true
		c.interrupt()
	}
	p.notify()
}
