package printer

import (
	"context"
	"errors"
	"time"

	"ticketrail/printer/escpos"
)

// Watch asks the printer how it is whenever nobody has used it for a while: once at the
// start and then every [DeviceOptions].PollEvery, over a brief connection, for others share
// it. A ticket never waits for that: the poll gives way. A printer that is not to be asked
// is left alone. Watch returns when ctx ends.
func (d *Device) Watch(ctx context.Context) {
	if d.o.PollEvery <= 0 {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(d.o.PollEvery)
	defer tick.Stop()
	for {
		d.poll(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// poll asks once, if the printer is free.
func (d *Device) poll(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !d.tryPoll(cancel) {
		return
	}
	defer d.endPoll()
	d.loadCapability()
	if d.idle != nil {
		return // it has just said how it is, or it waits for a ticket
	}
	if d.capability.stale(probeAgainAfter) {
		d.setCapability(capability{})
	}
	if !d.capability.mayAnswer() {
		return
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return // noted
	}
	s := d.open(conn)
	known := d.capability.known
	err = d.askOrProbe(ctx, s, firstAnswerTimeout)
	switch {
	case known && errors.Is(err, errNoAnswer) && ctx.Err() == nil:
		d.setState(Busy)
	case !known && err == nil && d.capability.mayAnswer():
		// What a printer that does not know our questions took for text goes.
		_ = s.write(ctx, escpos.Reset(), finishTimeout/4)
	}
	if s.alive() && s.nothingPending() {
		d.finishSession(s)
		return
	}
	d.close(s)
}

// tryPoll takes the turn if nobody has it. Who wants it from here on finds cancel.
func (d *Device) tryPoll(cancel context.CancelFunc) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting > 0 {
		return false
	}
	select {
	case d.lock <- struct{}{}:
		d.cancelPoll = cancel
		return true
	default:
		return false
	}
}

func (d *Device) endPoll() {
	d.mu.Lock()
	d.cancelPoll = nil
	d.mu.Unlock()
	d.unlock()
}
