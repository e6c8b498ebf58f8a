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
	firstAnswer = 300 * time.Millisecond
	nextAnswer  = 100 * time.Millisecond
	lastAnswer  = 200 * time.Millisecond
	// slowAnswer is for one that has said something.
	slowAnswer = time.Second
	// queuedAnswer is for what is answered in turn, behind what a till may have left to print.
	queuedAnswer = 5 * time.Second
)

// maxDropped is how often a printer may hang up when it is asked what it can, before it is
// asked no more.
const maxDropped = 3

// probe asks a printer everything that a fence needs and sees what it answers. None of it
// prints; what a clone takes for text, the next ESC @ throws away. Its error is clean.
func (d *Device) probe(ctx context.Context, s *session) error {
	a, err := d.find(ctx, s)
	switch {
	case errors.Is(err, errOneWay):
		a = ability{oneWay: true}
	case ticket.IsNotReady(err):
		return err
	case err != nil:
		return d.probeFailed(ctx, err)
	case a.Fence == noFence && len(a.RealTime) == 0:
		d.becomes(Silent)
	}
	d.dropped = 0
	return d.remember(ctx, a)
}

// find is what probe asks. A printer that is not ready answers no fence, so nothing is
// concluded from that: it is asked again when it is ready.
func (d *Device) find(ctx context.Context, s *session) (a ability, err error) {
	if d.able.assumed {
		a.Fence = d.able.Fence
	}
	if err := d.unhinge(ctx, s); err != nil {
		return a, err
	}
	if a.RealTime, err = s.probeRealTime(ctx); err != nil || len(a.RealTime) == 0 {
		return a, err
	}
	if err := d.notReady(s); err != nil {
		return a, err
	}
	if a.ASB, err = s.probeASB(ctx); err != nil || d.able.assumed {
		return a, err
	}
	if a.Fence, err = s.probeFence(ctx, d.issue, queuedAnswer); err != nil || a.Fence != noFence {
		return a, err
	}
	if a.Fence, err = s.probeAgain(ctx, d.issue); err != nil || a.Fence != noFence {
		return a, err
	}
	if err := s.cycle(ctx, a.RealTime, never); err != nil && !errors.Is(err, errQuiet) {
		return a, err
	}
	return a, d.notReady(s) // it may have gone offline just now
}

// probeFailed is the end of a probe that found nothing out. A printer that hangs up each time it is
// asked gets its tickets in the end.
func (d *Device) probeFailed(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		if d.dropped++; d.dropped >= maxDropped {
			d.dropped = 0
			d.becomes(Silent)
			if err := d.remember(ctx, ability{}); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("ask %s what it can do: %w", d.o.Name, err)
}

// probeRealTime returns the DLE EOT that are answered. The answers do not say to which
// question they belong: if some are missing, each is asked alone.
func (s *session) probeRealTime(ctx context.Context) (answers []byte, err error) {
	all := func() bool { return len(s.asked) == 0 }
	for n, within := range [...]time.Duration{1: firstAnswer, nextAnswer, nextAnswer, nextAnswer + lastAnswer} {
		if n == 0 {
			continue
		}
		err := s.send(ctx, byte(n), within)
		if err == nil {
			err = s.until(ctx, within, all)
		}
		if err != nil && !errors.Is(err, errQuiet) {
			return nil, err
		}
	}
	switch s.startOver() {
	case 0:
		return []byte{1, 2, 3, 4}, nil
	case 4:
		return nil, nil
	}
	for n := byte(1); n <= 4; n++ {
		switch err := s.ask(ctx, n, slowAnswer, never); {
		case err == nil:
			answers = append(answers, n)
		case !errors.Is(err, errQuiet):
			return nil, err
		}
		s.forget(0)
	}
	return answers, nil
}

// startOver forgets every question without an answer and returns how many those were. If some
// were answered and some not, nobody knows which: what they said is forgotten too.
func (s *session) startOver() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := len(s.asked)
	s.asked = nil
	if missing > 0 {
		s.told, s.answered = [5]escpos.Condition{}, [5]int{}
	}
	return missing
}

// probeASB switches the automatic status on and sees whether it comes as it should. One
// that comes in another shape would be taken for answers to GS r.
func (s *session) probeASB(ctx context.Context) (bool, error) {
	if err := s.write(ctx, escpos.AutoStatus(true), slowAnswer); err != nil && !errors.Is(err, errQuiet) {
		return false, err
	}
	err := s.until(ctx, slowAnswer, func() bool { return s.pushed > 0 || s.stray > 0 })
	if err != nil && !errors.Is(err, errQuiet) {
		return false, err
	}
	s.mu.Lock()
	asb := s.pushed > 0 && s.stray == 0
	s.mu.Unlock()
	if asb {
		return true, nil
	}
	if err := s.write(ctx, escpos.AutoStatus(false), slowAnswer); err != nil && !errors.Is(err, errQuiet) {
		return false, err
	}
	return false, nil
}

// probeAgain gives a printer that answered no fence the rest of what it may be waiting for:
// in the middle of an image, every question but DLE EOT is dots.
func (s *session) probeAgain(ctx context.Context, id func() [4]byte) (fenceKind, error) {
	const widest = 832 // dots, of a four inch model
	padding := escpos.Resync(profile.Profile{Raster: profile.BitImage, Dots: widest})
	if err := s.write(ctx, padding, queuedAnswer); err != nil && !errors.Is(err, errQuiet) {
		return noFence, err
	}
	return s.probeFence(ctx, id, 2*queuedAnswer) // a slow line has it all to carry
}

// probeFence asks for both kinds of answer and returns the better one that came.
func (s *session) probeFence(ctx context.Context, id func() [4]byte, within time.Duration) (fenceKind, error) {
	s.mu.Lock()
	before, strays := s.statusAnswered, s.stray
	s.mu.Unlock()
	_, both := s.arm(byStatus, id)
	f, ask := s.arm(byID, id) // the one waited for; the other is counted
	both = append(both, ask...)
	if err := s.write(ctx, both, within); err != nil && !errors.Is(err, errQuiet) {
		return noFence, err
	}
	// They are answered in turn: when the first one is, the other is due.
	err := s.until(ctx, within, func() bool { return f.answered || s.statusAnswered > before })
	if err == nil {
		err = s.until(ctx, slowAnswer, func() bool { return f.answered })
	}
	if err != nil && !errors.Is(err, errQuiet) {
		return noFence, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence = nil
	switch {
	case f.answered:
		return byID, nil
	case s.stray > strays: // it babbles
		return noFence, nil
	case s.statusAnswered > before:
		s.statusAsked = s.statusAnswered // what was asked in the middle of an image was never heard
		return byStatus, nil
	}
	return noFence, nil
}
