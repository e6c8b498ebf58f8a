// Package directory knows what a venue's employees are called and which time it is there, so
// that a ticket says "Jonathan A." and 19:30 when the service sent an employee's id and UTC.
//
// What it knows comes from the service's API in the background and is kept on a shelf, one value a
// venue. Nothing in the accept path waits for either: [Directory.Name] and [Directory.Zone] read
// memory, and who is not there is printed by the end of the id. A service that fails, hangs or
// sends half a list leaves everything as it was.
//
// An employee who is not in the list any more has left. The name is kept for [Options.Keep],
// because checks that were opened are still changed, refired and cancelled by others.
//
// Names come from the service and are hostile until cleaned: here they are short, on one line
// and printable, and there is a limit to how many there are.
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
// concurrent use, and what it does ends when ctx does.
type Source interface {
	Employees(ctx context.Context, venue string) iter.Seq2[posapi.Employee, error]
	PayrollPeriods(ctx context.Context, venue string) ([]posapi.PayrollPeriod, error)
}

// A Venue is one to know about.
type Venue struct {
	ID string // UUID, in any case
	// Zoned says that its time zone is configured. Then it is not asked for: who has a time zone
	// does not need a token that may read payroll periods.
	Zoned bool
}

// Options of a [Directory]. None is required.
type Options struct {
	// Source is asked. Default: nobody is, what is on the shelf is all.
	Source Source
	// KV keeps what was learned. Default: it is forgotten with the process.
	KV kv.Store
	// Venues are those to know about.
	Venues []Venue
	// Every is how long after a refresh the next one is, give or take a tenth. Default 6 h.
	Every time.Duration
	// Keep is how much running time the name of somebody who left is kept for. It does not go by
	// the wall clock, which may be wrong by decades after a start. Default 30 days.
	Keep time.Duration
	// Logger gets a line when a refresh fails in a new way, and when it works again.
	Logger *slog.Logger
	// Registerer gets the metrics. Default: none.
	Registerer prometheus.Registerer
}

// A Directory is safe for concurrent use.
type Directory struct {
	shelf       kv.Store
	every, keep time.Duration
	log         *slog.Logger
	metrics     *metrics

	venues atomic.Pointer[map[string]*venue] // by canonical id; the map is never changed

	mu      sync.Mutex    // held while what follows and venues are replaced
	source  Source        // guarded by mu
	changed chan struct{} // closed when venues or source have been replaced; guarded by mu
}

// A venue is one to know about, and what is known of it.
type venue struct {
	id    string // canonical
	known atomic.Pointer[record]
	tasks [2]*task

	zoned bool // guarded by Directory.mu

	mu       sync.Mutex
	troubles map[step]error // of the last time each was done; guarded by mu

	storing chan struct{} // holds one element while known is put on the shelf
}

// New makes a directory that knows what is on the shelf. What cannot be read there is logged,
// and learned anew.
func New(o Options) *Directory {
	d := &Directory{
		source: o.Source, shelf: o.KV,
		every: cmp.Or(o.Every, 6*time.Hour), keep: cmp.Or(o.Keep, 30*24*time.Hour),
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("component", "directory"), changed: make(chan struct{}),
	}
	d.venues.Store(&map[string]*venue{})
	d.metrics = newMetrics(d, o.Registerer)
	d.Set(o.Venues)
	return d
}

// Set changes which venues to know about. Those that stay are not disturbed; what was known of
// one that goes is forgotten, on the shelf as well once Run gets to it.
func (d *Directory) Set(venues []Venue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, next := *d.venues.Load(), map[string]*venue{}
	for _, want := range venues {
		id, _ := contract.CanonicalID(strings.TrimSpace(want.ID))
		v := cmp.Or(next[id], old[id])
		if v == nil {
			v = &venue{id: id, troubles: map[step]error{}, storing: make(chan struct{}, 1)}
			v.tasks = [2]*task{{v: v, step: employees}, {v: v, step: payroll}}
			v.known.Store(d.load(id))
			d.metrics.appear(id)
		}
		if v.zoned = want.Zoned; v.zoned {
			v.mu.Lock()
			delete(v.troubles, payroll) // it is not asked for any more
			v.mu.Unlock()
		}
		next[id] = v
	}
	for id := range old {
		if next[id] == nil {
			d.metrics.vanish(id)
		}
	}
	d.venues.Store(&next)
	d.wake()
}

// SetSource has everything asked of another source, at once: whoever corrected a client secret
// wants to see names. nil: nobody is asked any more.
func (d *Directory) SetSource(s Source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.source = s
	d.wake()
}

// wake tells Run to look again. d.mu is held.
func (d *Directory) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// of is what is known of a venue; nil: it is none of ours.
func (d *Directory) of(id string) *record {
	id, _ = contract.CanonicalID(id)
	if v := (*d.venues.Load())[id]; v != nil {
		return v.known.Load()
	}
	return nil
}

// Name is what an employee of a venue is called. Ids that are UUIDs are compared as such, in
// any case.
func (d *Directory) Name(venue, employeeID string) (name string, ok bool) {
	r := d.of(venue)
	if r == nil {
		return "", false
	}
	id, _ := contract.CanonicalID(employeeID)
	p, ok := r.People[id]
	return p.Name, ok
}

// Zone is the tz database name of a venue's time zone, if it is known.
func (d *Directory) Zone(venue string) (zone string, ok bool) {
	r := d.of(venue)
	if r == nil {
		return "", false
	}
	return r.Zone, r.Zone != ""
}

// sorted is the venues in the order of their ids.
func (d *Directory) sorted() []*venue {
	return slices.SortedFunc(maps.Values(*d.venues.Load()), func(a, b *venue) int { return strings.Compare(a.id, b.id) })
}
