// Package dispatch prints the tickets that wait in the kitchen's queues: one goroutine for each
// station takes the ticket at the head of its queue, has the station print it and stores the outcome.
//
// It decides how to go on after a failure (try again, wait for a person, mark the next copy as a
// possible duplicate, hold the ticket) and how long to wait. It knows no printer and no file: a
// station is anything with a Print method, a queue is anything that lends tickets.
//
// Tickets keep their order because the head of a queue stays the head until it is printed, held or
// failed, and because one goroutine alone serves a queue. Stations share nothing but the queue's
// storage, so a dead printer delays no other.
//
// While a station fails, backups may print for it ([Backup]). The tickets stay in their own queue:
// only the place where the head is printed is chosen anew at each attempt.
//
// worker.go takes a ticket and stores its outcome, attempt.go has a station print it and judges the
// result, target.go keeps the state of the stations.
package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A Station prints or shows one ticket.
//
// Print calls begin at most once, when it is ready (connected, status read) and before the first
// ticket byte. begin stores the doubt: from then on a crash leaves the ticket in doubt. If begin
// fails, Print must print nothing and return that error. An error before begin is a clean failure;
// after begin the ticket is in doubt, unless [ticket.Untouched] marks the error: then it has not come
// out. [ticket.NotReady] marks such a failure if it does not count as an attempt, because a person
// must do something about the station. [ticket.Permanent] marks one that says that this station will
// never take this ticket: see [Lane.OnRefusal].
//
// Stations are compared with ==, so a Station is a pointer, or has a type that can be compared.
//
// Print is never called by two goroutines at once for one lane. A station that is a backup is called
// by several lanes at once; it must print one ticket after the other. It sets its own time limits
// (but see [Backup]) and must return soon after ctx ends: if it does not, [Dispatcher.Stop] gives up
// on it. A panic counts as an error.
type Station interface {
	Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error)
}

// A Lane is how the dispatcher serves one lane of the queue: with which station, and by which rules.
type Lane struct {
	Name    string
	Station Station
	// ExpireAfter is how old a ticket may get and still be printed. Older ones expire and are
	// listed on one slip at the head of the queue. Zero: tickets never expire.
	ExpireAfter time.Duration
	// HoldDoubt holds a ticket as soon as it is in doubt. False: it is printed once more, marked,
	// and held if that attempt ends in doubt too.
	HoldDoubt bool
	// Down is the word for Station's device on the paper of a backup: "screen" of a third-party display, "log". Empty
	// is "printer". A screen of ours leaves it empty, because the backup that its WrapBackup returns sets the word.
	Down string
	// Backups print, in this order, while Station fails.
	Backups []Backup
	// OnRefusal are the stations whose queue gets a ticket that this one refuses for good: the first that
	// has not refused it too. So the tickets behind it do not wait, even if that station is off. If there
	// is none, the ticket is held for a person.
	OnRefusal []string
}

// A Backup prints a lane's tickets while the lane's own station fails. The tickets stay in their
// queue, and the station is chosen anew at each attempt. So the order is kept, and the own station
// gets its tickets back as soon as it prints again.
//
// A lane with backups does not wait without limit: a station that has not called begin after 30 s is
// interrupted, and another may be tried.
type Backup struct {
	Name    string // the backup station's name, as people know it
	Station Station
	// After is how long the own station must have printed nothing, counted from its first failure,
	// before this backup is tried. Backups are tried in order, so the second needs a longer After.
	After time.Duration
}

// A Queue lends tickets. [From] makes one of a *queue.Queue.
type Queue interface {
	// Take lends the head of a station's queue. At most one ticket of a station is lent at a time.
	// It blocks until there is a ticket and the station is not held, or ctx ends.
	Take(ctx context.Context, station string) (Lease, error)
	// AwaitOld returns at once unless all tickets that wait for the station are older than olderThan. Then it waits
	// for some seconds, as long as more of them come, so that Expire lists them on one slip.
	AwaitOld(ctx context.Context, station string, olderThan time.Duration)
	// Expire ends the tickets that have waited longer than olderThan and puts a slip that lists
	// them at the head of the queue. It returns the number of tickets that expired.
	Expire(ctx context.Context, station string, olderThan time.Duration) (int, error)
}

// A Lease is one ticket lent to its station. Settle ends it, once. It waits while the storage fails. If ctx ends first
// it returns its error, but the queue may still store the settlement, so the caller does not know whether the ticket is
// settled. If it never is, the ticket is as it was after Begin; if Begin was not called, as if it had never been taken.
type Lease interface {
	Delivery() ticket.Delivery
	Waited() time.Duration // since the ticket was accepted; never shrinks
	// Begin stores the doubt. The dispatcher calls it at most once, and prints nothing if it returns
	// an error. idempotent says that the station is [Idempotent].
	Begin(ctx context.Context, idempotent bool) error
	Settle(ctx context.Context, how queue.Settlement) error
}

// From makes q usable by a [Dispatcher].
func From(q *queue.Queue) Queue { return queueAdapter{q} }

type queueAdapter struct{ *queue.Queue }

// Take returns the interface that [Queue] asks for instead of *queue.Lease.
func (a queueAdapter) Take(ctx context.Context, station string) (Lease, error) {
	return a.Queue.Take(ctx, station)
}

// Options configure a [Dispatcher].
type Options struct {
	Queue      Queue                 // required; [From] makes one
	Logger     *slog.Logger          // nil: no logs
	Registerer prometheus.Registerer // nil: the metrics are not registered
}

// A Dispatcher serves a set of lanes. Its methods may be called by several goroutines at once.
type Dispatcher struct {
	queue   Queue
	log     *slog.Logger
	metrics *metrics

	takeCtx    context.Context // ends when Stop is called: no ticket is taken after it
	stopTaking context.CancelFunc
	printCtx   context.Context // ends when the ctx of Stop does: prints are interrupted
	interrupt  context.CancelFunc

	running sync.WaitGroup // one for each worker; added to under mu and before takeCtx ends

	// mu guards workers, and of each worker the fields that worker.go names. It is held only for
	// moments, never while the queue or a station is called: a dead printer must not block Status.
	mu      sync.Mutex
	workers map[string]*worker // those whose goroutine runs
}

// New returns a Dispatcher that serves nothing yet. It panics if Options.Queue is missing: that is a
// mistake of the programmer and cannot depend on the configuration.
func New(o Options) *Dispatcher {
	if o.Queue == nil {
		panic("dispatch.New: Options.Queue is missing")
	}

	dispatcher := &Dispatcher{
		queue:   o.Queue,
		log:     cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("component", "dispatch"),
		metrics: newMetrics(o.Registerer),
		workers: map[string]*worker{},
	}

	dispatcher.takeCtx, dispatcher.stopTaking = context.WithCancel(context.Background())
	dispatcher.printCtx, dispatcher.interrupt = context.WithCancel(context.Background())
	return dispatcher
}

// Set replaces the lanes that are served. A lane that is equal to its predecessor is not disturbed;
// for that its Station must be the same value, so keep it over a reload. A lane that changes finishes
// the ticket in hand and continues with the new settings at once, without waiting out a pause. A
// lane that is missing finishes the ticket in hand and ends. A new lane starts. Names are unique: of
// two lanes with one name the last counts.
//
// Set does not wait for any of this. However often it is called, no lane is ever served by two
// goroutines at once. After [Dispatcher.Stop] it does nothing.
func (d *Dispatcher) Set(lanes []Lane) {
	wanted := make(map[string]Lane, len(lanes))
	for _, l := range lanes {
		wanted[l.Name] = l
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if d.takeCtx.Err() != nil {
		return
	}

	for name, w := range d.workers {
		if _, ok := wanted[name]; !ok {
			w.lane = nil
			w.wake()
		}
	}

	for name, lane := range wanted {
		running, ok := d.workers[name]
		switch {
		case !ok:
			d.start(lane)
		case running.lane == nil || !sameLane(*running.lane, lane):
			// A worker that was told to end and is still busy continues with the new lane instead of
			// ending: it reads lane under mu before it leaves.
			running.lane = &lane
			running.wake()
		}
	}
}

// start begins to serve a lane. d.mu is held.
func (d *Dispatcher) start(lane Lane) {
	d.metrics.createSeries(lane.Name)
	started := &worker{
		d:      d,
		name:   lane.Name,
		log:    d.log.With("station", lane.Name),
		lane:   &lane,
		wake:   func() {},
		status: Status{Name: lane.Name, Since: time.Now()},
	}
	d.workers[lane.Name] = started
	d.running.Go(started.serve)
}

// sameLane says whether two lanes of one name are equal; Down follows from Station.
func sameLane(a, b Lane) bool {
	return a.ExpireAfter == b.ExpireAfter && a.HoldDoubt == b.HoldDoubt && a.Station == b.Station &&
		slices.Equal(a.OnRefusal, b.OnRefusal) &&
		slices.EqualFunc(a.Backups, b.Backups, func(a, b Backup) bool {
			return a.Name == b.Name && a.After == b.After && a.Station == b.Station
		})
}

// Kick ends a pause of the lane's worker now and resets its backoff: a person has done something
// about the printer, so it is tried before its backups. A name that is not served is no error.
func (d *Dispatcher) Kick(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found, ok := d.workers[name]; ok {
		found.wake()
	}
}

// How long Stop waits after it has interrupted the prints. systemd kills the daemon TimeoutStopSec
// (30 s, deploy/ticketrail.service) after it has asked it to stop, so both are much shorter.
const (
	settleWithin = 5 * time.Second  // for the queue to store the outcomes
	giveUpAfter  = 10 * time.Second // for everything; longer than settleWithin
)

// LongestStop is the longest time that [Dispatcher.Stop] takes after its context has ended.
const LongestStop = giveUpAfter

// Stop ends all workers and returns when their goroutines are gone. No ticket is taken any more. A
// ticket in hand may finish until ctx ends; then it is interrupted and returned to the queue, which
// counts as no attempt. It stays in doubt if it was begun. The outcome is still stored, within 5 s.
//
// A station that ignores its context cannot block Stop: 10 s after ctx has ended Stop gives up,
// abandons that goroutine and returns an error that names the stations. In the queue that ticket is
// still begun, so it is in doubt after the next start. This is the only error. Stop may be called
// again, also concurrently, and without Set.
func (d *Dispatcher) Stop(ctx context.Context) error {
	d.mu.Lock()
	d.stopTaking() // under mu: Set has added its goroutines to running, or never will
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
	select {
	case <-gone:
		return nil
	case <-time.After(giveUpAfter):
	}

	d.mu.Lock()
	stuck := slices.Sorted(maps.Keys(d.workers))
	d.mu.Unlock()
	if len(stuck) == 0 { // the last one ended between the timer and the lock
		return nil
	}

	return fmt.Errorf("stop stations: %w: %s", errStuck, strings.Join(stuck, ", "))
}

var errStuck = errors.New("still printing although interrupted")
