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

// An attempt is one ticket on its way, from begin on.
type attempt struct {
	p    *Paper
	d    *Device
	s    *session
	ctx  context.Context
	job  job
	sent int        // bytes of the ticket that left this machine's hands
	wait personWait // for a person, while it is written
}

// print sends the ticket and sees it off. Whatever goes wrong leaves it in doubt, but for what
// goes wrong before the first byte was taken: a printer that accepts and drops its clients,
// because another till has it or it is still starting, has printed nothing.
func (a *attempt) print() (ticket.Proof, error) {
	if err := a.checkConnected(); err != nil {
		a.d.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
		a.d.close(a.s)
		return "", ticket.Untouched(err)
	}
	if err := a.finishLast(); err != nil {
		a.d.close(a.s)
		return "", ticket.Untouched(err)
	}
	do, proof := a.sendFenced, a.d.capability.Fence.proof()
	if proof == ticket.Sent {
		do = a.sendUnfenced
	}
	strays := a.s.unexpectedCount()
	if err := do(); err != nil {
		if a.ctx.Err() == nil && !a.s.alive() {
			a.d.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
		}
		a.d.close(a.s)
		if a.sent == 0 {
			return "", ticket.Untouched(err)
		}
		a.d.noteBroken(a.p.o.Profile, a.job.bytes())
		return "", err
	}
	a.d.padding = nil // not before: what was sent may lie in a buffer when the connection breaks
	if proof == ticket.Processed && a.s.unexpectedCount() > strays {
		proof = ticket.Sent // it also answers what nobody asked: then an answer says nothing
	}
	return proof, nil
}

// droppedWithin is how soon a printer that takes connections only to drop them does so: a few
// round trips of a kitchen's network.
const droppedWithin = 3 * time.Millisecond

// stays sees whether a printer that is asked nothing has dropped the connection: what is
// written to it then leaves this machine all the same, and would be in doubt. One that
// answered is known to be there. Looking comes after begin, not before: writing the doubt
// down takes most of the time that has to pass anyway, and nothing has been sent yet.
func (a *attempt) checkConnected() error {
	c, ok := a.s.conn.(closeChecker)
	if !ok || len(a.d.capability.RealTime) > 0 {
		return nil
	}
	if left := time.Until(a.s.opened.Add(droppedWithin)); left > 0 {
		switch err := a.s.waitFor(a.ctx, left, never); {
		case a.ctx.Err() != nil:
			return a.writeFailed(len(a.job.bytes()), err)
		case !errors.Is(err, errNoAnswer) && !errors.Is(err, errOneWay):
			return a.writeFailed(len(a.job.bytes()), err)
		}
	}
	if err := c.PeerClosed(); err != nil {
		return a.writeFailed(len(a.job.bytes()), err)
	}
	return nil
}

// clear sends what the ticket before left to do. None of it is this ticket: it is still
// untouched.
func (a *attempt) finishLast() error {
	b := append(bytes.Clone(a.d.padding), a.d.pendingCut...)
	if len(b) > 0 {
		if _, _, err := a.write(b, a.p.sendTimeout(len(b))); err != nil {
			a.d.noteBroken(a.p.o.Profile, nil)
			if a.ctx.Err() != nil {
				err = context.Cause(a.ctx)
			}
			return fmt.Errorf("print on %s: clear away the last ticket: %w", a.p.o.Name, err)
		}
		a.d.pendingCut = nil
	}
	if a.d.capability.Fence == byStatus && a.d.outstanding > 0 {
		if err := a.settleStatus(); err != nil {
			a.d.noteBroken(a.p.o.Profile, nil)
			return fmt.Errorf("what became of the ticket before this one is not settled: %w", err)
		}
	}
	return nil
}

// straggling is how long answers that an earlier connection is owed may come after ours.
const lateAnswerWindow = 500 * time.Millisecond

// settle waits until a printer has answered every GS r that was asked before, so that no
// such answer is taken for this ticket's. They are answered in turn: once ours is, all are.
func (a *attempt) settleStatus() error {
	f, ask := a.s.newFence(byStatus, a.d.issueID)
	if err := a.s.write(a.ctx, ask, answerTimeout); err != nil {
		return a.answerFailed(err)
	}
	if err := a.await(f, a.p.sendTimeout(0)); err != nil {
		return err
	}
	settled := a.s.waitFor(a.ctx, lateAnswerWindow, never)
	if !errors.Is(settled, errNoAnswer) {
		return a.answerFailed(settled)
	}
	a.d.outstanding = 0
	return nil
}

// plain is for a printer that says nothing of its tickets: it is waited for until it has taken
// every byte, and then left in order.
func (a *attempt) sendUnfenced() error {
	all := a.job.bytes()
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

// fenced is for a printer that says when it has printed. Copies go out one after the
// other, so that the printer is never further ahead than one fence can tell.
func (a *attempt) sendFenced() error {
	keep, size := true, 0
	for _, c := range a.job.copies {
		size += len(c.Body)
	}
	for _, c := range a.job.copies {
		n, left, err := a.write(c.Body, a.p.sendTimeout(len(c.Body)))
		a.sent += n
		if err != nil {
			return a.writeFailed(size, err)
		}
		// Only now: an answer to GS r that comes while the ticket is still being written is none.
		f, ask := a.s.newFence(a.d.capability.Fence, a.d.issueID)
		if _, _, err := a.write(ask, max(left, answerTimeout)); err != nil {
			return a.writeFailed(size, err)
		}
		if err := a.await(f, a.p.printTimeout(a.job, len(c.Body))); err != nil {
			return err
		}
		a.d.unansweredFences = 0
		if a.s.blocked() { // its last words are older than its answer
			a.askStatus(never)
		}
		keep = a.cut(c.Cut)
	}
	a.d.update(func(s *Status) { s.Heard = time.Now() })
	_ = a.s.waitFor(a.ctx, probeNext, func() bool { return !keep || len(a.s.pending) == 0 })
	if keep && a.s.nothingPending() {
		a.d.park(a.s)
	} else {
		a.d.finishSession(a.s)
	}
	return nil
}

// chunk is how many bytes are written at a time. Each has to go out within what a ticket
// of that size may take, so that a long ticket does not wait its whole time for a printer
// that has stopped.
const chunkSize = 1024

// A hangUp is a connection that can say without waiting that its other side has gone.
type closeChecker interface{ PeerClosed() error }

// write sends b within limit and returns how much of it was taken and how much of the time is
// left. The time during which the printer says that a person must see to it does not count,
// up to WaitForPerson.
func (a *attempt) write(b []byte, limit time.Duration) (n int, left time.Duration, err error) {
	conn := a.s.conn
	// Past deadlines interrupt the write that is under way when ctx ends.
	stop := context.AfterFunc(a.ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if c, ok := conn.(closeChecker); ok && a.sent == 0 {
		if err := c.PeerClosed(); err != nil {
			return 0, limit, err
		}
	}
	if len(a.s.unsent) > 0 { // of a question
		if err := a.s.write(a.ctx, nil, min(limit, answerTimeout)); err != nil {
			return 0, limit, err
		}
	}
	for n < len(b) {
		part := b[n:min(n+chunkSize, len(b))]
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

// glance is how often a write that does not get on looks whether the printer said why.
const writeCheckInterval = time.Second

// writePart is write for one chunk. It returns how much of the time was used.
func (a *attempt) writePart(b []byte, limit time.Duration) (n int, took time.Duration, err error) {
	for n < len(b) {
		start := time.Now()
		if err := a.s.conn.SetWriteDeadline(start.Add(min(writeCheckInterval, limit-took))); err != nil {
			return n, took, err
		}
		if a.ctx.Err() != nil { // after the deadline was set: see AfterFunc
			return n, took, a.ctx.Err()
		}
		m, err := a.s.conn.Write(b[n:])
		n += max(m, 0)
		switch {
		case err == nil && n < len(b):
			return n, took, io.ErrShortWrite
		case err == nil:
			a.wait.exceeded(a.s.blocked(), 0) // it goes on, whatever it says
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

// gaveUp says for what was waited in vain.
func (a *attempt) waitedTooLong(err error) error {
	c := a.s.condition()
	now := state(c)
	return fmt.Errorf("it is %s (it reports: %s), and nobody saw to it in %s; %s: %w", stateText(now), c, a.d.o.WaitForPerson, advice(now, false), err)
}

// broke words what ended a ticket half way. sent counts what left this machine's hands;
// how much of it is on paper, nobody knows, unless it was nothing.
func (a *attempt) writeFailed(of int, err error) error {
	if a.ctx.Err() != nil {
		return fmt.Errorf("print on %s: interrupted after %d of %d bytes: %w", a.p.o.Name, a.sent, of, context.Cause(a.ctx))
	}
	return fmt.Errorf("print on %s: %d of %d bytes sent: %w", a.p.o.Name, a.sent, of, err)
}

// broken is broke where nothing was to be written.
func (a *attempt) answerFailed(err error) error {
	if a.ctx.Err() != nil {
		return fmt.Errorf("print on %s: interrupted before the printer said what it printed: %w", a.p.o.Name, context.Cause(a.ctx))
	}
	return fmt.Errorf("print on %s: wait for its answer: %w", a.p.o.Name, err)
}
