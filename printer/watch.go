package printer

import (
	"context"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/session"
)

// Watch asks an idle printer for its status: once at the start and then every [DeviceOptions].PollEvery,
// so that paper out is known before the next order. It uses a short connection, because other clients use
// the printer too. It never delays a ticket: Print cancels a poll. A printer with confirm: none is not
// asked. Watch returns when ctx ends.
func (d *Device) Watch(ctx context.Context) {
	if d.o.PollEvery <= 0 {
		<-ctx.Done()
		return
	}
	for tick := time.Tick(d.o.PollEvery); ; {
		d.poll(ctx)
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

// Ask is the status of a printer after it was asked once. The connection is closed again, so that the daemon, or the
// next question, finds the printer free.
func (d *Device) Ask(ctx context.Context) Status {
	d.poll(ctx)
	return d.Status()
}

// poll asks once, if no ticket uses the printer; [Device.check] says which questions. It never changes the result of a
// ticket.
func (d *Device) poll(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !d.tryPoll(cancel) {
		return
	}
	defer func() { <-d.lock }()

	d.can.load()
	isAsked := !d.can.mute && !d.can.silent() || d.can.stale() // a silent one only if a probe is due
	if d.idle != nil || !isAsked {
		return // the status of an idle connection is at most Linger old, or a ticket is about to use it
	}

	probed := d.can.Probed
	if connected, err := d.connect(ctx, true); err == nil { // an error was recorded; no ticket waits for it
		if d.can.Probed != probed && d.can.answers() {
			// A printer that does not know a question may have taken it for text. ESC @ clears it.
			_ = connected.Write(ctx, escpos.Reset(), session.AnswerTimeout)
		}
		d.release(connected, unused)
	}

	d.finishIdle()
}

// tryPoll takes the lock if it is free and no ticket waits for it. A ticket that comes later calls cancel.
func (d *Device) tryPoll(cancel context.CancelFunc) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting.Load() > 0 {
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
