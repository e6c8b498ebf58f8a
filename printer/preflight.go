package printer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// Everything before the first ticket byte. A failure here leaves no doubt and prints no banner, so
// whatever can be noticed about a printer is noticed here: that it is off, out of paper, open, busy
// with a till, inside another program's command, or hung.

// Another program, an earlier process or a broken connection may have left the printer inside a command.
// It then takes the next bytes for the rest of that command: the head of a ticket becomes dots, the tail
// prints, and the fence behind the tail is answered. DLE EOT does not show this, because a printer
// answers it at once, wherever it is. So a printer with a fence is asked for that before each ticket.

// connect returns a session with a printer that is ready to print, as far as it can tell, or, for a poll, that
// reports no trouble. After an error no ticket byte was sent: [ticket.NotReady] if it waits for a person or for
// another client.
func (d *Device) connect(ctx context.Context, poll bool) (*session.Session, error) {
	d.can.load()
	if err := d.waitPrinted(ctx); err != nil {
		return nil, err
	}

	for first := true; ; first = false {
		connected := d.takeIdle()
		// A failure allows a second connection: an idle one may have ended since its last ticket, and some
		// printers close a connection on which they are asked.
		again := connected != nil || first && d.can.silent()
		if connected == nil {
			// With polls, they repeat the probe, and no ticket has to wait for it.
			if (poll || d.o.PollEvery <= 0) && d.can.stale() {
				d.can.known, again = false, true
			}
			conn, err := d.dial(ctx)
			if err != nil {
				return nil, err
			}
			connected = d.open(conn)
		}

		err := d.check(ctx, connected, poll, first)
		switch {
		case err == nil:
			d.health.update(func(now *Status) { now.Late = connected.Late() })
			return connected, nil
		case ticket.IsNotReady(err), ctx.Err() != nil:
			d.release(connected, unused)
			return nil, err
		}

		d.release(connected, broken)
		switch {
		case errors.Is(err, session.ErrNotPrinter):
			return nil, d.notPrinter(err)
		case errors.Is(err, session.ErrHeardNothing): // our half of the connection is closed: dial again
		case !again:
			err = fmt.Errorf("ask %s how it is: %w", d.o.Name, err)
			d.health.unreachable(err)
			return nil, err
		}
	}
}

// waitPrinted waits until a printer that gives no answer has printed its bytes. Bytes that wait in its
// buffer would be lost in a power cut, although it counts as sent: this bounds it to about one ticket.
func (d *Device) waitPrinted(ctx context.Context) error {
	wait := time.Until(d.printedAt)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()

	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait until %s has printed the ticket before: %w", d.o.Name, context.Cause(ctx))
	}
}

// check finds out whether the printer can print now, with the probe if its capability is not known. A poll asks only
// questions that are answered at once, unless the printer hung: its status alone does not show that it prints again,
// and a hello would stand in the way of another client's printing.
func (d *Device) check(ctx context.Context, s *session.Session, poll, first bool) error {
	if transport.OneWay(s.Conn()) {
		// Whatever is configured or stored: a question would be written into the file, or print as text on a printer
		// that only receives.
		d.can.set(capability{known: true, mute: true, Probed: time.Now()})
		return nil
	}

	if !d.can.answers() {
		err := d.checkStays(ctx, s, first && d.can.silent())
		switch {
		case err == nil && d.can.silent() && d.health.get().State == NotAPrinter:
			return session.ErrNotPrinter // until it answers, or is silent when it is probed again
		case err != nil || d.can.known:
			return err
		}
	}

	err := d.askHow(ctx, s)
	if err == nil && d.can.Fence != session.NoFence && (!poll || d.health.get().State == Hung) {
		err = d.hello(ctx, s)
	}

	if session.TimedOut(err) {
		return d.notAnswering()
	}

	if err == nil && d.can.answers() {
		d.health.observe(s.Condition())
	}
	return err
}

// askHow asks for the status (DLE EOT), or probes. The first question on a connection has the longer limit, because
// only it waits for another client to finish.
func (d *Device) askHow(ctx context.Context, s *session.Session) error {
	if !d.can.known {
		return d.probe(ctx, s)
	}

	if err := s.CompleteHeader(ctx); err != nil {
		return err
	}
	if err := s.AskStatus(ctx, session.FirstAnswer); err != nil {
		return err
	}
	return d.checkReady(s)
}

// checkStays gives a printer the time to drop the connection, and one that was silent the time to answer: it may
// have been starting, or inside another program's command. If it answers, its capability is not known any more.
func (d *Device) checkStays(ctx context.Context, s *session.Session, ask bool) error {
	if !ask {
		return s.Stays(ctx)
	}

	err := s.CompleteHeader(ctx)
	if err == nil {
		err = s.Ask(ctx, 1, session.DroppedWithin)
	}
	if err == nil {
		d.can.known = false
	}

	if err != nil && !session.TimedOut(err) {
		return err
	}
	return s.PeerClosed()
}

// notAnswering records a printer that accepts connections and no longer answers: it serves a till, or
// hangs. Its tickets wait, or print at its backup.
func (d *Device) notAnswering() error {
	now := Busy
	status := d.health.get()
	if status.State == Hung || status.State == Busy && time.Since(status.Since) >= session.HungAfter {
		now = Hung
	}
	d.health.set(now)
	return ticket.NotReady(fmt.Errorf("%s does not answer, but its port is open", d.o.Name))
}

// notPrinter records that it is no printer. It stays one until it answers as a printer does.
func (d *Device) notPrinter(err error) error {
	d.health.update(func(s *Status) {
		s.State, s.Conditions, s.Reported, s.Err = NotAPrinter, 0, nil, err.Error()
	})
	return ticket.NotReady(fmt.Errorf("ask %s how it is: %w", d.o.Name, err))
}

// checkReady returns the error if a reported condition stops the printing. NotReady: the queue waits, and no attempt
// is spent.
func (d *Device) checkReady(s *session.Session) error {
	condition := s.Condition()
	if !condition.Any(escpos.Blocking) {
		return nil
	}

	d.health.observe(condition)
	return ticket.NotReady(fmt.Errorf("%s is %s", d.o.Name, d.health.trouble(condition)))
}

// hello asks the fence that this printer is known to answer. It returns nil when the printer has answered: its
// interpreter is at the beginning of a command, nothing of an earlier connection is left to print, and no answer
// is outstanding. s.By is then the fence that proves the ticket. [session.ErrNoAnswer]: it does not answer DLE
// EOT either.
func (d *Device) hello(ctx context.Context, s *session.Session) error {
	got, err := d.askInOrder(ctx, s, d.can.Fence, session.HelloTimeout)
	switch {
	case err != nil:
		return err
	case got == session.NoFence && len(s.RealTime()) == 0:
		return session.ErrNoAnswer
	case got == session.NoFence:
		d.health.set(Hung)
		return ticket.NotReady(fmt.Errorf("%s reports no trouble and does not process what it is sent", d.o.Name))
	}

	d.noteCut(s)
	d.can.answered(ctx, got)
	return nil
}

// answered notes which fence answered a hello. One answer less than the printer gave before may be chance: another
// program's GS ( H can displace ours. Two in a row are not.
func (k *knowledge) answered(ctx context.Context, got session.Kind) {
	if got == k.Fence {
		k.idUnanswered = 0
		return
	}

	if k.idUnanswered++; k.idUnanswered >= 2 {
		changed := k.capability
		changed.Fence = got
		k.save(ctx, changed)
	}
}

// askInOrder sends questions that are answered in order until one is answered, and returns which; session.NoFence
// if none was within limit. by is the wanted fence; session.NoFence wants the best there is. GS ( H comes with a
// GS r from the second time on: a printer that answers only that one has come to the question, and has no
// such fence any more.
func (d *Device) askInOrder(
	ctx context.Context, s *session.Session, by session.Kind, limit time.Duration,
) (session.Kind, error) {
	start := time.Now()
	s.Expect(cmp.Or(by, session.ByID))
	for step, nuls := 0, 0; ; step++ {
		if step == 0 || nuls > 0 || step <= session.ClearingSteps {
			if err := s.Clear(ctx, nuls); err != nil {
				return session.NoFence, err
			}
			// The rest that cannot be sent in time is sent ahead of the next question.
			ask := append(escpos.SelectPrinter(), s.Question(by == session.NoFence || step > 0)...)
			if err := s.Write(ctx, ask, session.AnswerTimeout); err != nil && !session.TimedOut(err) {
				return session.NoFence, err
			}
		}

		got, err := s.Answer(ctx, session.HelloInterval)
		if err != nil {
			return session.NoFence, err
		}
		if got != session.NoFence {
			return got, s.Settle(ctx, got)
		}

		// No answer: it waits for a person, serves another client, or is inside a command.
		if err := s.AskStatus(ctx, session.AnswerTimeout); err != nil {
			return session.NoFence, err
		}
		if err := d.checkReady(s); err != nil {
			return session.NoFence, err
		}

		if time.Since(start) >= limit {
			return session.NoFence, nil
		}

		if by != session.NoFence && d.health.get().State != Hung { // hung until it answers
			d.health.set(Clearing)
		}

		nuls = s.NextNULs(step, d.can.Fence != session.NoFence)
	}
}
