package printer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// The conversation about one ticket, in its order. The result of a failure depends on how far it came:
//
// Before begin nothing was printed, and no banner prints: so it is noticed here that a printer is off, out of paper,
// open, busy with a till, inside another program's command, or hung.
//
// If none of the ticket was taken, it is [ticket.Untouched]: the doubt is taken back. If some of it was taken, it is in
// doubt. If all of it was taken and the fence was answered, it is printed, whatever happens to the cut and to the
// connection afterwards.

// Print prints one ticket and returns its proof. begin is called at most once, when the printer is connected and ready
// and before the first ticket byte; if it fails, nothing is sent.
//
// The proof is [ticket.Confirmed] if the printer returned the id that was sent behind this ticket;
// [ticket.Processed] if it answered a status request that was queued behind it, and had paper;
// [ticket.Sent] if it took every byte and answers no such request.
//
// An error before begin returned nil means that nothing was printed. It is [ticket.IsNotReady] if the
// printer waits for a person or serves another client, [ticket.IsPermanent] if none can succeed here.
// An error after begin leaves the result unknown, unless it is [ticket.IsUntouched]. When ctx ends,
// Print returns soon with ctx's cause in the error; a ticket that was proved before is no error.
func (p *Paper) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	if err := p.d.acquire(ctx); err != nil {
		return "", err
	}
	defer func() { <-p.d.lock }()

	connected, err := p.d.connect(ctx, false)
	if err != nil {
		return "", err
	}

	defer func() {
		if panicked := recover(); panicked != nil { // close the session, or the printer keeps serving it
			p.d.release(connected, broken)
			panic(panicked)
		}
	}()

	// Only now are two things known: the capability of the printer, and whether the last print on its paper is a
	// piece of this ticket, because no other one came between.
	encoded, err := p.encodeOrFail(d, d.Doubt && d.Job == p.d.lastJob)
	if err != nil {
		p.d.release(connected, unused)
		return "", ticket.Permanent(err)
	}

	// From here the ticket is in doubt. A crash before begin has committed: nothing was sent, the next attempt prints
	// no banner. A crash after it: something may have been sent, so the next attempt prints POSSIBLE DUPLICATE.
	if err := begin(ctx); err != nil {
		p.d.release(connected, unused)
		return "", fmt.Errorf("begin: %w", err)
	}
	return p.send(ctx, connected, d.Job, encoded)
}

// connect returns a session with a printer that is ready to print, as far as it can tell, or, for a poll, that
// reports no trouble. After an error no ticket byte was sent: [ticket.NotReady] if it waits for a person or for
// another client.
func (d *Device) connect(ctx context.Context, poll bool) (*session.Session, error) {
	d.can.load()
	if err := d.waitPrinted(ctx); err != nil {
		return nil, err
	}

	// After a failure it dials again if the cause may be gone on a new connection:
	//   - The first connection was idle, and may have ended since its last ticket. Or the printer is silent: it is
	//     asked on the first connection, and may close that because of the question.
	//   - A probe failed: of a stale capability, so the old one is used again, or because the probe has ended our side
	//     of the connection and heard nothing. No second probe is due then.
	// So there are at most three connections.
	for firstConnection := true; ; firstConnection = false {
		connected := d.takeIdle()
		mayRetry := connected != nil || firstConnection && d.can.silent()
		if connected == nil {
			// Probed by a poll, if there are polls, so that no ticket waits for it.
			if (poll || d.o.PollEvery <= 0) && d.can.stale() {
				d.can.known, mayRetry = false, true
			}
			conn, err := d.dial(ctx)
			if err != nil {
				return nil, err
			}
			connected = d.open(conn)
		}

		err := d.check(ctx, connected, poll, firstConnection)
		switch {
		case err == nil:
			return connected, nil
		case ticket.IsNotReady(err), ctx.Err() != nil:
			d.release(connected, unused)
			return nil, err
		}

		d.release(connected, broken)
		switch {
		case errors.Is(err, session.ErrNotPrinter):
			return nil, d.health.recordNoPrinter(err)
		case errors.Is(err, session.ErrHeardNothing): // dial again
		case !mayRetry:
			err = fmt.Errorf("ask %s how it is: %w", d.o.Name, err)
			d.health.set(Unreachable, err)
			return nil, err
		}
	}
}

// check finds out whether the printer can print now, with the probe if its capability is not known. A poll asks only
// questions that are answered at once: a hello would stand in the way of another client's printing. But it sends the
// hello if nothing else shows that the printer prints again: to one that hung, and to one without DLE EOT that is not
// ready.
func (d *Device) check(ctx context.Context, s *session.Session, poll, firstConnection bool) error {
	if !d.can.answers() { // it must not be asked, has answered nothing, or is not known
		answers, err := s.AwaitStable(ctx, firstConnection && d.can.silent())
		// If a silent printer answers after all, the probe follows below. If a program answers, this check fails. The
		// check of the next connection is the probe then, because only a probe shows that a printer is there again.
		if answers || errors.Is(err, session.ErrNotPrinter) {
			d.can.known = false
		}

		switch {
		case err == nil && d.can.silent() && d.health.get().State == NotAPrinter:
			return session.ErrNotPrinter // a program answered an earlier ticket, see send: no ticket before a probe
		case err != nil || d.can.known:
			return err
		}
	}

	var err error
	if !d.can.known {
		err = d.probe(ctx, s)
	} else if err = s.FirstStatus(ctx); err == nil {
		err = d.health.recordNotReady(s.Condition())
	}
	if err == nil {
		d.can.dropNoisyFence(ctx, s)
	}

	state, hasStatus := d.health.get().State, len(s.RealTime()) > 0
	saysHello := !poll || state == Hung || !hasStatus && state != Ready
	if err == nil && d.can.Fence != session.NoFence && saysHello {
		err = d.hello(ctx, s)
	}

	if session.TimedOut(err) {
		return d.health.recordNoAnswer()
	}

	if err == nil && (hasStatus || saysHello) {
		if d.can.answers() {
			d.health.observe(s.Condition())
		}
		d.health.update(func(now *Status) { now.Late = s.AnswersLate() })
	}
	return err
}

// hello asks the fence that this printer is known to answer. It returns nil when the printer has answered.
// [session.ErrNoAnswer]: it does not answer DLE EOT either.
func (d *Device) hello(ctx context.Context, s *session.Session) error {
	got, err := s.Hello(ctx, d.can.Fence, true, session.HelloTimeout, func() error {
		err := d.health.recordNotReady(s.Condition())
		// Hung until it answers. Without DLE EOT it is not known to read anything, so it is not clearing.
		if err == nil && d.health.get().State != Hung && len(s.RealTime()) > 0 {
			d.health.set(Clearing, nil)
		}
		return err
	})

	switch {
	case err != nil:
		return err
	case got == session.NoFence && len(s.RealTime()) == 0:
		return session.ErrNoAnswer
	case got == session.NoFence:
		d.health.set(Hung, nil)
		return ticket.NotReady(fmt.Errorf("%s reports no trouble and does not process what it is sent", d.o.Name))
	}

	d.noteCut(s)
	d.noteHello(ctx, got)
	return nil
}

// send sends the ticket and waits for its result. A failure leaves the ticket in doubt, unless it happens before the
// first ticket byte was taken: a printer that accepts and drops its clients has printed nothing.
func (p *Paper) send(
	ctx context.Context, s *session.Session, job uint64, encoded encodedTicket,
) (proof ticket.Proof, err error) {
	all, ahead := encoded.bytes(), p.ahead(s)
	p.d.maybeInCommand = true // until the ticket is known to have ended outside a command
	sending := s.NewSending(ctx, len(ahead), p.o.Pace)

	if _, err = sending.Send(ahead, p.o.Pace.Of(len(ahead))); err == nil {
		p.d.pendingCut = nil
		if s.By() == session.NoFence {
			proof, err = ticket.Sent, p.sendUnfenced(ctx, sending, encoded)
		} else {
			proof, err = p.sendFenced(sending, encoded)
		}
	}

	if sending.Sent() > 0 {
		p.d.lastJob = job
	}
	if err == nil {
		p.d.maybeInCommand = longCommand.Match(all)
		return proof, nil
	}

	switch {
	case ctx.Err() != nil: // interrupted, by a stop or in favour of a backup: that says nothing about the printer
		err = fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case errors.Is(err, session.ErrNotPrinter):
		_ = p.d.health.recordNoPrinter(err)
	case s.Err() != nil:
		p.d.health.set(Unreachable, err)
	case errors.Is(err, session.ErrFellSilent):
		p.d.health.set(Busy, nil) // and Hung after a while, see recordNoAnswer
	}

	p.d.release(s, broken)
	err = fmt.Errorf("print on %s: %d of %d bytes sent: %w", p.o.Name, min(sending.Sent(), len(all)), len(all), err)
	if sending.Sent() == 0 {
		err = ticket.Untouched(err)
	}
	return "", err
}

// sendFenced is for a printer that answers a fence. Each copy waits for its own answer before the next is sent, so that
// one unanswered fence never stands for several copies. If a later copy fails, the whole ticket is in doubt, and the
// next attempt prints every copy again.
func (p *Paper) sendFenced(sending *session.Sending, encoded encodedTicket) (ticket.Proof, error) {
	weakest := ticket.Confirmed
	for _, c := range encoded.copies {
		began := time.Now()
		left, err := sending.Send(c.Body, p.o.Pace.Of(len(c.Body)))
		if err != nil {
			return "", err
		}

		answer, at, err := sending.Fence(left, p.printTimeout(encoded, len(c.Body)))
		// From here on the cut is pending: it precedes the next ticket, unless the printer is known to have come to it.
		p.d.pendingCut, p.d.cutOn = c.Cut, nil
		if err != nil {
			return "", err
		}

		proof := proofOf[answer]
		if p.tooFast(encoded, at.Sub(began)) {
			proof = ticket.Sent
		}
		// The order is Sent, Processed, Confirmed. A ticket has the weakest proof of its copies.
		if proof == ticket.Sent || weakest == ticket.Confirmed {
			weakest = proof
		}

		// Only now: a cut before the answer could cut through lines that are still being printed,
		// and a ticket that ran out of paper would be cut in two. Its failure does not change the result.
		if _, err = sending.Send(c.Cut, session.CutTimeout); err == nil {
			p.d.cutOn = sending.Session
		}
	}

	p.d.release(sending.Session, printed)
	return weakest, nil
}

// sendUnfenced is for a printer that gives no answer behind a ticket. It returns when the printer has taken every byte
// and the connection is closed in an orderly way. Without the orderly end, closing could reset the connection and
// discard the tail of the ticket in the printer's network interface: its last lines and its cut.
func (p *Paper) sendUnfenced(ctx context.Context, sending *session.Sending, encoded encodedTicket) error {
	all := encoded.bytes()
	left, err := sending.Send(all, p.o.Pace.Of(len(all)))
	if err != nil {
		return err
	}
	left = max(left, session.AnswerTimeout)

	// A printer that hung during the ticket has taken it into its buffer, and loses it when it is switched off
	// and on. Behind a full buffer the answer takes as long as the printing.
	if err := sending.AskStatus(ctx, left); err != nil {
		return err
	}
	if p.d.can.answers() {
		p.d.health.observe(sending.Condition())
	}
	if err := sending.Unrecoverable(); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	if err := sending.Finish(ctx); err != nil {
		return err
	}
	if err := sending.Err(); errors.Is(err, session.ErrNotPrinter) {
		return err
	}

	if !transport.IsFile(sending.Conn()) {
		model := &p.o.Profile
		lines := len(encoded.copies) * (encoded.lines + model.FeedBeforeCut)
		p.d.printedAt = time.Now().Add(time.Duration(lines) * time.Second / time.Duration(model.LinesPerSecond))
	}
	return nil
}

// release ends the use of a connection, but for a ticket without a fence, which sendUnfenced finishes itself. One that
// works is kept for the next ticket, for Linger: also while the printer waits for a person, because the dispatcher asks
// it again in a few seconds. A connection with a question that was sent or answered in part is not kept: the printer
// would take the next command for the rest of that question. A broken connection is abandoned, so that the bytes that
// the printer's network interface still holds of a ticket do not come out after the copy of that ticket; any other one
// is closed in an orderly way, so that the printer gets all that was sent.
func (d *Device) release(s *session.Session, why reason) {
	pending := !s.NothingPending()
	if why == unused && pending {
		why = broken
	}
	d.mu.Lock()
	keep := (why == unused || why == printed) && !pending && !d.retired && d.o.Linger > 0
	d.mu.Unlock()

	switch {
	case keep:
		d.idle = s
		// The timer may fire while a ticket is taking the connection over. It then waits for the lock.
		d.idleTimer = time.AfterFunc(d.o.Linger, func() {
			d.lock <- struct{}{}
			d.finishIdle()
			<-d.lock
		})
	case why == broken:
		s.Close()
	default:
		ctx, cancel := context.WithTimeout(context.Background(), session.FinishTimeout)
		defer cancel()
		if d.can.ASB && s.Err() == nil {
			// The next client may not expect status bytes that it did not ask for.
			_ = s.Write(ctx, escpos.AutoStatus(false), session.FinishTimeout/4)
		}
		if s.Finish(ctx) == nil { // an error does not matter: the result of each ticket is known
			d.noteCut(s)
		}
	}
}
