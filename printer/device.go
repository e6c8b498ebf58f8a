package printer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/printer/profile"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
	"ticketrail/queue/kv"
)

// A Device has three parts, each readable alone: the connection and the questions on it (package session), the
// printer's capability (knowledge, in capability.go), and how it is (health, in status.go). This file is who may use
// them: one ticket or poll at a time, over a connection that is kept for a moment. A printer serves one client: a
// connection that is kept saves the next ticket the dial, and one that is kept too long locks out the tills.

// DeviceOptions describe one printer and how it is queried. Name and Dialer are required.
type DeviceOptions struct {
	Name   string // in errors and in the log
	Dialer transport.Dialer
	// Confirm is how the result of a ticket is found out; "" is Auto.
	Confirm profile.Confirm
	Profile string // the profile's name; a capability stored under another one does not count
	// Lock is shared by Devices for the same printer. A reload makes a new Device while the old one is
	// still printing; the new one must not connect before that ticket has ended. nil makes a new Lock.
	Lock Lock
	// KV stores the capability that a probe found, under Key. nil: the printer is probed after each
	// start. A stored capability saves the first order of the day the probe.
	KV  kv.Store
	Key string // default: Name

	Connection
	Logger *slog.Logger // nil discards
}

// A Connection is the configuration of the connection to a printer. All stations at a printer have the same.
// The configuration has the same defaults.
type Connection struct {
	// ConnectTimeout bounds the dial. A printer on the local network accepts within
	// milliseconds, but an Epson interface board that serves another client lets the next one wait, and a
	// Wi-Fi printer may sleep.
	ConnectTimeout time.Duration `mapstructure:"connect_timeout" default:"10s" range:"1s 1m"`
	// Linger is how long a working connection is kept for the next ticket; after that, other clients can
	// connect: a till that also prints there waits that long. 0 keeps none.
	Linger time.Duration `mapstructure:"linger" default:"1s" range:"0s 30s"`
	// PollEvery is how often Watch asks an idle printer for its status, so that paper out is known before the next
	// order. It takes a connection for a moment. 0 is never.
	PollEvery time.Duration `mapstructure:"poll_every" default:"5m" range:"10s 24h" zero:"allowed"`
	// WaitForPerson is how long a ticket that was begun waits while the printer reports that it needs a
	// person (no paper, cover open), counted from the first such report; then it is in doubt.
	WaitForPerson time.Duration `mapstructure:"wait_for_person" default:"10m" range:"1s 24h"`
}

// A Device is one physical printer: its address, its lock, the idle connection, its capability and its
// state. All Papers of one printer share it. Its methods are safe for concurrent use.
type Device struct {
	o      DeviceOptions
	lock   Lock
	health health

	// The fields up to mu are used only while lock is held.

	idle      *session.Session // kept for the next ticket
	idleTimer *time.Timer      // ends idle after Linger
	can       knowledge        // which questions it answers
	// lastJob is the job of which the printer took bytes last: the paper may end with a piece of it.
	lastJob uint64
	// pendingCut cuts off the last ticket, if all its text was sent and it is not known that it was cut: it is on
	// paper, or will be once there is paper again, and would hang on the next one. A cut too many costs a strip
	// of paper.
	pendingCut []byte
	cutOn      *session.Session // on which it was sent last
	// maybeInCommand: the last ticket failed or had commands with much data, or no ticket was sent since the start.
	maybeInCommand bool
	// printedAt is when a printer that gives no answer has printed its bytes, as estimated.
	printedAt time.Time
	ids       *session.IDs

	waiting atomic.Int32 // calls of Print that wait for lock

	mu         sync.Mutex         // guards the fields below
	retired    bool               // keep no connection any more
	cancelPoll context.CancelFunc // of the last poll
}

// NewDevice fills in o's defaults; it does not connect.
func NewDevice(o DeviceOptions) *Device {
	o.Key, o.Confirm = cmp.Or(o.Key, o.Name), cmp.Or(o.Confirm, profile.Auto)
	o.Lock = cmp.Or(o.Lock, NewLock())
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))

	device := &Device{o: o, lock: o.Lock, maybeInCommand: true, ids: session.NewIDs(), cancelPoll: func() {}}
	device.health = health{name: o.Name, status: StatusOf(Unknown, nil)}
	device.can = knowledge{o: &device.o, health: &device.health}
	return device
}

// Status returns the known state. It asks the printer nothing and does not wait.
func (d *Device) Status() Status { return d.health.get() }

// acquire takes the lock for a ticket. A poll that holds it is cancelled at once. Otherwise an
// order could wait for all the questions of a probe.
func (d *Device) acquire(ctx context.Context) error {
	d.waiting.Add(1) // from here on no poll starts
	defer d.waiting.Add(-1)

	d.mu.Lock()
	d.cancelPoll()
	d.mu.Unlock()

	select {
	case d.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", d.o.Name, context.Cause(ctx))
	}
}

// dial opens a connection. After an error no byte was sent. Unreachable is recorded only if the
// dial failed by itself, not if the caller gave up: a stop of the daemon is no fault of the
// printer.
func (d *Device) dial(ctx context.Context) (transport.Conn, error) {
	dctx, cancel := context.WithTimeout(ctx, d.o.ConnectTimeout)
	defer cancel()
	conn, err := d.o.Dialer.Dial(dctx)

	switch {
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	case err != nil:
		d.health.set(Unreachable, err)
	}
	return conn, err
}

// open starts a session on a connection.
func (d *Device) open(conn transport.Conn) *session.Session {
	if transport.OneWay(conn) {
		// Whatever is configured or stored: a question would be written into the file, or print as text on a printer
		// that only receives.
		d.can.set(capability{known: true, mute: true, Probed: time.Now()})
	}

	d.health.update(func(s *Status) {
		s.Err = ""
		// Without an answer nothing else would ever clear Unreachable.
		switch {
		case s.State != Unreachable:
		case d.can.mute:
			s.State = Unknown
		case d.can.silent():
			s.State = Silent
		}
	})

	return session.New(conn, session.Options{
		Mute: d.can.mute, RealTime: d.can.RealTime, IDs: d.ids,
		Foreign: d.health.recordForeign, Observe: d.health.observe,
		WaitForPerson: d.o.WaitForPerson, Trouble: d.health.trouble,
	})
}

// waitPrinted waits until a printer that gives no answer has printed its bytes. Bytes that wait in its
// buffer would be lost in a power cut, although it counts as sent: this bounds it to about one ticket.
func (d *Device) waitPrinted(ctx context.Context) error {
	wait := time.Until(d.printedAt)
	if wait <= 0 {
		return nil
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait until %s has printed the ticket before: %w", d.o.Name, context.Cause(ctx))
	}
}

// noteCut is called when the printer has taken everything that was sent on s.
func (d *Device) noteCut(s *session.Session) {
	if d.cutOn == s {
		d.pendingCut = nil
	}
}

// noteHello notes which fence answered a hello, and may lower the capability. A weaker one than the printer answered
// before may be chance: another program's GS ( H can displace ours. Two in a row are not.
func (d *Device) noteHello(ctx context.Context, got session.FenceKind) {
	if got == d.can.Fence {
		d.can.idUnanswered = 0
		return
	}

	if d.can.idUnanswered++; d.can.idUnanswered >= 2 {
		changed := d.can.capability
		changed.Fence = got
		d.can.save(ctx, changed)
	}
}

// takeIdle returns the idle connection, or nil.
func (d *Device) takeIdle() *session.Session {
	idle := d.idle
	if idle != nil {
		d.idleTimer.Stop()
		d.idle = nil
	}
	return idle
}

// finishIdle closes the idle connection, if there is one.
func (d *Device) finishIdle() {
	if idle := d.takeIdle(); idle != nil {
		d.release(idle, over)
	}
}

// A reason is why the use of a connection ends.
type reason int

const (
	unused  reason = iota // no ticket was begun on it
	printed               // the ticket on it is proved
	over                  // nothing uses it any more
	broken                // a question or a ticket failed on it
)

// Retire closes the idle connection and keeps none any more, when a new Device replaces this one. A ticket that
// is printed here now, or begun by a dispatcher that does not know of the new one yet, closes its connection: a
// printer that serves one client would not serve the new Device.
func (d *Device) Retire() {
	d.mu.Lock()
	d.retired = true
	d.cancelPoll()
	d.mu.Unlock()

	select {
	case d.lock <- struct{}{}:
		d.finishIdle()
		<-d.lock
	default: // the holder of the lock sees retired
	}
}
