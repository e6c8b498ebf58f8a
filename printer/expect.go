package printer

import (
	"context"
	"time"
)

// fresh is for how long the answer to Expect counts as the look at the printer that a ticket
// begins with. Writing the doubt down takes as long on a slow disk, and nobody looks again
// after that.
const fresh = 100 * time.Millisecond

// awaited is for how long, at most, a printer stays connected for a ticket that does not come.
// Others want it too, and one that answers nothing cannot be asked whether it is still there: if it
// is not, a ticket would be in doubt.
const awaited = time.Second

// A forecast is what came of Expect.
type forecast struct {
	at  time.Time
	err error // why no ticket can be printed; nil: the connection is the one that is kept
}

func (f forecast) recent() bool { return !f.at.IsZero() && time.Since(f.at) < fresh }

// Expect says that a ticket for the printer is being written down. The printer is connected and
// asked how it is meanwhile, so that the ticket need not wait for that when it comes. Nothing
// of a ticket is sent, and if none comes the connection is soon given up. Expect does nothing, at
// once, where it would be no help: the printer is in use, not well, not known yet, or shall keep
// no connection.
func (d *Device) Expect() {
	if d.o.Linger < 0 || !d.Status().Fine() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	if !d.tryExpect(cancel) {
		cancel()
		return
	}
	go func() {
		defer cancel()
		d.foresee(ctx)
		d.endExpect()
	}()
}

// tryExpect takes the turn if nobody has it. Release finds cancel; a ticket does not, for it would
// only begin anew what is under way.
func (d *Device) tryExpect(cancel context.CancelFunc) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wanted > 0 || d.leave || d.retired {
		return false
	}
	select {
	case d.turn <- struct{}{}:
		d.expecting = cancel
		return true
	default:
		return false
	}
}

// endExpect gives the turn back. Where a ticket waits for it, what was asked back meanwhile is
// given up after that: see Release.
func (d *Device) endExpect() {
	d.mu.Lock()
	d.expecting = nil
	if d.wanted > 0 {
		<-d.turn
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	d.yield()
}

// foresee is the beginning of a print, without one.
func (d *Device) foresee(ctx context.Context) {
	// What becomes of a first ticket, or of one after a broken one, is not hurried.
	if !d.started || !d.able.known || len(d.unfinished) > 0 || d.foreseen.recent() {
		return
	}
	if d.idle != nil && !d.able.listens() {
		return // to keep it longer is no look at the printer
	}
	s, err := d.connect(ctx)
	if err == nil {
		d.park(s)
	}
	if d.idle != nil { // also one that is not ready
		d.expiry.Reset(min(awaited, d.o.Linger))
	}
	// A failure is for the ticket that waits for this. One that comes later looks itself: the till
	// may be done by then, or the cover closed.
	if ctx.Err() == nil && (err == nil || d.isWanted()) {
		d.foreseen = forecast{time.Now(), err}
	}
}

// isWanted says that a ticket waits for the turn.
func (d *Device) isWanted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wanted > 0
}

// recent returns what Expect found out a moment ago: a session that is ready for a ticket, or the
// reason why there is none. With neither, the printer has to be looked at now. A question that it
// left unanswered is no reason to ask it all again.
func (d *Device) recent() (*session, error) {
	f := d.foreseen
	d.foreseen = forecast{}
	switch {
	case !f.recent():
		return nil, nil
	case f.err != nil:
		return nil, f.err
	case d.idle == nil, !d.idle.alive(), d.idle.blocked():
		return nil, nil
	}
	return d.unpark(), nil
}
