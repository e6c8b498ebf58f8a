package printer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/profile"
	"ticketrail/printer/session"
	"ticketrail/queue/ticket"
)

// A capability decides how a ticket on this printer can end (confirmed, processed or sent) and which questions it is
// asked. It comes from a probe, or from the store, which keeps the result of the last probe; confirm: in the
// configuration says which fence a probe asks for. Only an answer changes it, or a person ([Device.Probe]), or another
// address or profile in the configuration. Silence never does: a printer that hangs is silent too, and a ticket that is
// sent to it as to one that cannot answer is lost when it is switched off and on.

// proofOf is the proof of an answer of this kind.
var proofOf = map[session.FenceKind]ticket.Proof{
	session.ByID: ticket.Confirmed, session.ByStatus: ticket.Processed, session.NoFence: ticket.Sent,
}

// A capability has the questions that the printer was found to answer. It is probed, never derived from the model name
// that the printer returns (GS I): clones return the name of another maker's model. [DeviceOptions].KV stores its JSON.
type capability struct {
	known bool // by a probe or by the configuration; false makes the next check a probe
	// Fence is the best fence that it answers.
	Fence session.FenceKind `json:"fence"`
	// RealTime lists the n of each DLE EOT n that it answers.
	RealTime []byte `json:"real_time"`
	// ASB: it pushes its status in the right format after GS a.
	ASB    bool      `json:"automatic_status"`
	Probed time.Time `json:"probed"`
	// Tries is how many probes before this one, in a row, found no fence.
	Tries uint `json:"tries,omitempty"`
	// Profile is the name of the profile with which it was probed. Another one means another printer.
	Profile string `json:"profile,omitempty"`

	// Confirm is the configuration with which it was probed, which names the questions; "" is auto.
	Confirm profile.Confirm `json:"confirm,omitempty"`

	mute bool // it is asked nothing: confirm: none, or nothing can be read from the connection
}

// answers reports whether the printer can be asked anything.
func (a capability) answers() bool { return a.Fence != session.NoFence || len(a.RealTime) > 0 }

// silent reports whether the printer was asked and answered nothing.
func (a capability) silent() bool { return a.known && !a.mute && !a.answers() }

// stale reports whether the printer is to be probed again, because an answer is missing and may come by
// now: it may have been starting, or have been replaced.
func (a capability) stale() bool {
	return a.known && !a.mute && a.Fence == session.NoFence &&
		time.Since(a.Probed) >= time.Minute<<min(a.Tries, maxProbePause)
}

// maxProbePause bounds the pause between probes of a printer that answers no fence: it doubles from a minute to
// about an hour. At first contact a printer may be starting, or another program may have it; a probe of one that
// never answers takes about a second.
const maxProbePause = 6

// valid reports whether a stored capability is one that a probe can have found. A value that was
// written by another version, or damaged, would choose the wrong proof for every ticket.
func (a capability) valid() bool {
	for i, n := range a.RealTime {
		if n < 1 || n > 4 || i > 0 && n <= a.RealTime[i-1] {
			return false
		}
	}
	return a.Fence == session.ByID || a.Fence == session.ByStatus || a.Fence == session.NoFence && len(a.RealTime) > 0
}

// A knowledge is the known capability of a printer, and the evidence against it since. Only the holder
// of the device's lock uses it.
type knowledge struct {
	capability
	loaded bool // from the store or the configuration
	o      *DeviceOptions
	health *health

	idUnanswered  int // hellos in a row in which GS r was answered and GS ( H was not
	droppedProbes int // probes in a row during which the printer closed the connection
}

// load reads the configured or the stored capability, once.
func (k *knowledge) load() {
	if k.loaded {
		return
	}
	k.loaded = true
	never := k.o.Confirm == profile.NoConfirm
	k.set(capability{known: never, mute: never})
	if k.o.KV == nil {
		return
	}

	var a capability
	stored, found, err := k.o.KV.Get(k.o.Key)
	if err == nil && found {
		err = json.Unmarshal(stored, &a)
	}

	if err != nil || found && !a.valid() {
		k.o.Logger.Warn("the stored printer capability cannot be used, the printer is probed again",
			"printer", k.o.Name, "err", err)
		return
	}

	if found && cmp.Or(a.Profile, k.o.Profile) == k.o.Profile && cmp.Or(a.Confirm, profile.Auto) == k.o.Confirm {
		a.known = true
		k.set(a)
	}
}

// set makes a the current capability.
func (k *knowledge) set(a capability) {
	k.capability = a
	k.health.update(func(s *Status) {
		s.BestProof = ""
		if a.known {
			s.BestProof = string(proofOf[a.Fence])
		}
	})
}

// save makes a the current capability and stores it if the printer answered anything. A silent
// printer is probed again after a restart. A crash before the Put has the same effect.
func (k *knowledge) save(ctx context.Context, a capability) {
	a.known, a.Probed, a.Profile, a.Confirm = true, time.Now(), k.o.Profile, k.o.Confirm

	was := k.capability
	if !was.Probed.IsZero() && a.Fence == session.NoFence {
		a.Tries = was.Tries + 1
	}
	k.set(a)

	if !a.answers() {
		k.health.set(Silent, nil)
	}

	if was.Fence != a.Fence || was.Probed.IsZero() {
		k.o.Logger.Info("printer capability detected", "printer", k.o.Name,
			"capability", string(proofOf[a.Fence]), "answers", len(a.RealTime))
	}

	if k.o.KV == nil || !a.valid() {
		return
	}

	encoded, _ := json.Marshal(a) // never fails
	if err := k.o.KV.Put(ctx, k.o.Key, encoded); err != nil {
		k.o.Logger.Warn("the printer capability could not be stored, the printer is probed again after a restart",
			"printer", k.o.Name, "err", err)
	}
}

// dropNoisyFence gives up a fence whose answers cannot be told from other bytes on s.
func (k *knowledge) dropNoisyFence(ctx context.Context, s *session.Session) {
	if k.known && k.Fence == session.ByStatus && s.Noisy() {
		changed := k.capability
		changed.Fence = session.NoFence
		k.save(ctx, changed)
	}
}

// Probe forgets the printer's capability and asks it again: for a person who has replaced it, or set it to another
// mode. The known capability is kept if it cannot be asked now. Probe waits for the ticket that is being printed.
func (d *Device) Probe(ctx context.Context) (Status, error) {
	if d.o.Confirm == profile.NoConfirm {
		return d.health.get(), fmt.Errorf("%s is never asked anything, because confirm: none is set for it", d.o.Name)
	}
	if err := d.acquire(ctx); err != nil {
		return d.health.get(), err
	}
	defer func() { <-d.lock }()

	d.can.load()
	d.finishIdle()
	was := d.can.capability
	d.can.set(capability{})

	connected, err := d.connect(ctx, false)
	if !d.can.known {
		d.can.set(was)
		return d.health.get(), err
	}

	if d.o.KV != nil && !d.can.valid() {
		// A crash before this leaves the old one stored; the operator has no answer yet and asks again.
		if err := d.o.KV.Delete(ctx, d.o.Key); err != nil {
			d.o.Logger.Warn("the stored printer capability could not be deleted", "printer", d.o.Name, "err", err)
		}
	}

	if err == nil {
		d.release(connected, unused)
	}
	return d.health.get(), err
}

// The order of the questions matters. DLE EOT comes first: it is answered at once, by a printer that is offline too,
// and a printer that answers none of them gets no further question, because it might print them. The fences come last:
// only they show that a printer which reports no trouble also works off its buffer.

// maxDroppedProbes is how often a printer may close the connection during a probe. After that its tickets
// are sent without questions: some boards close on any command that they do not know.
const maxDroppedProbes = 3

// probe sends every question that a fence can use and records which are answered. None of them prints. After an
// error no ticket byte was sent. A printer that answered DLE EOT before and is silent now keeps its capability; for
// [Device.Probe], which forgets it first, the silence is a result.
func (d *Device) probe(ctx context.Context, s *session.Session) error {
	was := d.can.capability
	found, err := d.probeAll(ctx, s)
	if err == nil && len(found.RealTime) == 0 && len(was.RealTime) > 0 {
		err = session.ErrNoAnswer
	}

	// The probe failed behind answers to DLE EOT. These are kept: if the printer is silent at the next connection, it
	// is busy or hangs, and is not one that answers nothing.
	if err != nil && len(found.RealTime) > 0 {
		was.RealTime = found.RealTime
		d.can.set(was)
	}

	switch {
	case err == nil:
		d.can.droppedProbes = 0
		if !found.answers() {
			err = s.Provoke(ctx)
		}
		if !errors.Is(err, session.ErrNotPrinter) {
			d.can.save(ctx, found)
		}
		return err
	case ticket.IsNotReady(err) || ctx.Err() != nil || errors.Is(err, session.ErrNotPrinter):
	case !was.Probed.IsZero(): // until the next probe is due, tickets rely on the known one
		d.can.known, d.can.Probed = true, time.Now()
		d.can.Tries++
	// A time-out does not count: the printer serves another client, or still prints that one's bytes.
	case !session.TimedOut(err):
		if d.can.droppedProbes++; d.can.droppedProbes >= maxDroppedProbes {
			d.can.save(ctx, capability{})
		}
	}
	return err
}

// probeAll is the sequence of questions. A printer that is not ready answers no fence (GS r and GS ( H are
// not executed while it is offline), so then no conclusion is drawn and the probe is repeated later.
func (d *Device) probeAll(ctx context.Context, s *session.Session) (a capability, err error) {
	want := map[profile.Confirm]session.FenceKind{ // none for auto: the best that it answers
		profile.ByProcessID: session.ByID, profile.ByStatus: session.ByStatus,
	}[d.o.Confirm]
	var patience time.Duration
	if d.can.Probed.IsZero() {
		patience = session.SilentAfter
	}

	if err = s.ProbeRealTime(ctx, patience); err != nil || len(s.RealTime()) == 0 && want == session.NoFence {
		return a, err
	}
	a.RealTime = s.RealTime()

	ready := func() error { return d.health.recordNotReady(s.Condition()) }
	if err := ready(); err != nil {
		return a, err
	}

	if a.ASB, err = s.ProbeASB(ctx); err != nil {
		return a, err
	}

	a.Fence, err = s.Hello(ctx, want, d.can.Fence != session.NoFence, session.ProbeTimeout, ready)
	return a, err
}
