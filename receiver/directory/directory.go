// Package directory knows the names of a venue's employees and its time zone, so that a ticket
// says "Jonathan A." and 19:30 where the service sent an employee's id and UTC.
//
// It reads them from the service's API in the background and stores them, one value a venue, so
// that they are there after a restart. Accepting and printing orders never waits for either:
// [Directory.Name] and [Directory.Zone] read memory, and an employee who is not known is printed
// as the end of the id. When the service fails, hangs or sends half a list, what was known stays.
//
// An employee who is not in the list any more has left. The name is kept for a month, because
// checks that the employee opened are still changed, refired and cancelled by others.
//
// Names come from the service and are hostile until cleaned: here they are short, on one line
// and printable, and their number is limited.
package directory

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue/kv"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/posapi"
)

// Source is where names and time zones come from. *[posapi.Client] is one. It is safe for
// concurrent use, and its methods return when ctx ends.
type Source interface {
	Me(ctx context.Context, venue string) (posapi.Me, error)
	Employees(ctx context.Context, venue string) iter.Seq2[posapi.Employee, error]
	PayrollPeriods(ctx context.Context, venue string) ([]posapi.PayrollPeriod, error)
}

// A Venue is one whose employees and time zone the directory knows.
type Venue struct {
	ID string // UUID, in any case
	// Zoned says that its time zone is configured. Then payroll periods are not requested: the
	// token need not be good for them.
	Zoned bool
}

// Options of a [Directory].
type Options struct {
	// KV stores what is known. Required.
	KV kv.Store
	// Every is the time from one refresh to the next, give or take a tenth. Default 6 h.
	Every time.Duration
	// Logger gets a line when a refresh fails in a new way, and when it works again. Default: none.
	Logger *slog.Logger
	// Registerer gets the metrics. Default: none.
	Registerer prometheus.Registerer
}

// A Directory is safe for concurrent use. It knows no venues before [Directory.Set], and
// [Directory.Run] refreshes nothing before [Directory.SetSource].
type Directory struct {
	kv      kv.Store
	every   time.Duration
	log     *slog.Logger
	metrics *prometheus.CounterVec

	// Replaced as a whole, because orders look names up without a lock while a reload changes the
	// venues.
	venues atomic.Pointer[map[string]*venue] // by canonical id; the map is never changed

	mu      sync.Mutex    // held while what follows and venues are replaced
	source  Source        // nil: nothing is requested; guarded by mu
	changed chan struct{} // closed when venues or source are replaced; guarded by mu
}

type venue struct {
	id    string // canonical
	zoned atomic.Bool
	known atomic.Pointer[record] // replaced by Run, read without a lock by the accept path
	// Only Run uses what follows, in one goroutine a venue.
	tasks [2]*task // employees, payroll periods
	errs  sync.Map // of the last time that each step was done, by step
}

// New makes a directory.
func New(o Options) *Directory {
	d := &Directory{
		kv: o.KV, every: cmp.Or(o.Every, 6*time.Hour), changed: make(chan struct{}),
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("component", "directory"),
	}
	d.venues.Store(&map[string]*venue{})
	d.register(o.Registerer)
	return d
}

// Set replaces the venues. What is stored about a new one is known when Set returns. A venue that
// stays keeps its state; what was known of one that goes is dropped, and Run deletes what is
// stored. Names of former venues are deleted because they are personal data without a purpose.
func (d *Directory) Set(venues []Venue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, next := *d.venues.Load(), map[string]*venue{}
	for _, want := range venues {
		id, _ := contract.CanonicalID(strings.TrimSpace(want.ID))
		// next first: a venue that is listed twice is one venue.
		v := cmp.Or(next[id], old[id])
		if v == nil {
			v = &venue{id: id, tasks: [2]*task{{step: employees}, {step: payroll}}}
			v.known.Store(d.load(id))
			for s := range problems {
				for _, res := range []result{ok, incomplete, failed} { // from the start, or a rate would miss the first
					d.metrics.WithLabelValues(id, string(s), string(res))
				}
			}
		}
		v.zoned.Store(want.Zoned)
		next[id] = v
	}
	// Or the series of a removed venue would stay at their last value for ever.
	for id := range old {
		if next[id] == nil {
			d.metrics.DeletePartialMatch(prometheus.Labels{"venue": id})
		}
	}
	d.venues.Store(&next)
	d.notify()
}

// SetSource replaces the source; nil: nothing is requested any more. All venues are refreshed
// from a new one at once: an operator who corrected a client secret expects names.
func (d *Directory) SetSource(s Source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.source = s
	d.notify()
}

// notify makes Run start over. d.mu is held.
func (d *Directory) notify() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// known is what is known of a venue, which is empty for one that was not set.
func (d *Directory) known(id string) *record {
	id, _ = contract.CanonicalID(id)
	if v := (*d.venues.Load())[id]; v != nil {
		return v.known.Load()
	}
	return &record{}
}

// Name is the name of an employee of a venue. Ids that are UUIDs are compared in any case.
//
// It never blocks, and is called for each order before its 200 (see [plan.Names]).
func (d *Directory) Name(venue, employeeID string) (name string, ok bool) {
	id, _ := contract.CanonicalID(employeeID)
	p, ok := d.known(venue).People[id]
	return p.Name, ok
}

// Zone is the tz database name of a venue's time zone, if it is known. The zone of the
// configuration has precedence; the caller asks only if there is none.
func (d *Directory) Zone(venue string) (zone string, ok bool) {
	zone = d.known(venue).Zone
	return zone, zone != ""
}

// A VenueStatus is what is known of a venue.
type VenueStatus struct {
	Venue     string        // id
	Employees int           // whose names are known
	Age       time.Duration // since their list last came completely; since the start if it never did
	Zone      string        // tz database name; empty: not known
}

// Status is that of all venues, in the order of their ids.
func (d *Directory) Status() []VenueStatus {
	venues := *d.venues.Load()
	out := make([]VenueStatus, 0, len(venues))
	for _, id := range slices.Sorted(maps.Keys(venues)) {
		r := venues[id].known.Load()
		out = append(out, VenueStatus{Venue: id, Employees: len(r.People), Age: r.age(), Zone: r.Zone})
	}
	return out
}
