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
	d.recall()
	if d.idle != nil {
		return // it has just said how it is, or it waits for a ticket
	}
	if d.able.stale(askAgainAfter) {
		d.learn(ability{})
	}
	if !d.able.listens() {
		return
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return // noted
	}
	s := d.open(conn)
	known := d.able.known
	err = d.sound(ctx, s, servedWithin)
	switch {
	case known && errors.Is(err, errQuiet) && ctx.Err() == nil:
		d.becomes(Busy)
	case !known && err == nil && d.able.listens():
		// What a printer that does not know our questions took for text goes.
		_ = s.write(ctx, escpos.Reset(), farewell/4)
	}
	if s.alive() && s.calm() {
		d.dismiss(s)
		return
	}
	d.close(s)
}

// tryPoll takes the turn if nobody has it. Who wants it from here on finds cancel.
func (d *Device) tryPoll(cancel context.CancelFunc) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wanted > 0 {
		return false
	}
	select {
	case d.turn <- struct{}{}:
		d.polling = cancel
		return true
	default:
		return false
	}
}

func (d *Device) endPoll() {
	d.mu.Lock()
	d.polling = nil
	d.mu.Unlock()
	d.yield()
}
