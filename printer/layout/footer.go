package layout

import (
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// footer says which print this is, for people who compare two slips or call for help.
func (c *composer) footer(d *ticket.Delivery) {
	before := len(c.lines)
	c.rule("=")
	if !c.renderTemplate("footer", d) {
		c.ticketIdentity(d)
		c.requestQR(&d.Ticket)
		return
	}
	c.requestQR(&d.Ticket)
	if len(c.lines) == before+1 {
		c.lines = c.lines[:before] // a rule above nothing
	}
}

func (c *composer) ticketIdentity(d *ticket.Delivery) {
	var parts []string
	if s := c.text(ticket.Short(d.Ticket.Request)); s != "" {
		parts = append(parts, s)
	}
	if d.Job != 0 {
		parts = append(parts, "job "+strconv.FormatUint(d.Job, 10))
	}
	if s := c.text(c.Printer); s != "" {
		parts = append(parts, s)
	}
	if d.Attempt > 1 {
		parts = append(parts, "attempt "+strconv.Itoa(d.Attempt))
	}
	if len(parts) > 0 {
		c.flow(paragraph{text: strings.Join(parts, " | ")})
	}
}

// maxQRBytes is how many bytes a QR code may hold here. Codes of more are too fine for
// a kitchen printer and a telephone's camera; the ids of requests are at most 200.
const maxQRBytes = 250

func (c *composer) requestQR(t *ticket.Ticket) {
	if c.QR && t.Kind != ticket.Test { // which has shown one
		c.qr(Clean(t.Request))
	}
}

// qr draws s for a telephone, with the same in letters below.
func (c *composer) qr(s string) {
	if s == "" || len(s) > maxQRBytes {
		return
	}
	at := len(c.lines)
	c.centred(s, Style{})
	if at == len(c.lines) || len(c.lines[at].Spans) == 0 {
		c.lines = append(c.lines[:at], Line{})
	}
	c.lines[at].QR = s
}
