// Package printer puts one ticket on paper: composed for the paper's width, encoded for
// the model, sent over its wire, and claimed for no more than was seen.
//
// [Paper] is a station of the dispatcher. Which bytes and which wire is decided here, at
// each attempt; what the ticket says was decided long before.
//
// The order of things in [Paper.Print] is the point of the package:
//
//  1. compose and encode: a failure here is permanent, nothing was touched;
//  2. dial: a failure is clean, not a byte has gone out;
//     (asking the printer for its status, and waiting for paper, belongs here: status
//     queries are no ticket bytes, and a printer that is not ready costs no attempt)
//  3. begin: doubt is on disk from here on;
//  4. write, then finish: a failure leaves the ticket in doubt;
//     (asking the printer to confirm belongs after the write, where it turns sent into
//     processed or confirmed; so does keeping the connection for the next ticket)
//  5. close.
package printer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// Options say what one printer is and how patient to be with it. Name, Dialer and
// Profile are required.
type Options struct {
	Name    string // the station's name; printed at the foot of every ticket
	Dialer  transport.Dialer
	Profile profile.Profile
	Columns int          // of normal size; 0 is what the profile says
	Logger  *slog.Logger // nil discards
	Turn    Turn         // of the device, shared by all Papers that stand for it; nil makes one

	// ConnectTimeout bounds the dial; 0 is 10 s.
	ConnectTimeout time.Duration
	// Patience and PatiencePerKiB bound the sending of n KiB: Patience + n·PatiencePerKiB.
	// 0 is 1 min and 40 s.
	//
	// An impact printer prints about a line a second when it doubles sizes and changes
	// ribbons: 1 KiB, up to 40 short lines, takes it 40 s. It has 4 KiB of buffer, which the
	// ticket before may still fill; a minute lets it make room. Giving up too early is worse than
	// late: it makes a duplicate, while other stations print on.
	Patience, PatiencePerKiB time.Duration
}

// Paper prints tickets on one printer, one at a time. It is safe for concurrent use.
type Paper struct {
	o    Options
	turn Turn // of the device
	draw func(ticket.Delivery) []byte
}

// A Turn is who may use a device now. Papers that stand for one device share one, so that
// two lines that end at one printer print one ticket after the other, whatever it does
// with a second client.
type Turn chan struct{}

// NewTurn makes the Turn of a device.
func NewTurn() Turn { return make(Turn, 1) }

// NewPaper checks o and fills in its defaults. It panics when a required option is
// missing: that is a mistake in the wiring, not in the configuration.
func NewPaper(o Options) *Paper {
	switch {
	case o.Name == "":
		panic("printer: Options.Name is empty")
	case o.Dialer == nil:
		panic("printer: Options.Dialer is nil")
	case o.Profile.Name == "":
		panic("printer: Options.Profile is empty")
	}
	if o.Columns <= 0 {
		o.Columns = o.Profile.Columns
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = time.Minute
	}
	if o.PatiencePerKiB <= 0 {
		o.PatiencePerKiB = 40 * time.Second
	}
	printable := func(s string) string { return escpos.Printable(s, o.Profile) }
	draw := func(d ticket.Delivery) []byte {
		return escpos.Encode(layout.ComposeFor(d, o.Columns, o.Name, printable), o.Profile)
	}
	if o.Turn == nil {
		o.Turn = NewTurn()
	}
	return &Paper{o: o, turn: o.Turn, draw: draw}
}

// Print puts one ticket on paper and says how much is known about that. begin is called
// once, when the printer is connected and before the first byte; if it fails, nothing is
// sent.
//
// An error before begin has returned nil means that nothing came out; [ticket.IsPermanent]
// if no attempt can cure it. An error after it means that nobody knows. When ctx ends,
// Print returns promptly, with ctx's cause in the error.
func (p *Paper) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	body, err := p.compose(d)
	if err != nil {
		return "", ticket.Permanent(err)
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return "", fmt.Errorf("wait for %s: %w", p.o.Name, context.Cause(ctx))
	}

	conn, err := p.dial(ctx)
	if err != nil {
		return "", err
	}
	// After a Finish there is nothing left to go wrong; before it, Close gives up what the
	// printer has not taken, and the error at hand says more than Close's.
	defer conn.Close()

	// Doubt. A crash before begin has committed: nothing was sent, the next attempt carries
	// no banner. A crash after it: something may have been sent, the next one carries it.
	if err := begin(ctx); err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	if err := p.send(ctx, conn, body); err != nil {
		return "", err
	}
	return ticket.Sent, nil
}

// compose draws the ticket. Tickets are hostile; one that finds a mistake in the drawing
// is buried with the reason, and the line goes on with the next. It is not printed in some
// simpler way: what broke the drawing might be drawn wrongly, a void as an order.
func (p *Paper) compose(d ticket.Delivery) (body []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.o.Logger.Debug("composing a ticket panicked", "printer", p.o.Name, "job", d.Job, "stack", string(debug.Stack()))
			body, err = nil, fmt.Errorf("compose ticket: %v: this is a mistake in ticketrail, please report it with the ticket", r)
		}
	}()
	body = p.draw(d)
	if len(body) == 0 {
		return nil, errors.New("compose ticket: it came out empty: this is a mistake in ticketrail, please report it with the ticket")
	}
	return body, nil
}

func (p *Paper) dial(ctx context.Context) (transport.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.ConnectTimeout)
	defer cancel()
	return p.o.Dialer.Dial(ctx)
}

// patience is how long sending n bytes may take.
func (p *Paper) patience(n int) time.Duration {
	return p.o.Patience + time.Duration(n)*p.o.PatiencePerKiB/1024
}

// chunk is how many bytes are written at a time. Each has to go out within what a ticket
// of that size may take, so that a long ticket does not wait its whole time for a printer
// that has stopped.
const chunk = 1024

// A hangUp is a connection that can say without waiting that its other side has gone.
type hangUp interface{ HungUp() error }

// send writes the ticket and sees it off. Whatever goes wrong here leaves it in doubt, but
// for what goes wrong before the first byte was taken: a printer that accepts and drops
// its clients, because another till has it or it is still starting, has printed nothing.
func (p *Paper) send(ctx context.Context, conn transport.Conn, body []byte) error {
	limit := p.patience(len(body))
	over := time.Now().Add(limit)
	// Past deadlines interrupt the write that is under way when ctx ends.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()

	if c, ok := conn.(hangUp); ok {
		if err := c.HungUp(); err != nil {
			return p.broke(ctx, 0, len(body), err)
		}
	}
	for sent := 0; sent < len(body); {
		part := body[sent:min(sent+chunk, len(body))]
		due := time.Now().Add(p.patience(len(part)))
		if due.After(over) {
			due = over
		}
		if err := conn.SetWriteDeadline(due); err != nil {
			return p.broke(ctx, sent, len(body), err)
		}
		if ctx.Err() != nil { // after the deadline was set: see AfterFunc
			return p.broke(ctx, sent, len(body), ctx.Err())
		}
		n, err := conn.Write(part)
		sent += n
		if err == nil && n < len(part) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return p.broke(ctx, sent, len(body), err)
		}
	}
	fctx, cancel := context.WithDeadline(ctx, over)
	defer cancel()
	if err := conn.Finish(fctx); err != nil {
		return p.broke(ctx, len(body), len(body), err)
	}
	return nil
}

// broke words what ended a ticket half way. sent counts what left this machine's hands;
// how much of it is on paper, nobody knows, unless it was nothing.
func (p *Paper) broke(ctx context.Context, sent, of int, err error) error {
	if ctx.Err() != nil {
		err = fmt.Errorf("print on %s: interrupted after %d of %d bytes: %w", p.o.Name, sent, of, context.Cause(ctx))
	} else {
		err = fmt.Errorf("print on %s: %d of %d bytes sent: %w", p.o.Name, sent, of, err)
	}
	if sent == 0 {
		return ticket.Untouched(err)
	}
	return err
}
