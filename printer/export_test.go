package printer

import "ticketrail/queue/ticket"

// Connected reports whether the device uses a connection, or keeps one for the next ticket.
func (d *Device) Connected() bool {
	select {
	case d.lock <- struct{}{}:
		defer func() { <-d.lock }()
		return d.idle != nil
	default: // a ticket or a poll uses it
		return true
	}
}

// Confuse lets the composing of each ticket panic.
func (p *Paper) Confuse() { p.encodeTicket = func(ticket.Delivery, bool) encodedTicket { panic(nil) } }
