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

// connect returns a session with a printer that is ready to print, as far as it can tell, or, for a poll, that
// reports no trouble. After an error no ticket byte was sent: [ticket.NotReady] if it waits for a person or for
// another client.
func (d *Device) connect(ctx context.Context, poll bool) (*session, error) {
	d.can.load()
	if err := d.waitPrinted(ctx); err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		s := d.takeIdle()
		// It may have ended meanwhile; no ticket was on it. Or it closes for a question, and is fine without.
		again := s != nil || first && d.can.silent()
		if s == nil {
			// With polls, they repeat the probe, and no ticket has to wait for it.
			if (poll || d.o.PollEvery <= 0) && d.can.stale() {
				d.can.known, again = false, true
			}
			conn, err := d.dial(ctx)
			if err != nil {
				return nil, err
			}
			s = d.open(conn)
		}
		err := d.check(ctx, s, poll, first)
		switch {
		case err == nil:
			d.health.update(func(now *Status) { now.Late = s.late })
			return s, nil
		case ticket.IsNotReady(err), ctx.Err() != nil:
			d.endUnused(s)
			return nil, err
		}
		d.close(s)
		switch {
		case errors.Is(err, errNotPrinter):
			return nil, d.notPrinter(err)
		case errors.Is(err, errHeardNothing): // its half of the connection is closed
		case !again:
			err = fmt.Errorf("ask %s how it is: %w", d.o.Name, err)
			d.health.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
			return nil, err
		}
	}
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

// check finds out whether the printer can print now, with the probe if it is not known what it answers. A poll asks
// only what is answered at once, unless the printer hung: its status alone does not show that it prints again, and
// a hello would stand in the way of what another client prints.
func (d *Device) check(ctx context.Context, s *session, poll, first bool) error {
	if transport.OneWay(s.conn) {
		// Whatever is configured or stored: a question would be written into the file, or print as text on a
		// printer that only receives.
		d.can.set(capability{known: true, mute: true, Probed: time.Now()})
		return nil
	}
	if !d.can.answers() {
		err := d.checkStays(ctx, s, first && d.can.silent())
		switch {
		case err == nil && d.can.silent() && d.health.get().State == NotAPrinter:
			return errNotPrinter // until it answers, or is silent when it is probed again
		case err != nil || d.can.known:
			return err
		}
	}
	err := d.askHow(ctx, s)
	if err == nil && d.can.Fence != noFence && (!poll || d.health.get().State == Hung) {
		err = d.hello(ctx, s)
	}
	if timedOut(err) {
		return d.notAnswering()
	}
	if err == nil && d.can.answers() {
		d.health.observe(s.condition())
	}
	return err
}

// askHow asks for the status (DLE EOT), or probes. The first question on a connection has the longer limit, because
// only it waits for another client to finish.
func (d *Device) askHow(ctx context.Context, s *session) error {
	if !d.can.known {
		return d.probe(ctx, s)
	}
	if err := s.sendNULs(ctx, longestHeader); err != nil {
		return err
	}
	if err := s.askStatus(ctx, firstAnswerTimeout, never); err != nil {
		return err
	}
	return d.checkReady(s)
}

// checkStays gives a printer the time to drop the connection, and one that was silent the time to answer: it may
// have been starting, or inside another program's command. If it answers, it is not known any more what it can do.
func (d *Device) checkStays(ctx context.Context, s *session, ask bool) error {
	c, ok := s.conn.(closeChecker)
	var err error
	switch {
	case ask:
		if err = s.sendNULs(ctx, longestHeader); err == nil {
			err = s.ask(ctx, 1, droppedWithin, never)
		}
		d.can.known = err != nil
	// Files, USB and serial devices report a lost device with the next write instead.
	case ok:
		err = s.waitFor(ctx, droppedWithin, never)
	}
	// The reader may see the connection end, for example with a reset, before PeerClosed can.
	switch {
	case err != nil && !timedOut(err):
		return err
	case ok:
		return c.PeerClosed()
	}
	return nil
}

// notAnswering records a printer that accepts connections and no longer answers: it serves a till, or
// hangs. Its tickets wait, or print at its backup.
func (d *Device) notAnswering() error {
	now := Busy
	if s := d.health.get(); s.State == Hung || s.State == Busy && time.Since(s.Since) >= hungAfter {
		now = Hung
	}
	d.health.set(now)
	_, advice := d.health.describe(now)
	return ticket.NotReady(fmt.Errorf("%s does not answer, but its port is open; to fix: %s", d.o.Name, advice))
}

// notPrinter records what is no printer. It stays one until it answers as a printer does.
func (d *Device) notPrinter(err error) error {
	d.health.update(func(s *Status) {
		s.State, s.Conditions, s.Reported, s.Err = NotAPrinter, 0, nil, err.Error()
	})
	_, advice := d.health.describe(NotAPrinter)
	return ticket.NotReady(fmt.Errorf("ask %s how it is: %w; to fix: %s", d.o.Name, err, advice))
}

// checkReady returns the error if a reported condition stops the printing. NotReady: the queue waits, and no attempt
// is spent.
func (d *Device) checkReady(s *session) error {
	c := s.condition()
	if !c.Any(escpos.Blocking) {
		return nil
	}
	d.health.observe(c)
	text, advice := d.health.describe(state(c))
	return ticket.NotReady(fmt.Errorf("%s is %s (it reports: %s); %s", d.o.Name, text, c, advice))
}
