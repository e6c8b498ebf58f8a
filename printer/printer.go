// Package printer prints tickets on ESC/POS kitchen printers and reports how well each result is
// known: confirmed or processed by the printer, only sent, or in doubt.
//
// [Paper] is one station of the dispatcher. Paper width, bytes and connection are decided here, at
// each attempt; the text of the ticket was fixed when the order was accepted, so a ticket that moves
// to another printer is composed again for that one. [Device] is the physical printer, which several
// stations may share: its address, its lock, its connection, its capability and its state.
//
// [Paper.Print] runs these steps. Their order decides how a failure counts:
//
//  1. Take the device's lock; reuse the idle connection or dial. A failure is clean: no byte was sent.
//  2. Ask for the status (DLE EOT), or probe the capability if it is not known; then ask the fence (hello). These
//     are questions, not ticket bytes: a printer that is out of paper, open or busy costs no attempt.
//  3. Compose and encode. A failure is permanent: no attempt can succeed.
//  4. Call begin, which stores the doubt on disk.
//  5. Check that the connection still stands, and send the rest of the previous ticket: padding, its cut.
//     A failure is untouched: no byte of this ticket was sent, and the doubt is taken back.
//  6. Send the ticket, then a fence: a question that the printer answers once it has printed the lines
//     before. While the answer is missing, ask for the status, and wait for the person who refills the
//     paper. A failure leaves the ticket in doubt.
//  7. Cut, and release the connection, which is kept for [Connection].Linger if it works. A failure does not change
//     the result of the ticket.
//
// A printer that answers no question prints too. Its tickets end as sent: the printer took every byte,
// and nothing more is known.
package printer

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"runtime/debug"
	"slices"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// Options describe one station and its limits. Name, Profile and Device are required.
type Options struct {
	Name    string // the station's name; printed at the foot of every ticket
	Profile profile.Profile
	Columns int          // characters of normal size on a line; 0: as in Profile
	Logger  *slog.Logger // nil discards

	// Device is the printer. All Papers of one printer share it.
	Device *Device

	// Layout is how tickets look. Columns, Printer, Printable, MaxSize, Framed, Copy, Copies and AfterPiece
	// are set here.
	Layout layout.Options
	Copies int // of every ticket; 0 is 1
	// Buzz and BuzzVoid are how many times the buzzer sounds for an order and for a cancellation.
	Buzz, BuzzVoid int
	Drawer         *raster.Drawer // draws characters that the printer does not have; nil: none are drawn

	// Pace limits the sending of n KiB to Timeout + n·PerKiB, and then the printing to the same time again. It is the
	// time of the slowest printer with a full buffer, not of the network: the printer takes bytes only as fast as it
	// prints them. 0 is 30 s, and four times the time that the profile's lines per second take for a KiB. The printer
	// has printed all that came before, so 30 s are for causes that it does not report: a cooling head, a till that
	// takes the port. Too short a limit is worse than a long one: it causes a duplicate, whereas waiting delays this
	// printer only.
	session.Pace
}

// Paper prints tickets on one printer, one at a time. Its methods are safe for concurrent use.
type Paper struct {
	o Options
	d *Device
	// encodeTicket is encode; a test replaces it by one that panics.
	encodeTicket func(d ticket.Delivery, afterPiece bool) encodedTicket
}

// An encodedTicket is the bytes of all copies of a ticket, for the printer of its Paper.
type encodedTicket struct {
	// Body and cut apart: the fence goes between them, and a cut that was not sent can follow
	// later.
	copies []escpos.Encoded
	lines  int // of one copy, counted in lines of normal height
}

// bytes returns the whole ticket.
func (e encodedTicket) bytes() (all []byte) {
	for _, c := range e.copies {
		all = append(append(all, c.Body...), c.Cut...)
	}
	return all
}

// A Lock serializes the use of one printer. Devices for the same printer share one: see
// [DeviceOptions].Lock. It is held while its channel is full.
// A channel and not a mutex, because a waiting ticket must be able to give up when its context
// ends, and a poll only takes a lock that is free.
type Lock chan struct{}

// NewLock returns a Lock that is not held.
func NewLock() Lock { return make(Lock, 1) }

// NewPaper fills in o's defaults.
func NewPaper(o Options) *Paper {
	o.Columns = cmp.Or(o.Columns, o.Profile.Columns)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)

	if o.PerKiB <= 0 {
		const linesPerKiB = 40 // short lines, as in an order
		o.PerKiB = 4 * linesPerKiB * time.Second / time.Duration(o.Profile.LinesPerSecond)
	}

	o.Copies = max(o.Copies, 1)
	paper := &Paper{o: o, d: o.Device}
	paper.encodeTicket = paper.encode
	return paper
}

// encodeOrFail encodes the ticket. A ticket whose text makes that panic goes to another station or to a person, with
// the reason, and the queue continues with the next one. It is not printed in a simpler form: a text that broke the
// composing might be composed wrongly too, for example a void as an order.
func (p *Paper) encodeOrFail(d ticket.Delivery, afterPiece bool) (encoded encodedTicket, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			p.o.Logger.Debug("composing a ticket panicked",
				"printer", p.o.Name, "job", d.Job, "stack", string(debug.Stack()))
			err = fmt.Errorf("compose ticket: %v: this is a bug in ticketrail, please report it with the ticket",
				panicked)
		}
	}()
	return p.encodeTicket(d, afterPiece), nil
}

// encode composes and encodes every copy. Only the first can be below a piece of an earlier attempt.
func (p *Paper) encode(d ticket.Delivery, afterPiece bool) encodedTicket {
	var encoded encodedTicket
	// ESC @ at the start of a ticket switches the automatic status off.
	eo := escpos.Options{Profile: p.o.Profile, Drawer: p.o.Drawer, ASB: p.d.can.ASB, Buzz: p.o.Buzz}

	if onlyVoids(d.Ticket) {
		eo.Buzz, eo.VoidSound = p.o.BuzzVoid, true
	}

	lo := p.o.Layout
	lo.Columns, lo.Printer, lo.Copies = p.o.Columns, p.o.Name, p.o.Copies
	lo.MaxSize, lo.Framed = p.o.Profile.Sizing.Max(), !p.o.Profile.Invert
	lo.Printable = func(s string) string { return escpos.Printable(s, eo) }

	for k := range p.o.Copies {
		lo.Copy, lo.AfterPiece = k+1, afterPiece && k == 0
		lines := layout.ComposeWith(d, lo)
		encoded.copies = append(encoded.copies, escpos.EncodeTicket(lines, eo))
		eo.Buzz = 0 // the buzzer sounds once for all copies

		if k == 0 {
			for _, l := range lines {
				encoded.lines += l.Height()
				if l.Cut {
					encoded.lines += p.o.Profile.FeedBeforeCut
				}
			}
		}
	}
	return encoded
}

// onlyVoids reports whether the ticket orders nothing and only cancels. Such a ticket may have a
// sound of its own, so that the cook stops working on the dish. A ticket with one order among voids
// sounds as an order: the cook must not miss that one.
func onlyVoids(t ticket.Ticket) bool {
	ordered := func(l ticket.Line) bool { return !l.Void }
	return t.Void || len(t.Lines) > 0 && !slices.ContainsFunc(t.Lines, ordered)
}

// printTimeout is how long the printing of one copy of n bytes may take. An image has many bytes for
// few lines, so its lines count, at bytesPerLine each.
func (p *Paper) printTimeout(encoded encodedTicket, n int) time.Duration {
	// About the bytes of a printed line of text, with its styles.
	const bytesPerLine = 64
	return p.o.Pace.Of(min(n, (encoded.lines+p.o.Profile.FeedBeforeCut)*bytesPerLine))
}

// tooFast reports whether the answer behind a copy came before the paper can have moved, and lets people know. Then the
// interface answers and not the engine, and the lines that it holds are lost when it is switched off. Each ticket is
// judged by itself: nothing is concluded from others.
func (p *Paper) tooFast(encoded encodedTicket, took time.Duration) bool {
	// A quarter of the time that the paper of one copy takes to move: no printer moves more than 500 mm in a second,
	// and a line has at least 24 dots, 3 mm.
	least := time.Duration(encoded.lines) * 3 * time.Second / 500 / 4
	if least <= 20*time.Millisecond { // too short to tell printing from a round trip
		return false
	}

	fast := took < least
	p.d.health.update(func(s *Status) { s.TooFast = fast })
	return fast
}

// ahead returns the bytes that belong to no ticket: the cut of the one before, and padding for a printer that gave no
// answer to a hello. It may wait for the rest of a command that broke off unnoticed, and would take as much of this
// ticket for it. ESC @, with which every ticket begins, then clears the line.
func (p *Paper) ahead(s *session.Session) (b []byte) {
	// A file waits for no command's end, and keeps the padding. On a serial line the padding takes about a second, so
	// there it is sent only after an attempt that may have ended inside a command.
	if s.By() == session.NoFence && !transport.IsFile(s.Conn()) &&
		(p.d.maybeInCommand || !transport.IsSerial(s.Conn())) {
		b = escpos.Resync(p.o.Profile) // NULs, then ESC = 1; without the NULs that were sent ahead of its questions
		b = b[min(s.NULs(), len(b)-len(escpos.SelectPrinter())):]
	}
	return append(b, p.d.pendingCut...)
}

// longCommand matches the head of an image or of a QR code: commands with much data.
var longCommand = regexp.MustCompile(`\x1d(v0|\(L|\(k)`)
