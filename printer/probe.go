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

const (
	// A printer on a network answers DLE EOT within milliseconds, one behind a radio bridge
	// within some tens. One that never says a word is found out in less than a second.
	probeFirst = 300 * time.Millisecond
	probeNext  = 100 * time.Millisecond
	probeLast  = 200 * time.Millisecond
	// slowAnswer is for one that has said something.
	probeSlow = time.Second
	// queuedAnswer is for what is answered in turn, behind what a till may have left to print.
	probeQueued = 5 * time.Second
)

// maxDropped is how often a printer may hang up when it is asked what it can, before it is
// asked no more.
const maxDroppedProbes = 3

// probe asks a printer everything that a fence needs and sees what it answers. None of it
// prints; what a clone takes for text, the next ESC @ throws away. Its error is clean.
func (d *Device) probe(ctx context.Context, s *session) error {
	a, err := d.probeAll(ctx, s)
	switch {
	case errors.Is(err, errOneWay):
		a = capability{oneWay: true}
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

// find is what probe asks. A printer that is not ready answers no fence, so nothing is
// concluded from that: it is asked again when it is ready.
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
	return a, d.checkReady(s) // it may have gone offline just now
}

// probeFailed is the end of a probe that found nothing out. A printer that hangs up each time it is
// asked gets its tickets in the end.
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
	return fmt.Errorf("ask %s what it can do: %w", d.o.Name, err)
}

// probeRealTime returns the DLE EOT that are answered. The answers do not say to which
// question they belong: if some are missing, each is asked alone.
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

// startOver forgets every question without an answer and returns how many those were. If some
// were answered and some not, nobody knows which: what they said is forgotten too.
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

// probeASB switches the automatic status on and sees whether it comes as it should. One
// that comes in another shape would be taken for answers to GS r.
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

// probeAgain gives a printer that answered no fence the rest of what it may be waiting for:
// in the middle of an image, every question but DLE EOT is dots.
func (s *session) probeAfterPadding(ctx context.Context, id func() [4]byte) (fenceKind, error) {
	const widest = 832 // dots, of a four inch model
	padding := escpos.Resync(profile.Profile{Raster: profile.BitImage, Dots: widest})
	if err := s.write(ctx, padding, probeQueued); err != nil && !errors.Is(err, errNoAnswer) {
		return noFence, err
	}
	return s.probeFence(ctx, id, 2*probeQueued) // a slow line has it all to carry
}

// probeFence asks for both kinds of answer and returns the better one that came.
func (s *session) probeFence(ctx context.Context, id func() [4]byte, within time.Duration) (fenceKind, error) {
	s.mu.Lock()
	before, strays := s.statusAnswered, s.unexpected
	s.mu.Unlock()
	_, both := s.newFence(byStatus, id)
	f, ask := s.newFence(byID, id) // the one waited for; the other is counted
	both = append(both, ask...)
	if err := s.write(ctx, both, within); err != nil && !errors.Is(err, errNoAnswer) {
		return noFence, err
	}
	// They are answered in turn: when the first one is, the other is due.
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
	case s.unexpected > strays: // it babbles
		return noFence, nil
	case s.statusAnswered > before:
		s.statusAsked = s.statusAnswered // what was asked in the middle of an image was never heard
		return byStatus, nil
	}
	return noFence, nil
}
