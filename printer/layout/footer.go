package layout

import (
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// footer identifies this print, for people who compare two slips or call support.
func (c *composer) footer(d *ticket.Delivery) {
	c.rule("=")

	c.alsoAt(&d.Ticket)
	for _, line := range c.Footer {
		c.ownLine(line, d)
	}

	c.ticketIdentity(d)
	c.requestQR(&d.Ticket)
}

// alsoAt names the other stations of the order, so that cooks know with whom to finish at the same
// time. It prints with every footer.
func (c *composer) alsoAt(t *ticket.Ticket) {
	var stations []string

	for _, part := range t.AlsoAt {
		stations = append(stations, c.text(part.Station))
	}
	if len(stations) > 0 && !c.NoAlsoAt && c.slip == "" {
		c.flow(paragraph{text: "ALSO AT: " + strings.Join(stations, ", "), style: Style{Bold: true, Height: 2}})
	}
}

// ticketIdentity prints the end of the request's id, the job, the printer, and the attempt if it is
// not the first.
func (c *composer) ticketIdentity(d *ticket.Delivery) {
	var parts []string

	if request := c.text(ticket.Short(d.Ticket.Request)); request != "" {
		parts = append(parts, request)
	}
	if d.Job != 0 {
		parts = append(parts, "job "+strconv.FormatUint(d.Job, 10))
	}
	if printer := c.text(c.Printer); printer != "" {
		parts = append(parts, printer)
	}
	if d.Attempt > 1 {
		parts = append(parts, "attempt "+strconv.Itoa(d.Attempt))
	}

	if len(parts) > 0 {
		c.flow(paragraph{text: strings.Join(parts, " | ")})
	}
}

// maxQRBytes is the most bytes a QR code may hold. With more, its modules are too small for a
// receipt printer and a phone's camera. The ids of requests have at most 200 bytes.
const maxQRBytes = 250

// requestQR adds the request's id as a QR code if the options ask for it.
func (c *composer) requestQR(t *ticket.Ticket) {
	if c.QR && t.Kind != ticket.Test { // a test ticket has its own QR code
		c.qr(Clean(t.Request))
	}
}

// qr adds s as a QR code with the same text below it, for printers without QR codes and for people
// without a phone.
func (c *composer) qr(s string) {
	if s == "" || len(s) > maxQRBytes {
		return
	}
	// The code is attached to the first line of the caption, so that a printer without codes prints
	// the caption as any other line.

	at := len(c.lines)
	c.centred(s, Style{})
	c.lines[at].QR = s
}
