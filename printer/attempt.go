package printer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

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
	wait    personWait // while writing
}

// print sends the ticket and waits for its result. A failure leaves the ticket in doubt, unless it
// happens before the first ticket byte was taken: a printer that accepts and drops its clients, because
// a till uses it or it is still starting, has printed nothing.
func (a *attempt) print() (ticket.Proof, error) {
	if err := a.checkConnected(); err != nil {
		a.d.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
		a.d.close(a.s)
		return "", ticket.Untouched(err)
	}
	if err := a.finishPrevious(); err != nil {
		a.d.close(a.s)
		return "", ticket.Untouched(err)
	}
	// Read before the attempt: await may forget the capability when the printer stays silent.
	do, proof := a.sendFenced, a.d.capability.Fence.proof()
	if proof == ticket.Sent {
		do = a.sendUnfenced
	}
	// Only status bytes that come from here on can have been taken for this ticket's answer.
	unexpected := a.s.unexpectedCount()
	if err := do(); err != nil {
		// An attempt that was interrupted, by a stop or in favour of a backup, says nothing about
		// the printer.
		if a.ctx.Err() == nil && !a.s.alive() {
			a.d.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
		}
		a.d.close(a.s)
		// Nothing of the ticket was taken, so there is nothing to resynchronise either.
		if a.sent == 0 {
			return "", ticket.Untouched(err)
		}
		a.d.noteBroken(a.p.o.Profile, a.encoded.bytes())
		return "", err
	}
	a.d.padding = nil // not earlier: the padding may still be in a buffer when the connection breaks
	if proof == ticket.Processed && a.s.unexpectedCount() > unexpected {
		proof = ticket.Sent // it also sends status bytes unasked, so the answer proves nothing
	}
	return proof, nil
}

// droppedWithin is how soon a printer that accepts and drops its clients does drop them: a few round
// trips on a local network.
const droppedWithin = 3 * time.Millisecond

// checkConnected notices that a printer which is asked no question has dropped the connection. Without
// it the ticket would be written to a dead connection and be in doubt. A printer that answered the
// preflight is known to be there. The check comes after begin, because the disk write of begin takes
// most of the time that has to pass anyway; no ticket byte has been sent yet.
func (a *attempt) checkConnected() error {
	// Files, USB and serial devices report a lost device with the next write instead.
	c, ok := a.s.conn.(closeChecker)
	if !ok || len(a.d.capability.RealTime) > 0 {
		return nil
	}
	if left := time.Until(a.s.opened.Add(droppedWithin)); left > 0 {
		switch err := a.s.waitFor(a.ctx, left, never); {
		case a.ctx.Err() != nil:
			return a.writeFailed(len(a.encoded.bytes()), err)
		// The reader saw the connection end, for example with a reset, before PeerClosed could.
		case !errors.Is(err, errNoAnswer) && !errors.Is(err, errWriteOnly):
			return a.writeFailed(len(a.encoded.bytes()), err)
		}
	}
	if err := c.PeerClosed(); err != nil {
		return a.writeFailed(len(a.encoded.bytes()), err)
	}
	return nil
}

// finishPrevious sends what the previous ticket left: padding and its cut. Then it waits for the
// status answers that are outstanding. None of these bytes belongs to this ticket, so a failure here
// leaves it untouched.
func (a *attempt) finishPrevious() error {
	b := append(bytes.Clone(a.d.padding), a.d.pendingCut...)
	if len(b) > 0 {
		if _, _, err := a.write(b, a.p.sendTimeout(len(b))); err != nil {
			a.d.noteBroken(a.p.o.Profile, nil)
			if a.ctx.Err() != nil {
				err = context.Cause(a.ctx)
			}
			return fmt.Errorf("print on %s: end the ticket before: %w", a.p.o.Name, err)
		}
		a.d.pendingCut = nil
	}
	if a.d.capability.Fence == byStatus && a.d.outstanding > 0 {
		if err := a.drainStatusAnswers(); err != nil {
			a.d.noteBroken(a.p.o.Profile, nil)
			return fmt.Errorf("the printer has not answered for the ticket before this one: %w", err)
		}
	}
	return nil
}

// lateAnswerWindow is how long answers that an earlier connection asked for may come after ours.
// Long enough for what the kernel of a USB or serial device still holds; after it, a late answer
// would count as unexpected and lower the proof to sent, which is wrong on the safe side.
const lateAnswerWindow = 500 * time.Millisecond

// drainStatusAnswers waits until the printer has answered every GS r sent so far, so that none of those
// answers is taken for this ticket's. It answers in order (GS r: "Transmit status"; processed when it
// reaches the print buffer): once the newest is answered, all are.
func (a *attempt) drainStatusAnswers() error {
	f, ask := a.s.newFence(byStatus, a.d.issueID)
	if err := a.s.write(a.ctx, ask, answerTimeout); err != nil {
		return a.answerFailed(err)
	}
	if err := a.await(f, a.p.sendTimeout(0)); err != nil {
		return err
	}
	err := a.s.waitFor(a.ctx, lateAnswerWindow, never)
	if !errors.Is(err, errNoAnswer) {
		return a.answerFailed(err)
	}
	a.d.outstanding = 0
	return nil
}

// sendUnfenced is for a printer that answers no fence. It returns when the printer has taken every
// byte and the connection is closed in an orderly way. Without the orderly end, closing could reset
// the connection and discard the tail of the ticket in the printer's network interface: the ticket
// would end without its last lines and without a cut.
func (a *attempt) sendUnfenced() error {
	all := a.encoded.bytes()
	n, left, err := a.write(all, a.p.sendTimeout(len(all)))
	a.sent = n
	if err != nil {
		return a.writeFailed(len(all), err)
	}
	ctx, cancel := context.WithTimeout(a.ctx, left)
	defer cancel()
	if err := a.s.finish(ctx); err != nil {
		return a.writeFailed(len(all), a.s.firstError(err))
	}
	a.d.update(func(s *Status) { s.Connected = false })
	return nil
}

// sendFenced is for a printer that answers a fence. Each copy waits for its own answer before the
// next is sent, so that one unanswered fence never stands for several copies. If a later copy
// fails, the whole ticket is in doubt, and the next attempt prints every copy again.
func (a *attempt) sendFenced() error {
	keep, size := true, 0
	for _, c := range a.encoded.copies {
		size += len(c.Body)
	}
	for _, c := range a.encoded.copies {
		n, left, err := a.write(c.Body, a.p.sendTimeout(len(c.Body)))
		a.sent += n
		if err != nil {
			return a.writeFailed(size, err)
		}
		// The fence is registered only now: a status byte that comes while the ticket is written is no
		// answer to it.
		f, ask := a.s.newFence(a.d.capability.Fence, a.d.issueID)
		// The ticket may have used up its time; the question gets its own, or a slow printer would
		// fail here with everything printed.
		if _, _, err := a.write(ask, max(left, answerTimeout)); err != nil {
			return a.writeFailed(size, err)
		}
		if err := a.await(f, a.p.printTimeout(a.encoded, len(c.Body))); err != nil {
			return err
		}
		a.d.unansweredFences = 0
		if a.s.blocked() { // the last status is older than the answer
			a.askStatus(never)
		}
		// Only now: a cut before the answer could cut through lines that are still being printed,
		// and a ticket that ran out of paper would be cut in two.
		keep = a.cut(c.Cut)
	}
	a.d.update(func(s *Status) { s.Heard = time.Now() })
	// A question sent while waiting may still be unanswered. A session is kept only without such.
	_ = a.s.waitFor(a.ctx, probeNext, func() bool { return !keep || len(a.s.pending) == 0 })
	if keep && a.s.nothingPending() {
		a.d.keep(a.s)
	} else {
		a.d.finishSession(a.s)
	}
	return nil
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
	now := state(c)
	return fmt.Errorf("it is %s (it reports: %s), and this was not fixed within %s; %s: %w",
		stateText(now), c, a.d.o.WaitForPerson, advice(now, false), err)
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

// answerFailed is the error of a ticket that was sent and whose answer did not come.
func (a *attempt) answerFailed(err error) error {
	if a.ctx.Err() != nil {
		return fmt.Errorf("print on %s: interrupted before the printer answered: %w", a.p.o.Name, context.Cause(a.ctx))
	}
	return fmt.Errorf("print on %s: wait for its answer: %w", a.p.o.Name, err)
}
