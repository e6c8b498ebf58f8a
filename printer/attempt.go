package printer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	from    int // where the ticket begins in the bytes of the connection
	// stoppedAt is when the printer first reported that it needs a person.
	stoppedAt time.Time
}

// sent is how many bytes of the ticket, and of the questions behind it, were handed to the operating system.
func (a *attempt) sent() int { return max(0, a.s.wrote-a.from) }

// print sends the ticket and waits for its result. A failure leaves the ticket in doubt, unless it
// happens before the first ticket byte was taken: a printer that accepts and drops its clients, because
// a till uses it or it is still starting, has printed nothing.
func (a *attempt) print() (ticket.Proof, error) {
	all := a.encoded.bytes()
	ahead := a.ahead()
	a.d.dots = true // until the ticket is known to have ended outside a command
	a.from = a.s.wrote + len(a.s.unsent) + len(ahead)
	_, err := a.write(ahead, a.p.sendTimeout(len(ahead)))
	var proof ticket.Proof
	if err == nil {
		a.d.pendingCut = nil
		if a.s.by == noFence {
			proof, err = ticket.Sent, a.sendUnfenced(all)
		} else {
			proof, err = a.sendFenced()
		}
	}
	if err == nil {
		a.d.dots = hasLongCommand(all)
		return proof, nil
	}
	// An attempt that was interrupted, by a stop or in favour of a backup, says nothing about the printer.
	if a.ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %w", context.Cause(a.ctx))
	} else if errors.Is(err, errNotPrinter) {
		_ = a.d.notPrinter(err)
	} else if !a.s.alive() {
		a.d.health.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
	}
	a.d.close(a.s)
	err = fmt.Errorf("print on %s: %d of %d bytes sent: %w", a.p.o.Name, min(a.sent(), len(all)), len(all), err)
	if a.sent() == 0 {
		err = ticket.Untouched(err)
	}
	return "", err
}

// ahead is what belongs to no ticket: the cut of the one before, and padding for a printer that gave no answer to a
// hello. It may wait for the rest of a command that broke off unnoticed, and would take as much of this ticket for
// it. ESC @, with which every ticket begins, then clears the line.
func (a *attempt) ahead() (b []byte) {
	// A file waits for no command's end, and keeps the padding. On a slow line the padding takes about a second,
	// so it follows only what can need it.
	if a.s.by == noFence && !transport.IsFile(a.s.conn) && (a.d.dots || !transport.IsSerial(a.s.conn)) {
		b = escpos.Resync(a.p.o.Profile)
		b = b[min(a.s.nuls, len(b)-len(escpos.SelectPrinter())):] // those before its questions count
	}
	return append(b, a.d.pendingCut...)
}

// hasLongCommand reports whether b has a command with more data than fits into the header of a short one.
func hasLongCommand(b []byte) bool {
	for _, long := range []string{"\x1dv0", "\x1d(L", "\x1d(k"} {
		if bytes.Contains(b, []byte(long)) {
			return true
		}
	}
	return false
}

// sendUnfenced is for a printer that gives no answer behind a ticket. It returns when the printer has taken
// every byte and the connection is closed in an orderly way. Without the orderly end, closing could reset
// the connection and discard the tail of the ticket in the printer's network interface: the ticket
// would end without its last lines and without a cut.
func (a *attempt) sendUnfenced(all []byte) error {
	left, err := a.write(all, a.p.sendTimeout(len(all)))
	if err != nil {
		return err
	}
	left = max(left, answerTimeout)
	// A printer that hung meanwhile has taken the ticket into its buffer, and loses it when it is switched off
	// and on. Behind a full buffer the answer takes as long as the printing.
	if err := a.askStatus(left, never); err != nil {
		return err
	}
	if a.s.condition().Has(escpos.Unrecoverable) {
		return a.stopped()
	}
	ctx, cancel := context.WithTimeout(a.ctx, left)
	defer cancel()
	if err := a.s.finish(ctx); err != nil {
		return err
	}
	if errors.Is(a.s.err, errNotPrinter) { // its reading has ended
		return a.s.err
	}
	if !transport.IsFile(a.s.conn) {
		a.d.printedAt = time.Now().Add(a.p.printTime(a.encoded))
	}
	a.d.health.update(func(s *Status) { s.Connected = false })
	return nil
}

// sendFenced is for a printer that answers a fence. Each copy waits for its own answer before the
// next is sent, so that one unanswered fence never stands for several copies. If a later copy
// fails, the whole ticket is in doubt, and the next attempt prints every copy again.
func (a *attempt) sendFenced() (ticket.Proof, error) {
	proof := ticket.Confirmed
	// Only status bytes that come from here on can be taken for this ticket's answer.
	unexpected := a.s.unexpectedCount()
	for _, c := range a.encoded.copies {
		began := time.Now()
		left, err := a.write(c.Body, a.p.sendTimeout(len(c.Body)))
		if err != nil {
			return "", err
		}
		got, err := a.await(left, a.p.printTimeout(a.encoded, len(c.Body)))
		// Until it is known that the printer came to the cut, it is repeated before the next ticket.
		a.d.pendingCut, a.s.cut = c.Cut, false
		if err != nil {
			return "", a.unanswered(err)
		}
		switch {
		case got == byStatus && a.s.unexpectedCount() > unexpected:
			proof = ticket.Sent // it also sends status bytes unasked, so the answer proves nothing
		case a.tooFast(began):
			proof = ticket.Sent
		case got == byStatus && proof == ticket.Confirmed:
			proof = ticket.Processed
		}
		if a.s.blocked() { // the last status is older than the answer
			_ = a.askStatus(answerTimeout, never)
		}
		// Only now: a cut before the answer could cut through lines that are still being printed,
		// and a ticket that ran out of paper would be cut in two. Its failure does not change the result.
		_, err = a.write(c.Cut, cutTimeout)
		a.s.cut = err == nil
	}
	a.d.keep(a.s)
	return proof, nil
}

// tooFast reports whether the answer behind a copy came before the paper can have moved, and lets people know. Then
// the interface answers and not the engine, and what it holds is lost when it is switched off. Each ticket is judged by
// itself: nothing is concluded from others.
func (a *attempt) tooFast(began time.Time) bool {
	least := a.p.leastPrintTime(a.encoded)
	if least == 0 {
		return false
	}
	fast := a.s.answeredAt().Sub(began) < least
	a.d.health.update(func(s *Status) { s.TooFast = fast })
	return fast
}

// cutTimeout is how long the sending of a cut may take once everything before it is printed.
const cutTimeout = 5 * time.Second

// chunkSize is how many bytes are written at a time. Each chunk has the time limit of a ticket of
// that size, so that a long ticket does not wait its whole time limit for a printer that has
// stopped. 1 KiB is the unit of TimeoutPerKiB and less than the 4 KiB buffer of the slowest
// printers, so one that works takes a chunk as soon as it has printed one.
const chunkSize = 1024

// A closeChecker can tell, without waiting, that the other side closed the connection. TCP is one.
type closeChecker interface{ PeerClosed() error }

// write sends b within limit and returns how much of the limit is left. Time during which the printer reports
// that it needs a person does not count, up to WaitForPerson.
func (a *attempt) write(b []byte, limit time.Duration) (left time.Duration, err error) {
	// A write to a connection that the printer has closed succeeds the first time and is lost.
	// While nothing of the ticket was sent, noticing it costs no doubt.
	if c, ok := a.s.conn.(closeChecker); ok && a.sent() == 0 {
		if err := c.PeerClosed(); err != nil {
			return limit, err
		}
	}
	for part := range slices.Chunk(b, chunkSize) {
		// Each part has its own limit and all parts share the ticket's.
		took, err := a.writePart(part, min(limit, a.p.sendTimeout(len(part))))
		limit -= took
		if err != nil {
			return limit, err
		}
	}
	return limit, nil
}

// writeCheckInterval is how often a blocked write checks whether the printer has reported a reason.
// A printer with its cover open takes no bytes: whether it reports that is what decides between
// waiting for the person and giving up.
const writeCheckInterval = time.Second

// writePart is write for one chunk. took is how much of the limit was used.
func (a *attempt) writePart(b []byte, limit time.Duration) (took time.Duration, err error) {
	for {
		start := time.Now()
		err := a.s.write(a.ctx, b, min(writeCheckInterval, limit-took))
		b = nil // the session has the rest
		if err == nil || !timedOut(err) {
			return took + time.Since(start), err
		}
		blocked, werr := a.waitForPerson(err)
		if werr != nil {
			return took, werr
		}
		if !blocked {
			if took += time.Since(start); took >= limit {
				return took, err
			}
		}
	}
}

// waitForPerson reports whether the printer has reported that it needs a person, as far as is known: with a full
// buffer it may not read the question. The error is for when WaitForPerson has passed since the first such report,
// because of err. The ticket is in doubt then: its first lines may be on the paper, and the rest in the printer's
// buffer prints when the person comes after all.
func (a *attempt) waitForPerson(err error) (bool, error) {
	if !a.s.blocked() {
		return false, nil
	}
	if a.stoppedAt.IsZero() {
		a.stoppedAt = time.Now()
	}
	if time.Since(a.stoppedAt) < a.d.o.WaitForPerson {
		return true, nil
	}
	c := a.s.condition()
	text, advice := a.d.health.describe(state(c))
	return true, fmt.Errorf("it is %s (it reports: %s), and this was not fixed within %s; %s: %w",
		text, c, a.d.o.WaitForPerson, advice, err)
}

// stopped is the error of a ticket behind which the printer reports that it must be switched off and on: what is
// left in its buffer is lost.
func (a *attempt) stopped() error {
	_, advice := a.d.health.describe(Unrecoverable)
	return fmt.Errorf("it stopped (it reports: %s); %s", a.s.condition(), advice)
}
