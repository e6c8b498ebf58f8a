package printer

import (
	"context"
	"errors"
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
	// probeFirst is for each answer to DLE EOT on the first try. A printer on a network answers within
	// milliseconds, behind a wireless bridge within some tens.
	probeFirst = 200 * time.Millisecond
	// probeSlow is for a printer that has answered something.
	probeSlow = time.Second
	// silentAfter is how long a printer may take for its first answer ever before it counts as one that gives none:
	// it may serve another client, or wait for one that has left. A till is done within seconds. It is shorter than
	// the time after which the dispatcher interrupts an attempt in favour of a backup.
	silentAfter = 25 * time.Second
)

// maxDroppedProbes is how often a printer may close the connection during a probe. After that its tickets
// are sent without questions: some boards close on any command that they do not know.
const maxDroppedProbes = 3

// probe sends every question that a fence can use and records which are answered. None of them prints. After an
// error no ticket byte was sent. A printer that is silent keeps what it was known to answer: see [Device.Probe].
func (d *Device) probe(ctx context.Context, s *session) error {
	was := d.can.capability
	a, err := d.probeAll(ctx, s)
	if err == nil && len(a.RealTime) == 0 && len(was.RealTime) > 0 {
		err = errNoAnswer
	}
	// It can be asked, although the probe did not come to its end: from now on silence means that it hangs.
	if err != nil && len(a.RealTime) > 0 {
		was.RealTime = a.RealTime
		d.can.set(was)
	}
	switch {
	case err == nil:
		d.can.droppedProbes = 0
		if !a.answers() {
			err = s.provoke(ctx)
		}
		if !errors.Is(err, errNotPrinter) {
			d.can.save(ctx, a)
		}
		return err
	case ticket.IsNotReady(err) || ctx.Err() != nil:
	case !was.Probed.IsZero(): // until the next probe is due, tickets rely on what is known
		d.can.known, d.can.Probed = true, time.Now()
		d.can.Tries++
	// A printer that does not answer any more serves another client, or still prints what that one left.
	case !timedOut(err):
		if d.can.droppedProbes++; d.can.droppedProbes >= maxDroppedProbes {
			d.can.save(ctx, capability{})
		}
	}
	return err
}

// provoke ends our side of a connection on which nothing was heard. Many a server complains of an incomplete request
// only then.
func (s *session) provoke(ctx context.Context) error {
	c, ok := s.conn.(interface{ CloseWrite() error })
	if !ok || c.CloseWrite() != nil {
		return nil
	}
	if err := s.waitFor(ctx, identifyTimeout, never); errors.Is(err, errNotPrinter) || ctx.Err() != nil {
		return err
	}
	return errHeardNothing
}

// probeAll is the sequence of questions. A printer that is not ready answers no fence (GS r and GS ( H are
// not executed while it is offline), so then no conclusion is drawn and the probe is repeated later.
func (d *Device) probeAll(ctx context.Context, s *session) (a capability, err error) {
	if err = s.sendNULs(ctx, longestHeader); err != nil {
		return a, err
	}
	by := map[profile.Confirm]fenceKind{profile.ByProcessID: byID, profile.ByStatus: byStatus}[d.o.Confirm]
	var patience time.Duration
	if d.can.Probed.IsZero() {
		patience = silentAfter
	}
	if err = s.probeRealTime(ctx, patience); err != nil || len(s.realTime) == 0 && by == noFence {
		return a, err
	}
	a.RealTime = s.realTime
	if err := d.checkReady(s); err != nil {
		return a, err
	}
	if a.ASB, err = s.probeASB(ctx); err != nil {
		return a, err
	}
	a.Fence, err = d.askInOrder(ctx, s, by, probeTimeout)
	return a, err
}

// probeRealTime asks each DLE EOT n and notes which are answered. An answer does not contain its n. So if only some
// came, others may have come late and were taken for the wrong ones: each is asked once more, with more time; if none
// came, when the first one does within patience.
func (s *session) probeRealTime(ctx context.Context, patience time.Duration) error {
	for _, within := range []time.Duration{probeFirst, probeSlow} {
		s.mu.Lock()
		s.reported = [5]escpos.Condition{}
		s.mu.Unlock()
		s.realTime = nil
		for n := byte(1); n <= 4; n++ {
			switch err := s.ask(ctx, n, within, never); {
			case err == nil:
				s.realTime = append(s.realTime, n)
			case !timedOut(err):
				return err
			}
			s.mu.Lock()
			s.pending = 0
			s.mu.Unlock()
		}
		switch len(s.realTime) {
		case 4:
			return nil
		case 0:
			if patience == 0 {
				return nil
			}
			// Any of the answers will do. It also sends what could not be sent so far.
			if err := s.ask(ctx, 1, patience, never); err != nil {
				if timedOut(err) {
					return nil
				}
				return err
			}
		}
		if err := s.waitNudging(ctx, 2*lateAnswerWindow, never); !timedOut(err) {
			return err
		}
	}
	return nil
}

// probeASB switches the automatic status (GS a) on and reports whether it comes in the right
// format. If it does not, it is switched off again: its bytes would be taken for answers to GS r.
// With it a ticket learns of the open cover at once; without it, with the next DLE EOT.
func (s *session) probeASB(ctx context.Context) (bool, error) {
	err := s.write(ctx, escpos.AutoStatus(true), probeSlow)
	if err == nil {
		err = s.waitFor(ctx, probeSlow, func() bool { return s.pushed > 0 })
	}
	s.mu.Lock()
	asb := s.pushed > 0 && s.unexpected == 0
	s.mu.Unlock()
	if !asb && (err == nil || timedOut(err)) {
		err = s.write(ctx, escpos.AutoStatus(false), probeSlow)
	}
	if timedOut(err) {
		err = nil
	}
	return asb, err
}
