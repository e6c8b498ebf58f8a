// Package dispatch is the drain of the kitchen's lines: one goroutine a station takes
// the head of its line, has the station print it and writes down what became of it.
//
// It decides what happens after a failure (try again, wait for a person, mark the next
// copy, put the ticket aside) and how long to wait; it knows no printer and no file. A
// station is whatever has a Print method; a queue is whatever lends tickets and takes
// them back.
//
// Order is kept by doing nothing about it: the head of a line stays its head until it is
// out, held or buried, and nobody else serves that line. Stations share no state but the
// queue, so a dead one delays nobody.
//
// While a station gets nothing out, others may print for it ([Backup]). The line stays its
// own: what is chosen, at each attempt, is only where its head comes out.
//
// A ticket goes through the files in this order: line.go takes it, attempt.go has a station print
// it and decides what that means, settle.go writes that down; outlet.go is what a line knows of its
// stations.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A Station puts one ticket in front of a cook.
//
// Print calls begin exactly once, when it is ready (dialled, status read) and before the
// first ticket byte; begin makes the doubt durable. When begin fails, nothing may be
// printed: Print returns that error. An error before begin is a clean failure; after it,
// the ticket is in doubt, unless [ticket.Untouched] marks it: then no ticket byte had left.
// [ticket.NotReady] marks one before begin that no attempt is spent on, [ticket.Permanent] one
// that no further attempt can cure.
//
// Print is never called by two goroutines at once for one line, but it is by several for a
// station that stands in for others: it prints one ticket after the other. It sets its own time
// limits (but see [Backup]) and returns soon after ctx ends: one that does not makes [Dispatcher.Stop] give
// up on it. A panic counts as an error.
type Station interface {
	Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error)
}

// An Idempotent station knows a ticket again, by its job, that it was given before, and never
// brings it out twice. After an attempt that broke off it is given the ticket again as often as
// that takes: nobody need look. The ticket is in doubt for every other station.
type Idempotent interface{ Idempotent() bool }

func idempotent(s Station) bool {
	i, ok := s.(Idempotent)
	return ok && i.Idempotent()
}

// A Lane says which station drains the line of that name, and how.
type Lane struct {
	Name    string
	Station Station
	// ExpireAfter is how old a ticket may get and still be printed; older ones expire and
	// are listed on one slip at the head of the line. Zero: tickets never get too old.
	ExpireAfter time.Duration
	// HoldDoubt holds a ticket in doubt for a person at once. False prints it once more,
	// marked, and holds it if that ends in doubt too.
	HoldDoubt bool
	// Backups stand in, in this order, while Station gets nothing out.
	Backups []Backup
}

// A Backup prints a line's tickets while the line's own station fails. The tickets stay in
// their line, and which station prints is decided anew at each attempt: so their order is
// kept, and the own station has them back as soon as it prints again.
//
// A line that has backups does not wait for ever: a station that has not begun after 30 s
// is interrupted, and another may be tried.
type Backup struct {
	Name    string // of that station; printers are named to people by it
	Station Station
	// After is how long the line must have got nothing out of its own station, since that
	// first failed, before this one is tried. Backups are tried in order: of a chain, the
	// second one has the longer After.
	After time.Duration
}

// A Queue lends out tickets. [From] makes one of a *queue.Queue.
type Queue interface {
	// Take lends the head of a station's line, at most one at a time. It blocks until there
	// is one and nobody holds the station, or ctx ends.
	Take(ctx context.Context, station string) (Lease, error)
	// Expire ends what has waited in the line for longer than olderThan and puts the slip
	// that lists it at the head. It returns how many tickets that were.
	Expire(ctx context.Context, station string, olderThan time.Duration) (int, error)
}

// A Lease is one ticket on loan. Exactly one of Ack, Retry, Return, Hold and Bury ends it.
// These keep trying while the storage fails and give up when ctx ends; the ticket is then as
// it was after Begin, or as if never taken, whichever happened last.
type Lease interface {
	Delivery() ticket.Delivery
	Waited() time.Duration           // since the ticket was accepted; never shrinks
	Begin(ctx context.Context) error // makes the doubt durable; once; after an error nothing may be printed

	SetIdempotent(is bool) // before Begin: whether the station never brings a ticket out twice; see [Idempotent]
	Untouched()    // takes a Begin back: no ticket byte went out after all

	Ack(ctx context.Context, proof ticket.Proof, detail string) error // it went out
	Retry(ctx context.Context, reason string) error                   // it was an attempt; in doubt iff begun
	Return(ctx context.Context, reason string) error                  // it was no attempt; in doubt iff begun or before
	Hold(ctx context.Context, reason string) error                    // a person must say; the line goes on
	Bury(ctx context.Context, reason string) error                    // it cannot be delivered; the line goes on
}

// From has the dispatcher borrow from q.
func From(q *queue.Queue) Queue { return lender{q} }

type lender struct{ *queue.Queue }

// Take has the result type that Queue asks for.
func (l lender) Take(ctx context.Context, station string) (Lease, error) {
	return l.Queue.Take(ctx, station)
}

// Options are what [New] needs.
type Options struct {
	Queue      Queue                 // required; [From] makes one
	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: metrics that go nowhere
}

// A Dispatcher serves a set of lines. Its methods may be called by several goroutines at once.
type Dispatcher struct {
	queue   Queue
	log     *slog.Logger
	metrics *metrics

	soft      context.Context // ends when Stop is called: no ticket is taken after it
	stop      context.CancelFunc
	hard      context.Context // ends when Stop's patience does: prints are interrupted
	interrupt context.CancelFunc

	running sync.WaitGroup // one for each line; added to under mu and before soft ends

	// mu guards lines and, of each line, what line.go says it guards. It is held for moments
	// only: never while the queue or a station is called.
	mu    sync.Mutex
	lines map[string]*line // lines with a goroutine
}

// New returns a Dispatcher that serves nothing yet. It panics without a queue: that is a
// mistake in the wiring, not something that can happen in a kitchen.
func New(o Options) *Dispatcher {
	if o.Queue == nil {
		panic("dispatch.New: Options.Queue is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Dispatcher{
		queue:   o.Queue,
		log:     o.Logger.With("component", "dispatch"),
		metrics: newMetrics(o.Registerer),
		lines:   map[string]*line{},
	}
	d.soft, d.stop = context.WithCancel(context.Background())
	d.hard, d.interrupt = context.WithCancel(context.Background())
	return d
}

// Set makes lines the ones that are served. A line that stays the same is not disturbed
// (the same Station value, so keep it over a reload); one that changes finishes the ticket
// in hand and goes on with what is new, without waiting out a pause; one that is gone
// finishes the ticket in hand and ends; a new one starts. Names are unique: of two lines
// with one name the last counts.
//
// Set does not wait for any of this. Whatever the order and speed of calls, a line is
// never served by two goroutines at once. After [Dispatcher.Stop] it does nothing.
func (d *Dispatcher) Set(lines []Lane) {
	wanted := make(map[string]Lane, len(lines))
	for _, l := range lines {
		wanted[l.Name] = l
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.soft.Err() != nil {
		return
	}
	for name, l := range d.lines {
		if _, ok := wanted[name]; !ok && l.want != nil {
			l.want = nil
			l.wake()
		}
	}
	for name, w := range wanted {
		l, ok := d.lines[name]
		switch {
		case !ok:
			d.start(w)
		case l.want == nil || !same(*l.want, w):
			// A goroutine that was told to end and has not yet goes on with the new line: it looks
			// at want under mu before it leaves.
			l.want = &w
			l.wake()
		}
	}
}

// start begins to serve a line. d.mu is held.
func (d *Dispatcher) start(w Lane) {
	d.metrics.appear(w.Name, w.Backups)
	l := &line{
		d:      d,
		name:   w.Name,
		log:    d.log.With("printer", w.Name),
		want:   &w,
		wake:   func() {},
		status: Status{Name: w.Name, Since: time.Now()},
	}
	d.lines[w.Name] = l
	d.running.Go(l.serve)
}

// same says whether two lines of one name may be served by one goroutine without its
// noticing. Stations that cannot be compared (functions) are never the same.
func same(a, b Lane) bool {
	return a.ExpireAfter == b.ExpireAfter && a.HoldDoubt == b.HoldDoubt && sameStation(a.Station, b.Station) &&
		slices.EqualFunc(a.Backups, b.Backups, func(a, b Backup) bool {
			return a.Name == b.Name && a.After == b.After && sameStation(a.Station, b.Station)
		})
}

func sameStation(a, b Station) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Kick ends the pause of a line now, if it is in one, and starts its backoff afresh: a
// person did something about the printer, so it is tried before its backups. A line that
// is not served is no error.
func (d *Dispatcher) Kick(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.lines[name]; ok {
		l.wake()
	}
}

// How long Stop waits after it has interrupted a print.
const (
	settleWithin = 5 * time.Second  // for the queue to write down what became of a ticket
	letGoWithin  = 10 * time.Second // for everything; more than settleWithin
)

// Stop ends all lines and returns when their goroutines are gone. No ticket is taken any
// more; one in hand may finish until ctx ends, then it is interrupted and given back,
// which counts as no attempt; its doubt stays if it was begun. What became of a ticket
// is still written down then, for at most 5 s.
//
// A station that ignores its context would keep Stop for ever: 10 s after ctx has ended
// Stop gives up, leaves that goroutine behind and returns an error that names the
// stations. The queue then still has the ticket as it was begun, so it is in doubt at the
// next start. That is the only error. Stop may be called again, also at the same time, and
// without Set.
func (d *Dispatcher) Stop(ctx context.Context) error {
	d.mu.Lock()
	d.stop() // under mu: Set has added its goroutines to running, or never will
	d.mu.Unlock()

	gone := make(chan struct{})
	go func() {
		d.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	d.interrupt()
	patience := time.NewTimer(letGoWithin)
	defer patience.Stop()
	select {
	case <-gone:
		return nil
	case <-patience.C:
	}
	d.mu.Lock()
	stuck := slices.Sorted(maps.Keys(d.lines))
	d.mu.Unlock()
	if len(stuck) == 0 { // the last one left at this very moment
		return nil
	}
	return fmt.Errorf("stop stations: %w: %s", errStuck, strings.Join(stuck, ", "))
}

var errStuck = errors.New("still printing although interrupted")
