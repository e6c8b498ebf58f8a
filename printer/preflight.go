package printer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// Everything before the first ticket byte. What fails here leaves no doubt and prints no banner, so
// whatever can be noticed about a printer is noticed here: that it is off, out of paper, open, busy
// with a till, inside another program's command, or hung.

const (
	// firstAnswerTimeout is for the first answer on a connection. The printer may have accepted us while
	// it serves another client, and answers when that one is done.
	firstAnswerTimeout = 5 * time.Second
	// answerTimeout is for each further answer. On a network they take milliseconds.
	answerTimeout = 2 * time.Second
	// hungAfter is how long a printer that accepts connections and answers nothing counts as busy with
	// another client. A till is done within seconds.
	hungAfter = 2 * time.Minute
	// droppedWithin is how soon a printer that accepts and drops its clients, because it is starting or a
	// till uses it, does drop them; 8 to 40 ms were seen. Ticket bytes that it has taken by then would
	// leave the ticket in doubt, so a printer that answers nothing gets them only after this.
	droppedWithin = 100 * time.Millisecond
)

// connect returns a session with a printer that is ready to print, as far as it can tell. After an error
// no ticket byte was sent: [ticket.NotReady] if it waits for a person or for another client.
func (d *Device) connect(ctx context.Context) (*session, error) {
	d.loadCapability()
	if err := d.waitPrinted(ctx); err != nil {
		return nil, err
	}
	if s := d.takeIdle(); s != nil {
		if s.alive() {
			switch err := d.check(ctx, s, answerTimeout); {
			case err == nil:
				return s, nil
			// Dialling anew would not help: the printer is there and needs a person, or the caller
			// is gone.
			case ticket.IsNotReady(err), ctx.Err() != nil:
				d.endUnused(s, err)
				return nil, err
			}
		}
		d.close(s) // it ended meanwhile; no ticket was on it
	}
	// With polls, they repeat the probe, and no ticket has to wait for it.
	if d.o.PollEvery <= 0 && d.capability.stale() {
		d.capability.known = false
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	s := d.open(conn)
	err = d.check(ctx, s, firstAnswerTimeout)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, errNoAnswer):
		err = d.notAnswering()
	case ctx.Err() == nil && !ticket.IsNotReady(err):
		d.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
	}
	d.endUnused(s, err)
	return nil, err
}

// waitPrinted waits until a printer that gives no answer has printed what it was sent. What waits in its
// buffer would be lost in a power cut, although it counts as sent: this bounds it to about one ticket.
func (d *Device) waitPrinted(ctx context.Context) error {
	t := time.NewTimer(time.Until(d.printedAt))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait until %s has printed the ticket before: %w", d.o.Name, context.Cause(ctx))
	}
}

// check finds out whether the printer can print now. within is for its first answer.
func (d *Device) check(ctx context.Context, s *session, within time.Duration) error {
	if transport.OneWay(s.conn) {
		return d.skipQuestions(ctx)
	}
	if !d.capability.known {
		if err := d.probe(ctx, s); err != nil {
			return err
		}
	} else if err := d.askStatus(ctx, s, within); err != nil {
		return err
	}
	if d.capability.Fence != noFence {
		if err := d.hello(ctx, s); err != nil {
			return err
		}
	} else if len(d.capability.RealTime) == 0 {
		return d.checkStays(ctx, s)
	}
	d.observe(s.condition())
	return nil
}

// skipQuestions is for a connection without a way back, whatever is configured or stored: a question
// would be written into the file, or print as text on a printer that only receives.
func (d *Device) skipQuestions(ctx context.Context) error {
	if d.capability.writeOnly || d.capability.neverAsk {
		return nil
	}
	return d.saveCapability(ctx, capability{writeOnly: true})
}

// checkStays gives a printer the time to drop the connection.
func (d *Device) checkStays(ctx context.Context, s *session) error {
	// Files, USB and serial devices report a lost device with the next write instead.
	c, ok := s.conn.(closeChecker)
	if !ok {
		return nil
	}
	switch err := s.waitFor(ctx, time.Until(s.opened.Add(droppedWithin)), never); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	// The reader saw the connection end, for example with a reset, before PeerClosed could.
	case !errors.Is(err, errNoAnswer) && !errors.Is(err, errWriteOnly):
		return err
	}
	return c.PeerClosed()
}

// notAnswering records a printer that accepts connections and no longer answers: it serves a till, or
// hangs. Its tickets wait, or print at its backup.
func (d *Device) notAnswering() error {
	now := Busy
	if s := d.Status(); s.State == Hung || s.State == Busy && time.Since(s.Since) >= hungAfter {
		now = Hung
	}
	d.setState(now)
	_, advice := d.describe(now)
	return ticket.NotReady(fmt.Errorf("%s does not answer, but its port is open; to fix: %s", d.o.Name, advice))
}

// endUnused ends a session on which no ticket was begun, because of err. A printer that is out of
// paper is asked again in a few seconds, by the dispatcher's retry: the connection is kept for
// that.
func (d *Device) endUnused(s *session, err error) {
	if ticket.IsNotReady(err) && s.alive() && s.nothingPending() {
		d.keep(s)
		return
	}
	d.close(s)
}

// askStatus asks the printer for its status (DLE EOT). errNoAnswer: it answered in the past and
// does not now. The first question has the longer limit, because only it waits for another client
// to finish. The NULs complete a header that broke off: see askInOrder.
func (d *Device) askStatus(ctx context.Context, s *session, within time.Duration) error {
	if len(d.capability.RealTime) == 0 {
		return nil
	}
	if err := s.sendNULs(ctx, longestHeader, answerTimeout); err != nil {
		return fmt.Errorf("ask %s for its status: %w", d.o.Name, err)
	}
	for i, n := range d.capability.RealTime {
		err := s.ask(ctx, n, within, never)
		switch {
		case err == nil:
			within = answerTimeout
		case errors.Is(err, errNoAnswer) && i > 0: // it answered at least one: that counts
		case errors.Is(err, errWriteOnly):
			return fmt.Errorf("ask %s for its status: %w", d.o.Name, errClosed)
		case errors.Is(err, errNoAnswer):
			return err
		default:
			return fmt.Errorf("ask %s for its status: %w", d.o.Name, err)
		}
	}
	if s.blocked() {
		return d.checkReady(s)
	}
	return nil
}

// settled reports whether every question was answered; s.mu is held.
func (s *session) settled() bool { return len(s.pending) == 0 && s.statusAsked == s.statusAnswered }

// nothingPending reports whether every question was sent and answered.
func (s *session) nothingPending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled() && len(s.unsent) == 0
}

// askEach asks each DLE EOT in ns, or until enough.
func (s *session) askEach(ctx context.Context, ns []byte, enough func() bool) error {
	for _, n := range ns {
		if err := s.ask(ctx, n, answerTimeout, enough); err != nil {
			return err
		}
	}
	return nil
}

// checkReady records the reported conditions and returns the error if one of them stops the
// printing. NotReady: the queue waits, and no attempt is spent. Conditions that do not block, such
// as low paper, are recorded only.
func (d *Device) checkReady(s *session) error {
	c := s.condition()
	d.observe(c)
	if !c.Any(escpos.Blocking) {
		return nil
	}
	text, advice := d.describe(state(c))
	return ticket.NotReady(fmt.Errorf("%s is %s (it reports: %s); %s", d.o.Name, text, c, advice))
}
