package printer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/queue/kv"
)

// DeviceOptions say where a printer is and how it is to be asked. Name and Dialer are
// required.
type DeviceOptions struct {
	Name   string // in errors and in the log
	Dialer transport.Dialer
	// Confirm says how it is learnt that a ticket came out; "" is Auto.
	Confirm profile.Confirm
	// Turn is for Devices that stand for one printer one after the other: a reload makes another
	// while the ticket of the old one is still printing, and is to ask it nothing before it is its
	// turn. Nil makes one.
	Lock Lock
	// KV keeps what the printer was found able to do, under Key. Nil: it is asked anew after every
	// start.
	KV  kv.Store
	Key string // default: Name

	// ConnectTimeout bounds the dial; 0 is 10 s.
	ConnectTimeout time.Duration
	// Linger is how long a connection that works is kept for the next ticket; then others can
	// have the printer. 0 is 1 s, below zero not at all.
	Linger time.Duration
	// PollEvery is how often Watch asks an idle printer how it is; 0 is never.
	PollEvery time.Duration
	// WaitForPerson is how long a ticket that is on its way waits for somebody to put in paper
	// or to close the cover, counted from when the printer says that this is missing; 0 is 10 min.
	WaitForPerson time.Duration
	Logger        *slog.Logger // nil discards
}

// A Device is one physical printer: its wire, whose turn it is, the connection that
// lingers, what it can do and how it is. Papers that print on the same printer share one.
// It is safe for concurrent use.
type Device struct {
	o    DeviceOptions
	lock Lock

	// What follows belongs to whoever has the turn.

	idle       *session    // kept for the next ticket
	idleTimer  *time.Timer // of idle
	parkCount  int         // how often a connection was kept
	capability capability
	memoryRead bool // Memory was asked
	begunOnce  bool // a ticket was begun since the start
	// unfinished is what a printer must be sent that may wait for the rest of a command, because
	// the last ticket ended half way.
	padding []byte
	// uncut is what cuts off the last ticket, if all of it was sent and that did not go out: it is on
	// paper, or will be as soon as there is paper again.
	pendingCut []byte
	// owed is how many GS r earlier connections left without an answer. On a wire without
	// connections it may still come.
	outstanding    int
	silentAttempts int // attempts in a row that a printer known to answer did not
	// silentSince is when the first of those was; lapsed says that it did answer once.
	silentSince      time.Time
	stoppedAnswering bool
	unansweredFences int // fences in a row without an answer and without a reason
	droppedProbes    int // probes in a row that ended the connection

	mu            sync.Mutex // guards what follows
	status        Status
	asbKnown      bool // able.ASB, for who has not the turn
	paperLow      bool // paper, as logged
	loggedChanges int  // changes since toldSince, see tell
	loggedSince   time.Time
	sentIDs       [64][4]byte        // the last ids sent, in a ring
	nextID        int                //
	releaseAsked  bool               // the connection in use shall not linger
	retired       bool               // no connection shall, ever again
	cancelPoll    context.CancelFunc // of an idle poll under way
	waiting       int                // how many wait for the turn, to print
}

// NewDevice fills in o's defaults and touches nothing. It panics when a required option is
// missing: that is a mistake in the wiring.
func NewDevice(o DeviceOptions) *Device {
	switch {
	case o.Name == "":
		panic("printer: DeviceOptions.Name is empty")
	case o.Dialer == nil:
		panic("printer: DeviceOptions.Dialer is nil")
	}
	if o.Key == "" {
		o.Key = o.Name
	}
	if o.Lock == nil {
		o.Lock = NewLock()
	}
	if o.Confirm == "" {
		o.Confirm = profile.Auto
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	if o.Linger == 0 {
		o.Linger = time.Second
	}
	if o.WaitForPerson <= 0 {
		o.WaitForPerson = 10 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Device{o: o, lock: o.Lock}
	d.status = Status{State: Unknown, Since: time.Now()}
	return d
}

// acquire waits for the turn. An idle poll gives way at once.
func (d *Device) acquire(ctx context.Context) error {
	d.mu.Lock()
	d.waiting++ // from here on no poll begins
	if d.cancelPoll != nil {
		d.cancelPoll()
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.waiting--
		d.mu.Unlock()
	}()
	select {
	case d.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", d.o.Name, context.Cause(ctx))
	}
}

// yield gives the turn back, and before that up what was asked back meanwhile: see Release.
func (d *Device) unlock() {
	for {
		d.mu.Lock()
		if !d.releaseAsked || d.idle == nil {
			d.releaseAsked = false
			<-d.lock
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		d.finishIdle()
	}
}

// dial opens a connection. Its error is clean: not a byte has gone out.
func (d *Device) dial(ctx context.Context) (transport.Conn, error) {
	dctx, cancel := context.WithTimeout(ctx, d.o.ConnectTimeout)
	defer cancel()
	conn, err := d.o.Dialer.Dial(dctx)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	d.update(func(s *Status) { s.State, s.Err, s.Connected = Unreachable, err.Error(), false })
	return nil, err
}

// open makes a session of a connection.
func (d *Device) open(conn transport.Conn) *session {
	d.update(func(s *Status) {
		s.Connected, s.Err = true, ""
		if s.State == Unreachable && !d.capability.mayAnswer() { // others will say how they are
			s.State = d.capability.stateWithoutAnswers()
		}
	})
	warned := false // of the connection; only its reader asks
	foreign := func(id [4]byte) {
		if d.sentByUs(id) {
			return // late, but ours
		}
		d.mu.Lock()
		d.status.Foreign++
		d.mu.Unlock()
		if !warned {
			warned = true
			d.o.Logger.Warn("another program is printing on this printer at the same time: tickets may come out mixed", "printer", d.o.Name, "id", fmt.Sprintf("%q", id))
		}
	}
	return newSession(conn, !d.capability.mayAnswer() || transport.OneWay(conn), foreign, func(c escpos.Condition) { d.observe(c) })
}

// issue makes an id and remembers it.
func (d *Device) issueID() [4]byte {
	id := newID()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sentIDs[d.nextID%len(d.sentIDs)] = id
	d.nextID++
	return id
}

func (d *Device) sentByUs(id [4]byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, known := range d.sentIDs {
		if known == id {
			return true
		}
	}
	return false
}

// close gives a connection up: what the printer has not taken is not to trickle out later.
func (d *Device) close(s *session) {
	d.outstanding += s.outstandingStatus()
	_ = s.conn.Close() // the error at hand says more
	d.update(func(s *Status) { s.Connected = false })
}

// farewell bounds the taking leave of a printer that has printed everything.
const finishTimeout = 2 * time.Second

// breaks notes that a ticket of p ended half way. Only dots and codes are commands long enough
// to need much: a slow wire should not carry thousands of zeros for nothing.
func (d *Device) noteBroken(p profile.Profile, sent []byte) {
	n := len(d.padding)
	for _, long := range []string{"\x1dv0", "\x1d(L", "\x1d8L", "\x1d(k"} {
		if bytes.Contains(sent, []byte(long)) {
			n = max(n, len(escpos.Resync(p)))
		}
	}
	d.padding = make([]byte, max(n, shortCommand))
}

// shortCommand is longer than any other command.
const shortCommand = 64

// dismiss ends a connection on which nothing is under way.
func (d *Device) finishSession(s *session) {
	d.outstanding += s.outstandingStatus()
	ctx, cancel := context.WithTimeout(context.Background(), finishTimeout)
	defer cancel()
	if d.capability.ASB && s.alive() {
		_ = s.write(ctx, escpos.AutoStatus(false), finishTimeout/4) // the next client may not expect it
	}
	_ = s.finish(ctx) // nothing depends on it any more
	d.update(func(s *Status) { s.Connected = false })
}

// leaveUnused ends a session on which nothing was begun, or keeps it.
func (d *Device) keepOrClose(s *session) {
	if d.capability.mayAnswer() && s.nothingPending() {
		d.park(s)
		return
	}
	d.close(s)
}

// pushes says whether the printer is known to push its status, for who has not the turn.
func (d *Device) pushesStatus() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asbKnown
}

// park keeps a connection for the next ticket, for a while.
func (d *Device) park(s *session) {
	d.mu.Lock()
	leave := d.releaseAsked || d.retired
	d.mu.Unlock()
	if leave || d.o.Linger < 0 || !s.alive() || len(s.unsent) > 0 {
		d.finishSession(s)
		return
	}
	d.parkCount++
	d.idle = s
	parked := d.parkCount
	d.idleTimer = time.AfterFunc(d.o.Linger, func() {
		d.lock <- struct{}{}
		defer d.unlock()
		if d.parkCount == parked {
			d.finishIdle()
		}
	})
}

// unpark takes the connection that was kept, if there is one.
func (d *Device) takeIdle() *session {
	s := d.idle
	if s != nil {
		d.idleTimer.Stop()
		d.idle = nil
	}
	return s
}

func (d *Device) finishIdle() {
	if s := d.takeIdle(); s != nil {
		d.finishSession(s)
	}
}

// Retire is Release for good: another Device takes this one's place. What is still printed
// here, or begun by who does not know yet, leaves no connection behind: a printer that serves
// one client would keep the other Device at the door.
func (d *Device) Retire() {
	d.mu.Lock()
	d.retired = true
	d.mu.Unlock()
	d.Release()
}

// Release gives up a connection that is kept for the next ticket, now or, if a ticket is
// being printed, after that. The Device stays usable.
func (d *Device) Release() {
	d.mu.Lock()
	d.releaseAsked = true
	if d.cancelPoll != nil {
		d.cancelPoll()
	}
	select {
	case d.lock <- struct{}{}:
		d.mu.Unlock()
		d.unlock()
	default: // whoever has the turn gives the connection up with it
		d.mu.Unlock()
	}
}
