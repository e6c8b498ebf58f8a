package printer

import (
	"context"
	"encoding/json"
	"time"

	"ticketrail/printer/profile"
	"ticketrail/queue/ticket"
)

// A capability decides what a ticket on this printer can end as (confirmed, processed or sent) and
// which questions it is asked. It has one of three sources: the configuration (confirm: process_id,
// status or none), the store, or a probe. It is discarded when the printer stops answering as it
// did, and the next ticket or poll probes it again.

// A fenceKind is a command that the printer answers once it has processed everything before it.
type fenceKind string

const (
	noFence  fenceKind = ""
	byID     fenceKind = "process_id" // GS ( H, function 48: returns the id when the data is printed
	byStatus fenceKind = "status"     // GS r 1: returns the paper status when it is reached in the buffer
)

// proof is what an answer of this kind proves.
func (k fenceKind) proof() ticket.Proof {
	switch k {
	case byID:
		return ticket.Confirmed
	case byStatus:
		return ticket.Processed
	}
	return ticket.Sent
}

// A capability is what the printer was found to answer. It is probed, never derived from the model name
// that the printer returns (GS I): clones return the name of another maker's model. Its JSON is what
// [DeviceOptions].KV stores.
type capability struct {
	known bool // by a probe or by the configuration
	// Fence is the best fence that it answers.
	Fence fenceKind `json:"fence"`
	// RealTime lists the n of each DLE EOT n that it answers.
	RealTime []byte `json:"real_time"`
	// ASB: it pushes its status in the right format after GS a.
	ASB    bool      `json:"automatic_status"`
	Probed time.Time `json:"probed"`

	writeOnly bool // nothing can be read from the connection
	// configured: Fence comes from the configuration; which DLE EOT it answers is still to be probed.
	configured bool
	neverAsk   bool // confirm: none
}

// mayAnswer reports whether the session has to read. Before the first probe the answer is yes, or
// the probe would hear nothing.
func (a capability) mayAnswer() bool {
	return !a.neverAsk && (!a.known || a.configured || a.Fence != noFence || len(a.RealTime) > 0)
}

// stale reports whether a capability without a fence is older than after. The printer is then probed
// again: it may have been starting, or have been replaced. A capability with a fence is never stale:
// only the printer's silence discards it.
func (a capability) stale(after time.Duration) bool {
	return a.known && !a.neverAsk && a.Fence == noFence && time.Since(a.Probed) >= after
}

// stateWithoutAnswers is the state of a reachable printer that does not report one.
func (a capability) stateWithoutAnswers() string {
	if a.neverAsk || a.writeOnly {
		return Unknown
	}
	return Silent
}

const (
	// probeAgainAfter is how long a printer that answered no probe is not probed again. A probe of a
	// silent printer takes about a second.
	probeAgainAfter = time.Hour
	// probeAgainSoon is the same for a printer that answered in the past: most likely it does again.
	probeAgainSoon = time.Minute
)

// loadCapability reads the configured or the stored capability, once.
func (d *Device) loadCapability() {
	if d.capabilityLoaded {
		return
	}
	d.capabilityLoaded = true
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
		d.o.Logger.Warn("the stored printer capability cannot be read, the printer is probed again",
			"printer", d.o.Name, "err", err)
	}
	if err != nil || !found {
		return
	}
	var a capability
	if err := json.Unmarshal(b, &a); err != nil || !a.valid() {
		d.o.Logger.Warn("the stored printer capability is invalid, the printer is probed again", "printer", d.o.Name)
		return
	}
	a.known = true
	d.setCapability(a)
}

// valid reports whether a stored capability is one that a probe can have found. A value that was
// written by another version, or damaged, would choose the wrong proof for every ticket.
func (a capability) valid() bool {
	for i, n := range a.RealTime {
		if n < 1 || n > 4 || i > 0 && n <= a.RealTime[i-1] {
			return false
		}
	}
	return a.Fence == byID || a.Fence == byStatus
}

// setCapability makes a the current capability. The copy under mu lets Print compose a ticket
// before it has the lock.
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

// saveCapability makes a the current capability and stores it if it has a fence. A capability without
// one is not stored: after a restart the printer is probed again. A crash before the Put has the same
// effect.
func (d *Device) saveCapability(ctx context.Context, a capability) error {
	a.known, a.Probed = true, time.Now()
	was := d.capability
	d.setCapability(a)
	if a.Fence != noFence {
		d.stoppedAnswering = false
	}
	if !a.writeOnly && (was.Fence != a.Fence || !was.known) {
		d.o.Logger.Info("printer capability detected", "printer", d.o.Name,
			"capability", string(a.Fence.proof()), "answers", len(a.RealTime))
	}
	// A configured fence must not outlive the line in the configuration that asks for it.
	if d.o.KV == nil || a.Fence == noFence || d.o.Confirm != profile.Auto {
		return nil
	}
	b, err := json.Marshal(a)
	if err == nil {
		err = d.o.KV.Put(ctx, d.o.Key, b)
	}
	if err != nil && ctx.Err() != nil {
		// The ticket is not begun, so it may simply be tried again.
		return context.Cause(ctx)
	}
	if err != nil {
		d.o.Logger.Warn("the printer capability could not be stored, the printer is probed again after a restart",
			"printer", d.o.Name, "err", err)
	}
	return nil
}

// forgetCapability discards the capability, also the stored one: the printer does not answer as it
// did. A ticket must not wait for a fence that the new printer does not know, nor be proved by it.
func (d *Device) forgetCapability(ctx context.Context, why string) {
	d.unansweredFences, d.silentAttempts, d.stoppedAnswering = 0, 0, true
	d.setCapability(capability{})
	d.o.Logger.Warn("the printer no longer answers as before and is probed again: was it swapped?",
		"printer", d.o.Name, "reason", why)
	if d.o.KV == nil || d.o.Confirm != profile.Auto {
		return
	}
	if err := d.o.KV.Delete(ctx, d.o.Key); err != nil {
		d.o.Logger.Warn("the stored printer capability could not be deleted", "printer", d.o.Name, "err", err)
	}
}
