package printer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/profile"
	"ticketrail/queue/ticket"
)

// A fenceKind is how a printer can be asked whether it has printed what it was sent.
type fenceKind string

const (
	noFence  fenceKind = ""
	byID     fenceKind = "process_id" // GS ( H
	byStatus fenceKind = "status"     // GS r
)

// proof is what an answer proves.
func (k fenceKind) proof() ticket.Proof {
	switch k {
	case byID:
		return ticket.Confirmed
	case byStatus:
		return ticket.Processed
	}
	return ticket.Sent
}

// An ability is what a printer was found able to do. It is never taken from what the
// printer says it is: clones answer with another maker's name.
type ability struct {
	known bool // found out, or said by a person
	// Fence is the best it answers.
	Fence fenceKind `json:"fence"`
	// RealTime are the DLE EOT that it answers.
	RealTime []byte `json:"real_time"`
	// ASB says that it pushes its status as it should when it is told to.
	ASB    bool      `json:"automatic_status"`
	Probed time.Time `json:"probed"`

	oneWay bool // nothing can come back on its wire
	// assumed says that the fence is somebody's word; what else it answers is still to be seen.
	assumed bool
	never   bool // not to be asked anything, ever
}

// listens says that something may come back.
func (a ability) listens() bool {
	return !a.never && (!a.known || a.assumed || a.Fence != noFence || len(a.RealTime) > 0)
}

// stale says that a printer that answered nothing is to be asked again: perhaps it is
// another one by now, or it was starting.
func (a ability) stale() bool {
	return a.known && !a.never && a.Fence == noFence && time.Since(a.Probed) >= askAgainAfter
}

// quietly is the state of a reachable printer that says nothing of itself.
func (a ability) quietly() string {
	if a.never || a.oneWay {
		return Unknown
	}
	return Silent
}

const (
	askAgainAfter = time.Hour

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

// recall takes what was found out before the start, or was said by a person.
func (d *Device) recall() {
	if d.loaded {
		return
	}
	d.loaded = true
	switch d.o.Confirm {
	case profile.NoConfirm:
		d.learn(ability{known: true, never: true})
		return
	case profile.ByProcessID:
		d.learn(ability{assumed: true, Fence: byID})
		return
	case profile.ByStatus:
		d.learn(ability{assumed: true, Fence: byStatus})
		return
	}
	if d.o.Memory == nil {
		return
	}
	b, found, err := d.o.Memory.Get(d.o.Name)
	if err != nil {
		d.o.Logger.Warn("what the printer can do could not be read, it is asked anew", "printer", d.o.Name, "err", err)
	}
	if err != nil || !found {
		return
	}
	var a ability
	if err := json.Unmarshal(b, &a); err != nil || !a.sound() {
		d.o.Logger.Warn("what the printer can do is unreadable, it is asked anew", "printer", d.o.Name)
		return
	}
	a.known = true
	d.learn(a)
}

// sound says that a remembered ability is one that can have been found.
func (a ability) sound() bool {
	for i, n := range a.RealTime {
		if n < 1 || n > 4 || i > 0 && n <= a.RealTime[i-1] {
			return false
		}
	}
	return a.Fence == byID || a.Fence == byStatus
}

// learn makes a what the device can do.
func (d *Device) learn(a ability) {
	d.able = a
	d.mu.Lock()
	d.asb = a.ASB
	d.mu.Unlock()
	d.see(func(s *Status) {
		s.Ability, s.Probed = "", a.Probed
		if a.known || a.assumed {
			s.Ability = string(a.Fence.proof())
		}
	})
}

// remember learns a from the printer itself. That it answers nothing is not written down:
// the next start asks again.
func (d *Device) remember(ctx context.Context, a ability) error {
	a.known, a.Probed = true, time.Now()
	was := d.able
	d.learn(a)
	if !a.oneWay && (was.Fence != a.Fence || !was.known) {
		d.o.Logger.Info("what the printer can say of its tickets was found out", "printer", d.o.Name,
			"ability", string(a.Fence.proof()), "answers", len(a.RealTime))
	}
	if d.o.Memory == nil || a.Fence == noFence || d.o.Confirm != profile.Auto {
		return nil
	}
	b, err := json.Marshal(a)
	if err == nil {
		err = d.o.Memory.Put(ctx, d.o.Name, b)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		d.o.Logger.Warn("what the printer can do could not be stored, it is asked again after a restart", "printer", d.o.Name, "err", err)
	}
	return nil
}

// discard forgets what the printer can do: what stands there does not do it any more.
func (d *Device) discard(ctx context.Context, why string) {
	d.quiet, d.silent = 0, 0
	d.learn(ability{})
	d.o.Logger.Warn("the printer does not answer as it used to and is asked anew what it can: was it swapped?", "printer", d.o.Name, "reason", why)
	if d.o.Memory == nil || d.o.Confirm != profile.Auto {
		return
	}
	if err := d.o.Memory.Delete(ctx, d.o.Name); err != nil {
		d.o.Logger.Warn("what the printer could do could not be deleted from storage", "printer", d.o.Name, "err", err)
	}
}

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
	if a.RealTime, err = s.probeRealTime(ctx); err != nil || len(a.RealTime) == 0 {
		return a, err
	}
	if err := d.notReady(s); err != nil {
		return a, err
	}
	if a.ASB, err = s.probeASB(ctx); err != nil || d.able.assumed {
		return a, err
	}
	if a.Fence, err = s.probeFence(ctx, d.issue); err != nil || a.Fence != noFence {
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

// probeFence asks for both kinds of answer and returns the better one that came.
func (s *session) probeFence(ctx context.Context, id func() [4]byte) (fenceKind, error) {
	_, both := s.arm(byStatus, id)
	f, ask := s.arm(byID, id) // the one waited for; the other is counted
	both = append(both, ask...)
	if err := s.write(ctx, both, queuedAnswer); err != nil && !errors.Is(err, errQuiet) {
		return noFence, err
	}
	err := s.until(ctx, queuedAnswer, func() bool { return f.answered })
	if err != nil && !errors.Is(err, errQuiet) {
		return noFence, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence = nil
	switch {
	case f.answered:
		return byID, nil
	case s.statusAnswered == s.statusAsked:
		return byStatus, nil
	}
	return noFence, nil
}
