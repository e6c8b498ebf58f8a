// Package printer puts one ticket on paper: composed for the paper's width, encoded for
// the model, sent over its wire, and claimed for no more than was seen.
//
// [Paper] is a station of the dispatcher. Which bytes and which wire is decided here, at
// each attempt; what the ticket says was decided long before. [Device] is the printer
// behind it, which several stations may share: a wire, one owner at a time, what it was
// found able to say, and how it is.
//
// The order of things in [Paper.Print] is the point of the package:
//
//  1. compose and encode: a failure here is permanent, nothing was touched;
//  2. wait for the turn; take the connection that lingers from the ticket before, or dial: a
//     failure is clean, not a byte has gone out;
//  3. ask the printer what it can do, if nobody knows, and how it is. Questions are no ticket
//     bytes: a printer that lacks paper, is open or serves somebody else costs no attempt;
//  4. begin: doubt is on disk from here on;
//  5. write, and behind the last line ask the printer to say when it gets there. While it does
//     not, ask why: a person who puts in paper is waited for. A failure leaves the ticket in doubt;
//  6. cut, and keep the connection for a moment.
//
// A printer that cannot be asked gets its ticket too: then all that is known of it is that
// the printer took it.
package printer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// Options say what one printer is and how patient to be with it. Name, Profile and Device are
// required.
type Options struct {
	Name    string // the station's name; printed at the foot of every ticket
	Profile profile.Profile
	Columns int          // of normal size; 0 is what the profile says
	Logger  *slog.Logger // nil discards

	// Device is the printer. Papers that end at one printer share it.
	Device *Device

	// Layout is how tickets look; Columns, Printer, Printable, Copy and Copies are filled in.
	Layout layout.Options
	Copies int // of every ticket; 0 is 1
	// Buzz and BuzzVoid are how often the buzzer sounds for a ticket and for a cancellation.
	Buzz, BuzzVoid int
	Drawer         *raster.Drawer // draws what the printer has no letters for; nil: nobody does

	// Patience and PatiencePerKiB bound the sending of n KiB, and then the printing:
	// Patience + n·PatiencePerKiB each. 0 is 1 min and 40 s.
	//
	// An impact printer prints about a line a second when it doubles sizes and changes
	// ribbons: 1 KiB, up to 40 short lines, takes it 40 s. It has 4 KiB of buffer, which the
	// ticket before may still fill; a minute lets it make room. Giving up too early is worse than
	// late: it makes a duplicate, while other stations print on.
	Timeout, TimeoutPerKiB time.Duration
}

// Paper prints tickets on one printer, one at a time. It is safe for concurrent use.
type Paper struct {
	o      Options
	d      *Device
	render func(d ticket.Delivery, asb bool) job
}

// A job is a ticket as it is sent.
type job struct {
	copies []escpos.Ticket
	lines  int  // of one copy, in lines of normal height
	asb    bool // the printer is told to push its status
}

// bytes is all of it in one piece.
func (j job) bytes() (all []byte) {
	for _, c := range j.copies {
		all = append(append(all, c.Body...), c.Cut...)
	}
	return all
}

// cut is what parts it from what comes after.
func (j job) cut() []byte { return j.copies[len(j.copies)-1].Cut }

// A Turn is who may use a printer now. Devices that stand for one printer share one: see
// DeviceOptions.Turn.
type Lock chan struct{}

// NewTurn makes the Turn of a device.
func NewLock() Lock { return make(Lock, 1) }

// NewPaper checks o and fills in its defaults. It panics when a required option is
// missing: that is a mistake in the wiring, not in the configuration.
func NewPaper(o Options) *Paper {
	switch {
	case o.Name == "":
		panic("printer: Options.Name is empty")
	case o.Device == nil:
		panic("printer: Options.Device is nil")
	case o.Profile.Name == "":
		panic("printer: Options.Profile is empty")
	}
	if o.Columns <= 0 {
		o.Columns = o.Profile.Columns
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.TimeoutPerKiB <= 0 {
		o.TimeoutPerKiB = 40 * time.Second
	}
	o.Copies = max(o.Copies, 1)
	p := &Paper{o: o, d: o.Device}
	p.render = p.encode
	return p
}

// Print puts one ticket on paper and says how much is known about that. begin is called
// once, when the printer is connected and ready and before the first byte; if it fails,
// nothing is sent.
//
// The proof is ticket.Confirmed if the printer said, with an id made for this ticket, that it
// printed it; ticket.Processed if it answered a question that was queued behind it, and had
// paper; ticket.Sent if it took every byte and cannot say more.
//
// An error before begin has returned nil means that nothing came out: [ticket.IsNotReady]
// if it is a person, or a till, that is waited for, [ticket.IsPermanent] if no attempt can cure
// it. An error after it means that nobody knows, unless it is [ticket.IsUntouched]. When
// ctx ends, Print returns promptly, with ctx's cause in the error; a ticket that was proved by
// then is out, and no error.
func (p *Paper) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	j, err := p.compose(d, p.d.pushesStatus())
	if err != nil {
		return "", ticket.Permanent(err)
	}
	if err := p.d.acquire(ctx); err != nil {
		return "", err
	}
	defer p.d.unlock()
	s, err := p.d.connect(ctx)
	if err != nil {
		return "", err
	}
	defer func() {
		if r := recover(); r != nil { // nobody else would let go of the printer
			p.d.close(s)
			panic(r)
		}
	}()
	if j.asb != p.d.capability.ASB { // found out just now
		if j, err = p.compose(d, p.d.capability.ASB); err != nil {
			p.d.keepOrClose(s)
			return "", ticket.Permanent(err)
		}
	}
	// Doubt. A crash before begin has committed: nothing was sent, the next attempt carries
	// no banner. A crash after it: something may have been sent, the next one carries it.
	if err := begin(ctx); err != nil {
		p.d.keepOrClose(s)
		return "", fmt.Errorf("begin: %w", err)
	}
	a := &attempt{p: p, d: p.d, s: s, ctx: ctx, job: j}
	// What came before the start may have ended half way, a ticket of another station too. A file
	// waits for nothing, and would keep the padding.
	if !p.d.begunOnce && !transport.IsFile(s.conn) {
		p.d.padding = escpos.Resync(p.o.Profile)
	}
	p.d.begunOnce = true
	return a.print()
}

// compose draws the ticket. Tickets are hostile; one that finds a mistake in the drawing
// is buried with the reason, and the line goes on with the next. It is not printed in some
// simpler way: what broke the drawing might be drawn wrongly, a void as an order.
func (p *Paper) compose(d ticket.Delivery, asb bool) (j job, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.o.Logger.Debug("composing a ticket panicked", "printer", p.o.Name, "job", d.Job, "stack", string(debug.Stack()))
			j, err = job{}, fmt.Errorf("compose ticket: %v: this is a mistake in ticketrail, please report it with the ticket", r)
		}
	}()
	j = p.render(d, asb)
	for _, c := range j.copies {
		if len(c.Body) == 0 {
			j.copies = nil
		}
	}
	if len(j.copies) == 0 {
		return job{}, errors.New("compose ticket: it came out empty: this is a mistake in ticketrail, please report it with the ticket")
	}
	return j, nil
}

// encode composes every copy and writes it as bytes.
func (p *Paper) encode(d ticket.Delivery, asb bool) job {
	j := job{asb: asb}
	eo := escpos.Options{Profile: p.o.Profile, Drawer: p.o.Drawer, ASB: asb, Buzz: p.o.Buzz}
	if onlyVoids(d.Ticket) {
		eo.Buzz, eo.BuzzVoid = p.o.BuzzVoid, true
	}
	lo := p.o.Layout
	lo.Columns, lo.Printer, lo.Copies = p.o.Columns, p.o.Name, p.o.Copies
	lo.Printable = func(s string) string { return escpos.Printable(s, eo) }
	for k := range p.o.Copies {
		lo.Copy = k + 1
		lines := layout.ComposeWith(d, lo)
		j.copies = append(j.copies, escpos.EncodeTicket(lines, eo))
		eo.Buzz = 0 // once for all copies
		if k == 0 {
			for _, l := range lines {
				j.lines += l.Height()
			}
		}
	}
	return j
}

// onlyVoids says that the ticket takes back and orders nothing.
func onlyVoids(t ticket.Ticket) bool {
	if t.Void || t.Kind == ticket.Correction {
		return true
	}
	for _, l := range t.Lines {
		if !l.Void {
			return false
		}
	}
	return len(t.Lines) > 0
}

// patience is how long sending, or printing, n bytes may take.
func (p *Paper) sendTimeout(n int) time.Duration {
	return p.o.Timeout + time.Duration(n)*p.o.TimeoutPerKiB/1024
}

// printing is how long the printing of a copy may take. Dots are many bytes and few lines.
func (p *Paper) printTimeout(j job, n int) time.Duration {
	const bytesPerLine = 64
	if j.lines > 0 {
		n = min(n, (j.lines+p.o.Profile.FeedBeforeCut)*bytesPerLine)
	}
	return p.sendTimeout(n)
}
