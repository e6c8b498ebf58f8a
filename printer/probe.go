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
	// probeQueued is for commands that are answered in order, after what a till left to print.
	probeQueued = 5 * time.Second
)

// maxDroppedProbes is how often a printer may close the connection during a probe. After that its tickets
// are sent without questions: some boards close on any command that they do not know.
const maxDroppedProbes = 3

// probe sends every question that a fence can use and records which are answered. None of them prints;
// if a clone takes one for text, the ESC @ before the next ticket clears it. After an error no ticket byte
// was sent.
func (d *Device) probe(ctx context.Context, s *session) error {
	a, err := d.probeAll(ctx, s)
	switch {
	case errors.Is(err, errWriteOnly):
		a = capability{writeOnly: true}
	case ticket.IsNotReady(err):
		return err
	case err != nil:
		return d.probeFailed(ctx, err)
	case a.Fence == noFence && len(a.RealTime) == 0:
		d.setState(Silent)
	}
	d.droppedProbes = 0
	return d.saveCapability(ctx, a)
}

// probeAll is the sequence of questions. A printer that is not ready answers no fence (GS r and GS ( H are
// not executed while it is offline), so then no conclusion is drawn and the probe is repeated later.
func (d *Device) probeAll(ctx context.Context, s *session) (a capability, err error) {
	if d.capability.configured {
		a.Fence = d.capability.Fence
	}
	if err := d.endBrokenHeader(ctx, s); err != nil {
		return a, err
	}
	if a.RealTime, err = s.probeRealTime(ctx); err != nil || len(a.RealTime) == 0 {
		return a, err
	}
	if err := d.checkReady(s); err != nil {
		return a, err
	}
	if a.ASB, err = s.probeASB(ctx); err != nil || d.capability.configured {
		return a, err
	}
	if a.Fence, err = s.probeFence(ctx, d.issueID, probeQueued); err != nil || a.Fence != noFence {
		return a, err
	}
	if a.Fence, err = s.probeAfterPadding(ctx, d.issueID); err != nil || a.Fence != noFence {
		return a, err
	}
	if err := s.askEach(ctx, a.RealTime, never); err != nil && !errors.Is(err, errNoAnswer) {
		return a, err
	}
	return a, d.checkReady(s) // no fence was answered: it may just have gone offline
}

// probeFailed handles a probe that ended with err. See maxDroppedProbes. An error other than a
// dropped connection counts the same: the questions could not be asked.
func (d *Device) probeFailed(ctx context.Context, err error) error {
	if ctx.Err() == nil {
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

// probeAfterPadding repeats the fence probe after NULs for the widest image. A printer that still waits
// for image data takes every question but DLE EOT for dots.
func (s *session) probeAfterPadding(ctx context.Context, id func() [4]byte) (fenceKind, error) {
	const widest = 832 // dots on 112 mm paper
	padding := escpos.Resync(profile.Profile{Raster: profile.BitImage, Dots: widest})
	if err := s.write(ctx, padding, probeQueued); err != nil && !errors.Is(err, errNoAnswer) {
		return noFence, err
	}
	return s.probeFence(ctx, id, 2*probeQueued) // on a serial line the padding takes seconds
}

// probeFence asks for both kinds of fence and returns the better one that was answered. Both go in
// one write, so that a printer that does not know GS ( H still answers the GS r before it.
func (s *session) probeFence(ctx context.Context, id func() [4]byte, within time.Duration) (fenceKind, error) {
	s.mu.Lock()
	before, unexpected := s.statusAnswered, s.unexpected
	s.mu.Unlock()
	_, both := s.newFence(byStatus, id)
	f, ask := s.newFence(byID, id) // f is waited for; answers to GS r are counted
	both = append(both, ask...)
	if err := s.write(ctx, both, within); err != nil && !errors.Is(err, errNoAnswer) {
		return noFence, err
	}
	// Both are answered in order: once the first answer is here, the other must follow soon.
	err := s.waitFor(ctx, within, func() bool { return f.answered || s.statusAnswered > before })
	if err == nil {
		err = s.waitFor(ctx, probeSlow, func() bool { return f.answered })
	}
	if err != nil && !errors.Is(err, errNoAnswer) {
		return noFence, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence = nil
	switch {
	case f.answered:
		return byID, nil
	case s.unexpected > unexpected: // it sends status bytes unasked
		return noFence, nil
	case s.statusAnswered > before:
		s.statusAsked = s.statusAnswered // a GS r that was taken for image data is never answered
		return byStatus, nil
	}
	return noFence, nil
}
