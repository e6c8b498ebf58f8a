package printer

import (
	"context"
	"encoding/json"
	"time"

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
type capability struct {
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
	configured bool
	neverAsk   bool // not to be asked anything, ever
}

// listens says that something may come back.
func (a capability) mayAnswer() bool {
	return !a.neverAsk && (!a.known || a.configured || a.Fence != noFence || len(a.RealTime) > 0)
}

// stale says that a printer that answered nothing is to be asked again: perhaps it is
// another one by now, or it was starting.
func (a capability) stale(after time.Duration) bool {
	return a.known && !a.neverAsk && a.Fence == noFence && time.Since(a.Probed) >= after
}

// quietly is the state of a reachable printer that says nothing of itself.
func (a capability) stateWithoutAnswers() string {
	if a.neverAsk || a.oneWay {
		return Unknown
	}
	return Silent
}

const (
	// askAgainAfter is how long it is believed of a printer that it answers nothing.
	probeAgainAfter = time.Hour
	// askAgainSoon is the same for one that used to answer.
	probeAgainSoon = time.Minute
)

// recall takes what was found out before the start, or was said by a person.
func (d *Device) loadCapability() {
	if d.memoryRead {
		return
	}
	d.memoryRead = true
	switch d.o.Confirm {
	case profile.NoConfirm:
		d.setCapability(capability{known: true, neverAsk: true})
		return
	case profile.ByProcessID:
		d.setCapability(capability{configured: true, Fence: byID})
		return
	case profile.ByStatus:
		d.setCapability(capability{configured: true, Fence: byStatus})
		return
	}
	if d.o.KV == nil {
		return
	}
	b, found, err := d.o.KV.Get(d.o.Key)
	if err != nil {
		d.o.Logger.Warn("what the printer can do could not be read, it is asked anew", "printer", d.o.Name, "err", err)
	}
	if err != nil || !found {
		return
	}
	var a capability
	if err := json.Unmarshal(b, &a); err != nil || !a.valid() {
		d.o.Logger.Warn("what the printer can do is unreadable, it is asked anew", "printer", d.o.Name)
		return
	}
	a.known = true
	d.setCapability(a)
}

// sound says that a remembered ability is one that can have been found.
func (a capability) valid() bool {
	for i, n := range a.RealTime {
		if n < 1 || n > 4 || i > 0 && n <= a.RealTime[i-1] {
			return false
		}
	}
	return a.Fence == byID || a.Fence == byStatus
}

// learn makes a what the device can do.
func (d *Device) setCapability(a capability) {
	d.capability = a
	d.mu.Lock()
	d.asbKnown = a.ASB
	d.mu.Unlock()
	d.update(func(s *Status) {
		s.Capability, s.Probed = "", a.Probed
		if a.known || a.configured {
			s.Capability = string(a.Fence.proof())
		}
	})
}

// remember learns a from the printer itself. That it answers nothing is not written down:
// the next start asks again.
func (d *Device) saveCapability(ctx context.Context, a capability) error {
	a.known, a.Probed = true, time.Now()
	was := d.capability
	d.setCapability(a)
	if a.Fence != noFence {
		d.stoppedAnswering = false
	}
	if !a.oneWay && (was.Fence != a.Fence || !was.known) {
		d.o.Logger.Info("what the printer can say of its tickets was found out", "printer", d.o.Name,
			"ability", string(a.Fence.proof()), "answers", len(a.RealTime))
	}
	if d.o.KV == nil || a.Fence == noFence || d.o.Confirm != profile.Auto {
		return nil
	}
	b, err := json.Marshal(a)
	if err == nil {
		err = d.o.KV.Put(ctx, d.o.Key, b)
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
func (d *Device) forgetCapability(ctx context.Context, why string) {
	d.unansweredFences, d.silentAttempts, d.stoppedAnswering = 0, 0, true
	d.setCapability(capability{})
	d.o.Logger.Warn("the printer does not answer as it used to and is asked anew what it can: was it swapped?", "printer", d.o.Name, "reason", why)
	if d.o.KV == nil || d.o.Confirm != profile.Auto {
		return
	}
	if err := d.o.KV.Delete(ctx, d.o.Key); err != nil {
		d.o.Logger.Warn("what the printer could do could not be deleted from storage", "printer", d.o.Name, "err", err)
	}
}
