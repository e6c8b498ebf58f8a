package pos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/queue/kv"
	"ticketrail/receiver/contract"
)

// Names holds the names of each venue's employees, and its time zone, so that a ticket says "Jonathan A." and 19:30
// where the service sent an id and UTC.
//
// They are read in the background and stored, one value a venue, so that they are there after a restart.
// [Names.Name] and [Names.Zone] read memory; an employee who is not known prints as the end of the id. When the
// service fails, hangs or sends half a list, the known names stay.
//
// It is safe for concurrent use. It knows no venue before [Names.Use].
type Names struct {
	kv    kv.Store
	every time.Duration
	log   *slog.Logger

	// Replaced as a whole, because orders look names up without a lock while a reload changes the venues.
	round atomic.Pointer[round]
}

// A round is the client and the venues from one call of [Names.Use] to the next.
type round struct {
	client *Client
	venues map[string]*venueNames // by canonical id
	ended  chan struct{}          // closed when the next round has replaced it
}

type venueNames struct {
	id    string // canonical
	zoned bool
	known atomic.Pointer[record] // replaced by Run, read without a lock by the accept path
}

const (
	firstWithin  = 5 * time.Second // of the start, so that many venues are not refreshed at one moment
	afterFailure = 10 * time.Minute
	storeTimeout = 30 * time.Second
)

// NewNames makes names that are stored in kv and refreshed so often.
func NewNames(store kv.Store, every time.Duration, log *slog.Logger) *Names {
	names := &Names{kv: store, every: every, log: log.With("component", "pos")}
	names.round.Store(&round{ended: make(chan struct{})})
	return names
}

// Use replaces the client and the venues, which are by canonical id. Of a venue that is true the time zone is
// configured, so its payroll periods are not requested: the token need not be good for them.
//
// The stored names of a new venue are known when Use returns, a venue that stays keeps its names, and [Names.Run]
// deletes the stored names of one that goes: they are personal data. All venues are refreshed at once: an operator who
// corrected a secret expects names. Only one goroutine may call Use at a time.
func (n *Names) Use(client *Client, venues map[string]bool) {
	old := n.round.Load()
	next := &round{client: client, venues: map[string]*venueNames{}, ended: make(chan struct{})}
	for id, zoned := range venues {
		venue := &venueNames{id: id, zoned: zoned}
		if same := old.venues[id]; same != nil {
			venue.known.Store(same.known.Load())
		} else {
			venue.known.Store(n.load(id))
		}
		next.venues[id] = venue
	}

	n.round.Store(next)
	close(old.ended)
}

// known returns the record of a venue, which is empty for one that is not used.
func (n *Names) known(venue string) *record {
	if used := n.round.Load().venues[venue]; used != nil {
		return used.known.Load()
	}
	return &record{}
}

// Name is the name of an employee of a venue. It never blocks, and is called for each order before its 200.
func (n *Names) Name(venue, employeeID string) (name string, ok bool) {
	id, _ := contract.CanonicalID(employeeID)
	name, ok = n.known(venue).People[id]
	return name, ok
}

// Zone is the tz database name of a venue's time zone, if it is known. A caller asks only if none is configured.
func (n *Names) Zone(venue string) (zone string, ok bool) {
	zone = n.known(venue).Zone
	return zone, zone != ""
}

// Count is how many employees of a venue have a known name.
func (n *Names) Count(venue string) int { return len(n.known(venue).People) }

// Problems are the calls that failed when a venue was refreshed. One refresh without an answer is no problem yet:
// a box that has just started may have no network.
func (n *Names) Problems(venue string) []*Error {
	return n.known(venue).failed
}

// Run refreshes the venues until ctx ends: within seconds, then as often as configured, after a failure sooner. It must
// be called once, and returns when all requests have ended.
//
// It has one goroutine for each venue, so that one that hangs does not delay the others. A round lasts until
// [Names.Use] is called; then all end and the next round starts with the new venues.
func (n *Names) Run(ctx context.Context) {
	for ctx.Err() == nil {
		now := n.round.Load()
		n.deleteOthers(ctx, now.venues) // before requests begin, so that none can store a removed venue again

		asking, stop := context.WithCancel(ctx)
		var refreshing sync.WaitGroup
		for _, v := range now.venues {
			refreshing.Go(func() { n.keepFresh(asking, now.client, v) })
		}

		select {
		case <-now.ended:
		case <-ctx.Done():
		}

		stop()
		refreshing.Wait() // or an answer to the old client could be stored after one to the new
	}
}

// keepFresh refreshes a venue until ctx ends.
func (n *Names) keepFresh(ctx context.Context, client *Client, v *venueNames) {
	unanswered := false
	for wait := rand.N(firstWithin); ; {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}

		next := n.request(ctx, client, v)
		if ctx.Err() != nil {
			return // the errors say nothing about the service
		}

		if wait = afterFailure + rand.N(afterFailure/10); next.failed == nil {
			n.log.Info("venue refreshed", "venue", v.id, "employees", len(next.People), "timezone", next.Zone)
			wait = n.every*9/10 + rand.N(n.every/5+1) // give or take a tenth, so that venues drift apart
		}

		lost := next.failed != nil && next.failed[0].NoAnswer
		if lost && !unanswered {
			next.failed = nil
		}
		unanswered = lost

		v.known.Store(next) // in use at once, then stored: a slow disk must not delay names
		n.store(ctx, v.id, next)
	}
}

// request requests a venue's names and time zone. A part that could not be read stays as it was. A panic over an answer
// must not end the program that prints.
func (n *Names) request(ctx context.Context, client *Client, v *venueNames) (next *record) {
	was := v.known.Load()
	next = &record{Zone: was.Zone, People: was.People}
	note := func(err error) {
		if failed, ok := errors.AsType[*Error](err); ok {
			next.failed = append(next.failed, failed)
		}
	}

	defer func() {
		if panicked := recover(); panicked != nil {
			n.log.Error("panic while names were refreshed", "panic", fmt.Sprint(panicked),
				"stack", string(debug.Stack()))
			note(&Error{Call: CallMe, Venue: v.id, Problem: "a panic over an answer", Advice: "see the log"})
		}
	}()

	venue, err := client.Venue(ctx, v.id)
	if err != nil {
		note(err)
		return next
	}

	note(next.readPeople(venue.Employees(ctx)))
	if !v.zoned {
		zone, err := venue.Zone(ctx)
		next.Zone = cmp.Or(zone, was.Zone)
		note(err)
	}
	return next
}

// Limits of a name that the service can make a box keep. A name fills a line of paper several times over.
const (
	maxName = 100 // bytes
	maxID   = 64  // bytes; a UUID has 36
)

// A record has the names and the time zone of a venue. It is stored as one JSON value under the venue's id.
type record struct {
	Zone   string            `json:"zone,omitempty"`
	People map[string]string `json:"people"` // names by canonical id; never changed

	failed []*Error // the calls that failed in the latest refresh; not stored
}

// readPeople takes over the venue's employees. When the list breaks off nothing changes: who is missing in it may be on
// the next page. An incomplete list is used for its names, but no employee counts as gone.
func (r *record) readPeople(list iter.Seq2[Employee, error]) (problem error) {
	people := map[string]string{}
	for e, err := range list {
		id, name := strings.TrimSpace(e.ID), displayName(e)
		switch {
		case Incomplete(err):
			problem = err
			for id, name := range r.People {
				if people[id] == "" && len(people) < maxRecords {
					people[id] = name
				}
			}
		case err != nil:
			return err
		case name != "" && id != "" && contract.OneLine(id, maxID) == id: // an order has no other id
			people[id] = name
		}
	}

	r.People = people
	return problem
}

// displayName is an employee's name on a ticket.
func displayName(e Employee) string {
	return cmp.Or(contract.OneLine(e.Name, maxName), contract.OneLine(e.FirstName+" "+e.LastName, maxName))
}

// store stores a venue's record, which is in use already. After a crash before the Put the old names are back
// until the first refresh, seconds after the start; after a crash behind it the new ones are there at once.
func (n *Names) store(ctx context.Context, id string, r *record) {
	value, _ := json.Marshal(r) // of strings
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()

	if err := n.kv.Put(ctx, id, value); err != nil {
		n.log.Warn("names of a venue are not stored, a restart loses them", "venue", id, "err", err)
	}
}

// load reads a venue's stored record. One that cannot be read counts as not there: it costs names for some seconds,
// and to refuse the start for it would cost orders.
func (n *Names) load(id string) *record {
	known := &record{}
	value, ok, err := n.kv.Get(id)
	if ok && err == nil {
		err = json.Unmarshal(value, known)
	}

	if err != nil {
		n.log.Warn("stored names of a venue cannot be read; they will be requested again", "venue", id, "err", err)
	}
	return known
}

// deleteOthers deletes the stored records of other venues. After a crash on the way the next start deletes the rest.
func (n *Names) deleteOthers(ctx context.Context, venues map[string]*venueNames) {
	var failed error
	err := n.kv.All(func(key string, _ []byte) bool {
		if venues[key] == nil {
			timed, cancel := context.WithTimeout(ctx, storeTimeout)
			failed = errors.Join(failed, n.kv.Delete(timed, key))
			cancel()
		}
		return true
	})

	if err = errors.Join(err, failed); err != nil && ctx.Err() == nil {
		n.log.Warn("names of removed venues are still on the disk; the next start tries again", "err", err)
	}
}
