package printer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/profile"
	"ticketrail/queue/ticket"
)

// The order of the questions matters. DLE EOT comes first: it is answered at once, by a printer
// that is offline too, and a printer that answers none of them gets no further question, because it
// might print them. The fences come last: only they show that a printer which reports no trouble
// also works off its buffer.

const (
	// A printer on a network answers DLE EOT within milliseconds, behind a wireless bridge within some
	// tens. With these limits a printer that never answers is detected in less than a second.
	probeFirst = 300 * time.Millisecond
	probeNext  = 100 * time.Millisecond
	probeLast  = 200 * time.Millisecond
	// probeSlow is for a printer that has answered something.
	probeSlow = time.Second
)

// maxDroppedProbes is how often a printer may close the connection during a probe. After that its tickets
// are sent without questions: some boards close on any command that they do not know.
const maxDroppedProbes = 3

// probe sends every question that a fence can use and records which are answered. None of them prints;
// if a clone takes one for text, the ESC @ before the next ticket clears it. After an error no ticket byte
// was sent. A printer that is silent keeps what it was known to answer: see [Device.Probe].
func (d *Device) probe(ctx context.Context, s *session) error {
	if err := d.checkStays(ctx, s); err != nil {
		return err // a till has the printer: not an answer to a question
	}
	was := d.capability
	a, err := d.probeAll(ctx, s)
	switch {
	case ticket.IsNotReady(err):
		return err
	case errors.Is(err, errWriteOnly):
		a, err = capability{writeOnly: true}, nil
	case err == nil && len(a.RealTime) == 0 && len(was.RealTime) > 0:
		err = errNoAnswer
	}
	if err != nil && !was.Probed.IsZero() && ctx.Err() == nil {
		d.capability = was // until the next probe is due, tickets rely on what is known
		d.capability.known, d.capability.Probed = true, time.Now()
		return fmt.Errorf("probe %s: %w", d.o.Name, err)
	}
	if err != nil {
		return d.probeFailed(ctx, err)
	}
	if a.Fence == noFence && len(a.RealTime) == 0 && !a.writeOnly {
		d.setState(Silent)
	}
	d.droppedProbes = 0
	return d.saveCapability(ctx, a)
}

// probeAll is the sequence of questions. A printer that is not ready answers no fence (GS r and GS ( H are
// not executed while it is offline), so then no conclusion is drawn and the probe is repeated later.
func (d *Device) probeAll(ctx context.Context, s *session) (a capability, err error) {
	by := map[profile.Confirm]fenceKind{profile.ByProcessID: byID, profile.ByStatus: byStatus}[d.o.Confirm]
	// A header that broke off would take the questions for its rest: see askInOrder.
	if err := s.sendNULs(ctx, longestHeader, answerTimeout); err != nil {
		return a, err
	}
	if a.RealTime, err = s.probeRealTime(ctx); err != nil || len(a.RealTime) == 0 && by == noFence {
		return a, err
	}
	if s.blocked() {
		return a, d.checkReady(s)
	}
	if a.ASB, err = s.probeASB(ctx); err != nil {
		return a, err
	}
	d.capability.RealTime = a.RealTime // askInOrder asks these while it waits
	a.Fence, err = d.askInOrder(ctx, s, by, probeTimeout)
	return a, err
}

// probeFailed handles a probe that ended with err. See maxDroppedProbes. A printer that has answered and does
// not any more serves another client, or still prints what that one left: this does not count.
func (d *Device) probeFailed(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, errNoAnswer) {
		if d.droppedProbes++; d.droppedProbes >= maxDroppedProbes {
			d.droppedProbes = 0
			d.setState(Silent)
			if err := d.saveCapability(ctx, capability{}); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("probe %s: %w", d.o.Name, err)
}

// probeRealTime returns the n of each DLE EOT n that is answered. An answer does not contain its n,
// so if some are missing, each n is asked again by itself. The four are sent without waiting for
// each, so that a printer that answers nothing costs the first order 0.8 s.
func (s *session) probeRealTime(ctx context.Context) (answers []byte, err error) {
	all := func() bool { return len(s.pending) == 0 }
	for n, within := range [...]time.Duration{1: probeFirst, probeNext, probeNext, probeNext + probeLast} {
		if n == 0 {
			continue
		}
		err := s.sendQuestion(ctx, byte(n), within)
		if err == nil {
			err = s.waitFor(ctx, within, all)
		}
		if err != nil && !errors.Is(err, errNoAnswer) {
			return nil, err
		}
	}
	switch s.forgetAnswers() {
	case 0:
		return []byte{1, 2, 3, 4}, nil
	case 4:
		return nil, nil
	}
	for n := byte(1); n <= 4; n++ {
		switch err := s.ask(ctx, n, probeSlow, never); {
		case err == nil:
			answers = append(answers, n)
		case !errors.Is(err, errNoAnswer):
			return nil, err
		}
		s.forgetOlder(0)
	}
	return answers, nil
}

// forgetAnswers stops waiting for all pending answers and returns how many there were. If only some
// were answered, it is unknown which, so what they reported is forgotten too. Taking the answer to
// n = 4 for n = 2 would report an open cover when the paper is low.
func (s *session) forgetAnswers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := len(s.pending)
	s.pending = nil
	if missing > 0 {
		s.reported, s.answered = [5]escpos.Condition{}, [5]int{}
	}
	return missing
}

// probeASB switches the automatic status (GS a) on and reports whether it comes in the right
// format. If it does not, it is switched off again: its bytes would be taken for answers to GS r.
// With it a ticket learns of the open cover at once; without it, with the next DLE EOT.
func (s *session) probeASB(ctx context.Context) (bool, error) {
	if err := s.write(ctx, escpos.AutoStatus(true), probeSlow); err != nil && !errors.Is(err, errNoAnswer) {
		return false, err
	}
	err := s.waitFor(ctx, probeSlow, func() bool { return s.pushed > 0 || s.unexpected > 0 })
	if err != nil && !errors.Is(err, errNoAnswer) {
		return false, err
	}
	s.mu.Lock()
	asb := s.pushed > 0 && s.unexpected == 0
	s.mu.Unlock()
	if asb {
		return true, nil
	}
	if err := s.write(ctx, escpos.AutoStatus(false), probeSlow); err != nil && !errors.Is(err, errNoAnswer) {
		return false, err
	}
	return false, nil
}
