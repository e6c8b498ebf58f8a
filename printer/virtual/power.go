package virtual

// PowerOff pulls the plug: the receive buffer is lost, and with it what was not yet
// printed; clients are not told. Until [Printer.PowerOn] nobody answers: in memory a Dial
// waits for its context; on a socket the kernel accepts clients nobody listens to.
func (p *Printer) PowerOff() {
	p.mu.Lock()
	if !p.off {
		p.off = true
		for _, c := range p.connected {
			c.stale = true
			c.setMute(true)
			c.interrupt()
		}
		p.clearBuffer(Broken)
	}
	p.mu.Unlock()
	p.step()
}

// PowerOn switches it on again. Clients it does not know any more are reset, as those
// are who ask a machine about a connection it has never heard of. An unrecoverable
// error is cured.
func (p *Printer) PowerOn() {
	p.mu.Lock()
	p.off = false
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

// Vanish(true) is a cable that comes off: the printer prints what it has, nothing reaches
// it, nothing it says arrives, and nobody is told. After Vanish(false) connections go on
// where they were.
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

// Reset resets every connection there is.
func (p *Printer) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.connected {
		c.resetAsked = true
		c.interrupt()
	}
	p.notify()
}
