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
// with a till, or another model.

const (
	// firstAnswerTimeout is for the first answer on a connection. The printer may have accepted us while
	// it serves another client, and answers when that one is done.
	firstAnswerTimeout = 5 * time.Second
	// answerTimeout is for each further answer. On a network they take milliseconds.
	answerTimeout = 2 * time.Second

	// A printer that is known to answer, accepts connections and answers nothing is serving a till, or
	// hangs. Tickets are not sent to it: they would wait in its network interface, and be lost when
	// somebody switches it off and on, as the advice says. After maxSilentAttempts in a row over at least
	// maxBusyTime it is probed again, because it may have been replaced by one that never answers. No till
	// holds it for that long: an Epson interface board closes an idle connection after five minutes
	// (UB-E02 Technical Reference Guide).
	maxSilentAttempts = 5
	maxBusyTime       = 10 * time.Minute
)

// connect returns a session with a printer that is ready, or that reports nothing. After an error no
// ticket byte was sent: [ticket.NotReady] if it waits for a person or for another client.
func (d *Device) connect(ctx context.Context) (*session, error) {
	d.loadCapability()
	if s := d.takeIdle(); s != nil {
		if s.alive() {
			switch err := d.askOrProbe(ctx, s, answerTimeout); {
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
	// A printer that answered earlier and is silent now gets a new probe soon, and one that never
	// answered once an hour. Without polls, a ticket has to make that hourly probe.
	if d.stoppedAnswering && d.capability.stale(probeAgainSoon) ||
		d.o.PollEvery <= 0 && d.capability.stale(probeAgainAfter) {
		d.setCapability(capability{})
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	s := d.open(conn)
	err = d.askOrProbe(ctx, s, firstAnswerTimeout)
	switch {
	case err == nil:
		d.silentAttempts = 0
		return s, nil
	case errors.Is(err, errNoAnswer):
		err = d.notAnswering(ctx)
	case ctx.Err() == nil && !ticket.IsNotReady(err):
		d.update(func(s *Status) { s.State, s.Err = Unreachable, err.Error() })
	}
	d.endUnused(s, err)
	return nil, err
}

// askOrProbe asks for the status, or probes the capability first if it is not known.
func (d *Device) askOrProbe(ctx context.Context, s *session, within time.Duration) error {
	switch {
	case transport.OneWay(s.conn):
		return d.skipQuestions(ctx)
	case !d.capability.known:
		return d.probe(ctx, s)
	}
	return d.preflight(ctx, s, within)
}

// skipQuestions is for a connection without a way back, whatever is configured or stored: a question
// would be written into the file, or print as text on a printer that only receives.
func (d *Device) skipQuestions(ctx context.Context) error {
	if d.capability.writeOnly || d.capability.neverAsk {
		return nil
	}
	return d.saveCapability(ctx, capability{writeOnly: true})
}

// notAnswering records a printer that accepts connections and no longer answers. See maxBusyTime.
func (d *Device) notAnswering(ctx context.Context) error {
	d.setState(Busy)
	if d.silentAttempts == 0 {
		d.silentSince = time.Now()
	}
	if d.silentAttempts++; d.silentAttempts >= maxSilentAttempts && time.Since(d.silentSince) >= maxBusyTime {
		d.forgetCapability(ctx, "its port is open and it does not answer")
	}
	return ticket.NotReady(fmt.Errorf("%s does not answer, but its port is open; to fix: %s",
		d.o.Name, advice(Busy, false)))
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

// nothingPending reports whether every question was sent and answered.
func (s *session) nothingPending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) == 0 && len(s.unsent) == 0
}

// longestHeader is longer, in bytes, than the part of any command that says how much data follows.
const longestHeader = 16

// endBrokenHeader ends a command whose header broke off with an earlier connection. Otherwise the printer
// takes our question for the rest of the header: read as the size of a GS v 0 image, its bytes announce a
// quarter of a megabyte, and all tickets of the evening disappear in that image. Padding of that length
// is not practical, so the header is completed with NULs, which announce little data. Data that a complete
// header still expects is supplied by Device.padding before the next ticket.
func (d *Device) endBrokenHeader(ctx context.Context, s *session) error {
	if s.headerEnded || len(d.padding) == 0 && d.ticketBegun {
		return nil
	}
	s.headerEnded = true
	err := s.write(ctx, make([]byte, longestHeader), answerTimeout)
	if errors.Is(err, errNoAnswer) {
		return nil // the question that follows shows whether it answers
	}
	return err
}

// preflight asks the printer for its status (DLE EOT). errNoAnswer: it answered in the past and
// does not now. The first question has the longer limit, because only it waits for another client
// to finish.
func (d *Device) preflight(ctx context.Context, s *session, within time.Duration) error {
	if len(d.capability.RealTime) > 0 {
		if err := d.endBrokenHeader(ctx, s); err != nil {
			return fmt.Errorf("ask %s for its status: %w", d.o.Name, err)
		}
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
	if len(d.capability.RealTime) == 0 {
		return nil
	}
	return d.checkReady(s)
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
	now := state(c)
	return ticket.NotReady(fmt.Errorf("%s is %s (it reports: %s); %s",
		d.o.Name, stateText(now), c, advice(now, false)))
}
