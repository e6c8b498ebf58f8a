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

const (
	// servedWithin is how long a printer that accepted us may take to say something. It may have
	// another client, and come to us when that one is done.
	firstAnswerTimeout = 5 * time.Second
	// answersWithin is how long it may take for the next question.
	answerTimeout = 2 * time.Second

	// A printer that is known to answer and takes connections without a word serves a till, or
	// hangs: what is written to it now waits in its network board, and is lost when somebody
	// switches it off and on, as advised. After maxSilent attempts in a row and maxBusy it is asked
	// anew what it can do, for perhaps somebody put another one there. No till holds it as long: an
	// Epson's board drops a client that says nothing for five minutes.
	maxSilentAttempts = 5
	maxBusyTime       = 10 * time.Minute
)

// connect returns a session with a printer that is ready for a ticket, as far as it can
// say. Its error is clean: [ticket.NotReady] where a person, or a till, is what it waits for.
func (d *Device) connect(ctx context.Context) (*session, error) {
	d.loadCapability()
	if s := d.takeIdle(); s != nil {
		if s.alive() {
			switch err := d.askOrProbe(ctx, s, answerTimeout); {
			case err == nil:
				return s, nil
			case ticket.IsNotReady(err), ctx.Err() != nil:
				d.endUnused(s, err)
				return nil, err
			}
		}
		d.close(s) // gone meanwhile: nothing is lost with it
	}
	if d.stoppedAnswering && d.capability.stale(probeAgainSoon) || d.o.PollEvery <= 0 && d.capability.stale(probeAgainAfter) {
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

// sound finds out what a printer can do, if nobody knows, or else how it is.
func (d *Device) askOrProbe(ctx context.Context, s *session, within time.Duration) error {
	switch {
	case transport.OneWay(s.conn):
		return d.skipQuestions(ctx)
	case !d.capability.known:
		return d.probe(ctx, s)
	}
	return d.preflight(ctx, s, within)
}

// notAsked is all that is done on a wire without a way back, whatever was said or found out
// before: a question would be text in a file, or on the paper of a printer that only listens.
func (d *Device) skipQuestions(ctx context.Context) error {
	if d.capability.oneWay || d.capability.neverAsk {
		return nil
	}
	return d.saveCapability(ctx, capability{oneWay: true})
}

// busy is what a printer is that took the connection and does not answer as it used to.
func (d *Device) notAnswering(ctx context.Context) error {
	d.setState(Busy)
	if d.silentAttempts == 0 {
		d.silentSince = time.Now()
	}
	if d.silentAttempts++; d.silentAttempts >= maxSilentAttempts && time.Since(d.silentSince) >= maxBusyTime {
		d.forgetCapability(ctx, "it takes connections and says nothing")
	}
	return ticket.NotReady(fmt.Errorf("%s is busy: it takes the connection and answers nothing; %s", d.o.Name, advice(Busy, false)))
}

// part ends a session on which nothing was begun.
func (d *Device) endUnused(s *session, err error) {
	if ticket.IsNotReady(err) && s.alive() && s.nothingPending() {
		d.park(s)
		return
	}
	d.close(s)
}

// calm says that no answer is outstanding.
func (s *session) nothingPending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) == 0 && len(s.unsent) == 0
}

// longestHeader is more than any command needs to say how much follows.
const longestHeader = 16

// unhinge ends the head of a command that broke off with the connection before, or before the
// start. A question must not be taken for the rest of it: as the size of a picture it says a
// quarter of a megabyte, and every ticket of the evening goes into that. Padding that
// long would not help; what a whole head says still comes is made up for before the next ticket.
func (d *Device) endBrokenHeader(ctx context.Context, s *session) error {
	if s.headerEnded || len(d.padding) == 0 && d.begunOnce {
		return nil
	}
	s.headerEnded = true
	err := s.write(ctx, make([]byte, longestHeader), answerTimeout)
	if errors.Is(err, errNoAnswer) {
		return nil // the question will tell
	}
	return err
}

// preflight asks a printer how it is. errQuiet means that it, who used to, did not answer.
func (d *Device) preflight(ctx context.Context, s *session, within time.Duration) error {
	if len(d.capability.RealTime) > 0 {
		if err := d.endBrokenHeader(ctx, s); err != nil {
			return fmt.Errorf("ask %s how it is: %w", d.o.Name, err)
		}
	}
	for i, n := range d.capability.RealTime {
		err := s.ask(ctx, n, within, never)
		switch {
		case err == nil:
			within = answerTimeout
		case errors.Is(err, errNoAnswer) && i > 0: // it spoke: what it said counts
		case errors.Is(err, errOneWay):
			return fmt.Errorf("ask %s how it is: %w", d.o.Name, errClosed)
		case errors.Is(err, errNoAnswer):
			return err
		default:
			return fmt.Errorf("ask %s how it is: %w", d.o.Name, err)
		}
	}
	if len(d.capability.RealTime) == 0 {
		return nil
	}
	return d.checkReady(s)
}

// cycle asks the DLE EOT ns one after the other, until enough.
func (s *session) askEach(ctx context.Context, ns []byte, enough func() bool) error {
	for _, n := range ns {
		if err := s.ask(ctx, n, answerTimeout, enough); err != nil {
			return err
		}
	}
	return nil
}

// notReady notes what the printer said of itself and returns why it cannot take a ticket, if so.
func (d *Device) checkReady(s *session) error {
	c := s.condition()
	d.observe(c)
	if !c.Any(escpos.Blocking) {
		return nil
	}
	now := state(c)
	return ticket.NotReady(fmt.Errorf("%s is %s (it reports: %s); %s", d.o.Name, stateText(now), c, advice(now, false)))
}
