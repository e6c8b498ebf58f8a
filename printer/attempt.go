package printer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// The result of an attempt depends on how far it came:
//
// If none of the ticket was taken, it is [ticket.Untouched]: the doubt is taken back and no banner
// prints.
//
// If some of it was taken, it is in doubt.
//
// If all of it was taken and the fence was answered, it is printed, whatever happens to the cut and
// to the connection afterwards.

// An attempt is one ticket from begin to its result.
type attempt struct {
	p       *Paper
	d       *Device
	s       *session
	ctx     context.Context
	encoded encodedTicket
	sent    int        // ticket bytes handed to the operating system
	end     int        // of the ticket, in the bytes of the connection
	wait    personWait // while writing
}

// print sends the ticket and waits for its result. A failure leaves the ticket in doubt, unless it
// happens before the first ticket byte was taken: a printer that accepts and drops its clients, because
// a till uses it or it is still starting, has printed nothing.
func (a *attempt) print() (ticket.Proof, error) {
	if err := a.sendAhead(); err != nil {
		a.d.close(a.s)
		return "", ticket.Untouched(err)
	}
	var proof ticket.Proof
	var err error
	if a.s.by == noFence {
		proof, err = ticket.Sent, a.sendUnfenced()
	} else {
		proof, err = a.sendFenced()
	}
	if err != nil {
		// An attempt that was interrupted, by a stop or in favour of a backup, says nothing about
		// the printer.
		if a.ctx.Err() == nil && !a.s.alive() {
			a.d.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
		}
		a.d.close(a.s)
		if a.sent == 0 {
			return "", ticket.Untouched(err)
		}
		return "", err
	}
	a.d.dots = hasLongCommand(a.encoded.bytes())
	return proof, nil
}

// sendAhead sends what belongs to no ticket: the cut of the one before, and padding for a printer that gave
// no answer to a hello. It may wait for the rest of a command that broke off unnoticed, and would take as
// much of this ticket for it. ESC @, with which every ticket begins, then clears the line. A failure here
// leaves the ticket untouched.
func (a *attempt) sendAhead() error {
	var b []byte
	// A file waits for no command's end, and keeps the padding.
	if a.s.by == noFence && !transport.IsFile(a.s.conn) {
		// On a slow line the padding takes about a second, so it follows only what can need it.
		if a.d.dots || !transport.IsSerial(a.s.conn) {
			b = escpos.Resync(a.p.o.Profile)
		}
	}
	b = append(b, a.d.pendingCut...)
	a.d.dots = true // until the ticket is known to have ended outside a command
	if _, _, err := a.write(b, a.p.sendTimeout(len(b))); err != nil {
		if a.ctx.Err() != nil {
			err = context.Cause(a.ctx)
		} else if !a.s.alive() {
			a.d.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
		}
		return fmt.Errorf("print on %s: before the ticket: %w", a.p.o.Name, err)
	}
	a.d.pendingCut = nil
	return nil
}

// hasLongCommand reports whether b has a command with more data than fits into the header of a short one.
func hasLongCommand(b []byte) bool {
	for _, long := range []string{"\x1dv0", "\x1d(L", "\x1d8L", "\x1d(k"} {
		if bytes.Contains(b, []byte(long)) {
			return true
		}
	}
	return false
}

// An acknowledger can tell how many of the bytes that were written the other side has taken. TCP is one.
type acknowledger interface{ Acknowledged() (int, error) }

// sendUnfenced is for a printer that gives no answer behind a ticket. It returns when the printer has taken
// every byte and the connection is closed in an orderly way. Without the orderly end, closing could reset
// the connection and discard the tail of the ticket in the printer's network interface: the ticket
// would end without its last lines and without a cut.
func (a *attempt) sendUnfenced() error {
	all := a.encoded.bytes()
	n, left, err := a.write(all, a.p.sendTimeout(len(all)))
	a.sent = n
	if err != nil {
		return a.writeFailed(len(all), err)
	}
	// A printer that hung meanwhile has taken the ticket into its buffer, and loses it when it is switched off
	// and on. Behind a full buffer the answer takes as long as the printing.
	if a.s.by == noFence && len(a.d.capability.RealTime) > 0 {
		n := a.d.capability.RealTime[0]
		if slices.Contains(a.d.capability.RealTime, 3) { // the cause of an error
			n = 3
		}
		if err := a.s.ask(a.ctx, n, max(left, answerTimeout), never); err != nil {
			return a.answerFailed(err)
		}
		a.d.observe(a.s.condition())
		if c := a.s.condition(); c.Has(escpos.Unrecoverable) {
			return a.stopped(c)
		}
	}
	ctx, cancel := context.WithTimeout(a.ctx, max(left, answerTimeout))
	defer cancel()
	if err := a.s.finish(ctx); err != nil {
		return a.writeFailed(len(all), a.s.firstError(err))
	}
	if !transport.IsFile(a.s.conn) {
		a.d.printedAt = time.Now().Add(a.p.printTime(a.encoded))
	}
	a.d.update(func(s *Status) { s.Connected = false })
	return nil
}

// sendFenced is for a printer that answers a fence. Each copy waits for its own answer before the
// next is sent, so that one unanswered fence never stands for several copies. If a later copy
// fails, the whole ticket is in doubt, and the next attempt prints every copy again.
func (a *attempt) sendFenced() (ticket.Proof, error) {
	keep, size := true, 0
	proof := a.s.by.proof()
	copies := a.encoded.copies
	if a.d.capability.CutOff { // the connection ends after the first copy and before its cut
		copies = []escpos.Encoded{{Body: a.encoded.bytes()}}
	}
	for _, c := range copies {
		size += len(c.Body)
	}
	// Only status bytes that come from here on can be taken for this ticket's answer.
	unexpected := a.s.unexpectedCount()
	for _, c := range copies {
		n, left, err := a.write(c.Body, a.p.sendTimeout(len(c.Body)))
		a.sent += n
		if err != nil {
			return "", a.writeFailed(size, err)
		}
		a.end = a.s.wrote
		got, err := a.await(left, a.p.printTimeout(a.encoded, len(c.Body)))
		if err != nil {
			a.d.pendingCut = c.Cut
			return a.cutOff(err, a.sent == size)
		}
		switch {
		case got == byStatus && a.s.unexpectedCount() > unexpected:
			proof = ticket.Sent // it also sends status bytes unasked, so the answer proves nothing
		case got == byStatus && proof == ticket.Confirmed:
			proof = ticket.Processed
		}
		if a.s.blocked() { // the last status is older than the answer
			a.askStatus(never)
		}
		// Only now: a cut before the answer could cut through lines that are still being printed,
		// and a ticket that ran out of paper would be cut in two.
		keep = a.cut(c.Cut)
	}
	a.d.cutOffs = 0
	a.d.update(func(s *Status) { s.Heard = time.Now() })
	// A question sent while waiting may still be unanswered. A session is kept only without such.
	_ = a.s.waitFor(a.ctx, probeNext, func() bool { return !keep || a.s.settled() })
	if keep {
		a.d.keep(a.s)
	} else {
		a.d.finishSession(a.s)
	}
	return proof, nil
}

// chunkSize is how many bytes are written at a time. Each chunk has the time limit of a ticket of
// that size, so that a long ticket does not wait its whole time limit for a printer that has
// stopped. 1 KiB is the unit of TimeoutPerKiB and less than the 4 KiB buffer of the slowest
// printers, so one that works takes a chunk as soon as it has printed one.
const chunkSize = 1024

// A closeChecker can tell, without waiting, that the other side closed the connection. TCP is one.
type closeChecker interface{ PeerClosed() error }

// write sends b within limit and returns how many bytes were taken and how much of the limit is left.
// Time during which the printer reports that it needs a person does not count, up to WaitForPerson.
func (a *attempt) write(b []byte, limit time.Duration) (n int, left time.Duration, err error) {
	conn := a.s.conn
	// A deadline in the past interrupts a write that is in progress when ctx ends.
	stop := context.AfterFunc(a.ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	// A write to a connection that the printer has closed succeeds the first time and is lost.
	// While nothing of the ticket was sent, noticing it costs no doubt.
	if c, ok := conn.(closeChecker); ok && a.sent == 0 {
		if err := c.PeerClosed(); err != nil {
			return 0, limit, err
		}
	}
	if len(a.s.unsent) > 0 { // the rest of a question
		if err := a.s.write(a.ctx, nil, min(limit, answerTimeout)); err != nil {
			return 0, limit, err
		}
	}
	for n < len(b) {
		part := b[n:min(n+chunkSize, len(b))]
		// Each part has its own limit and all parts share the ticket's.
		due := min(limit, a.p.sendTimeout(len(part)))
		m, took, err := a.writePart(part, due)
		n += m
		limit -= took
		if err != nil {
			return n, limit, err
		}
	}
	return n, limit, nil
}

// writeCheckInterval is how often a blocked write checks whether the printer has reported a reason.
// A printer with its cover open takes no bytes: whether it reports that is what decides between
// waiting for the person and giving up.
const writeCheckInterval = time.Second

// writePart is write for one chunk. took is how much of the limit was used.
func (a *attempt) writePart(b []byte, limit time.Duration) (n int, took time.Duration, err error) {
	for n < len(b) {
		start := time.Now()
		if err := a.s.conn.SetWriteDeadline(start.Add(min(writeCheckInterval, limit-took))); err != nil {
			return n, took, err
		}
		if a.ctx.Err() != nil { // checked after SetWriteDeadline, which may have undone AfterFunc's
			return n, took, a.ctx.Err()
		}
		m, err := a.s.conn.Write(b[n:])
		n += max(m, 0)
		a.s.wrote += max(m, 0)
		switch {
		case err == nil && n < len(b):
			// A driver that takes less than it was given without an error would leave a hole in the
			// ticket.
			return n, took, io.ErrShortWrite
		case err == nil:
			a.wait.exceeded(a.s.blocked(), 0) // the write succeeded, whatever the status says
			return n, took + time.Since(start), nil
		case a.ctx.Err() != nil, !errors.Is(err, os.ErrDeadlineExceeded):
			return n, took + time.Since(start), err
		}
		if a.s.blocked() {
			if a.wait.exceeded(true, a.d.o.WaitForPerson) {
				return n, took, a.waitedTooLong(err)
			}
			continue
		}
		a.wait.exceeded(false, 0)
		if took += time.Since(start); took >= limit {
			return n, took, err
		}
	}
	return n, took, nil
}

// waitedTooLong is the error when WaitForPerson has passed. The ticket is in doubt then: its first
// lines may be on the paper, and the rest in the printer's buffer prints when the person comes
// after all.
func (a *attempt) waitedTooLong(err error) error {
	c := a.s.condition()
	text, advice := a.d.describe(state(c))
	return fmt.Errorf("it is %s (it reports: %s), and this was not fixed within %s; %s: %w",
		text, c, a.d.o.WaitForPerson, advice, err)
}

// writeFailed is the error of a ticket of size bytes that could not be sent. How many of the sent bytes
// were printed is unknown, unless none were sent.
func (a *attempt) writeFailed(size int, err error) error {
	if a.ctx.Err() != nil {
		return fmt.Errorf("print on %s: interrupted after %d of %d bytes: %w",
			a.p.o.Name, a.sent, size, context.Cause(a.ctx))
	}
	return fmt.Errorf("print on %s: %d of %d bytes sent: %w", a.p.o.Name, a.sent, size, err)
}

// stopped is the error of a ticket behind which the printer reports that it must be switched off and on: what is
// left in its buffer is lost.
func (a *attempt) stopped(c escpos.Condition) error {
	_, advice := a.d.describe(Unrecoverable)
	return a.answerFailed(fmt.Errorf("it stopped (it reports: %s); %s", c, advice))
}

// answerFailed is the error of a ticket that was sent and whose answer did not come.
func (a *attempt) answerFailed(err error) error {
	if a.ctx.Err() != nil {
		return fmt.Errorf("print on %s: interrupted before the printer answered: %w", a.p.o.Name, context.Cause(a.ctx))
	}
	return fmt.Errorf("print on %s: wait for its answer: %w", a.p.o.Name, err)
}
