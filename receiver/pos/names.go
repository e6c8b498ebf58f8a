package pos

import (
	"bytes"
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
	client *Client                // nil: nothing is requested
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
	askTimeout   = 15 * time.Minute // for a whole list: 10,000 employees are 500 pages of 20
	storeTimeout = 30 * time.Second
)

// NewNames makes names that are stored in kv and refreshed so often.
func NewNames(store kv.Store, every time.Duration, log *slog.Logger) *Names {
	names := &Names{kv: store, every: every, log: log.With("component", "pos")}
	names.round.Store(&round{ended: make(chan struct{})})
	return names
}

// Use replaces the venues, which are by id, and the client; nil: nothing is requested. Of a venue that is true the time
// zone is configured, so its payroll periods are not requested: the token need not be good for them.
//
// The stored names of a new venue are known when Use returns, a venue that stays keeps its names, and [Names.Run]
// deletes the stored names of one that goes: they are personal data. All venues are refreshed at once: an operator who
// corrected a secret expects names. Only one goroutine may call Use at a time.
func (n *Names) Use(client *Client, venues map[string]bool) {
	old := n.round.Load()
	next := &round{client: client, venues: map[string]*venueNames{}, ended: make(chan struct{})}
	for id, zoned := range venues {
		id, _ = contract.CanonicalID(id)
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
	id, _ := contract.CanonicalID(venue)
	if used := n.round.Load().venues[id]; used != nil {
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

// Problems are the calls that failed when a venue was refreshed. A service that gave no answer once is none: a box that
// has just started may have no network yet.
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
		if now.client != nil {
			for _, v := range now.venues {
				refreshing.Go(func() { n.keepFresh(asking, now.client, v) })
			}
		}

		select {
		case <-now.ended:
		case <-ctx.Done():
		}

		stop()
		refreshing.Wait() // or an answer to the old client could be stored after one to the new
	}
}

// keepFresh refreshes a venue until ctx ends. A service that is down for a day makes one line in the log.
func (n *Names) keepFresh(ctx context.Context, client *Client, v *venueNames) {
	reported, unanswered := "", false
	for wait := rand.N(firstWithin); ; {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}

		problems := n.refresh(ctx, client, v)
		if ctx.Err() != nil {
			return // the errors say nothing about the service
		}

		err, known := errors.Join(problems...), *v.known.Load()
		outcome := fmt.Sprint(err)
		switch {
		case outcome == reported:
		case err != nil:
			n.log.Warn("names or the time zone of a venue could not be refreshed; what was known stays",
				"venue", v.id, "err", err)
		default:
			n.log.Info("venue refreshed", "venue", v.id, "employees", len(known.People), "timezone", known.Zone)
		}
		reported = outcome

		known.failed = nil
		for _, problem := range problems {
			if failed, ok := errors.AsType[*Error](problem); ok {
				known.failed = append(known.failed, failed)
			}
		}

		lost := len(known.failed) > 0 && known.failed[0].NoAnswer
		if lost && !unanswered {
			known.failed = nil
		}
		unanswered = lost
		v.known.Store(&known)

		wait = n.every*9/10 + rand.N(n.every/5+1) // give or take a tenth, so that venues drift apart
		if err != nil {
			wait = min(n.every, afterFailure+rand.N(afterFailure/10))
		}
	}
}

// refresh requests a venue's names and time zone, and returns an error or nil for each step. A panic over an answer
// must not end the program that prints.
func (n *Names) refresh(ctx context.Context, client *Client, v *venueNames) (problems []error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			n.log.Error("panic while names were refreshed", "panic", fmt.Sprint(panicked),
				"stack", string(debug.Stack()))
			problems = []error{errors.New("panic, see the log")}
		}
	}()

	timed, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()

	venue, err := client.Venue(timed, v.id)
	if err != nil {
		return []error{err}
	}

	next := *v.known.Load()
	problems = append(problems, next.readPeople(venue.Employees(timed)))

	// A zone that was known stays until there is another.
	if !v.zoned {
		zone, problem := venue.Zone(timed)
		next.Zone, problems = cmp.Or(zone, next.Zone), append(problems, problem)
	}

	// In use at once, then stored: a slow disk must not delay names.
	v.known.Store(&next)
	return append(problems, n.store(ctx, v.id, &next))
}

// Limits of the data that the service can make a box keep. The names fill a line of paper several times over, and with
// all of them a record is shorter than [kv.MaxValue].
const (
	maxPeople = 10_000 // of one venue
	maxName   = 100    // bytes
	maxID     = 64     // bytes; a UUID has 36
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
		if err != nil && !Incomplete(err) {
			return err
		}
		if problem = err; err == nil && len(people) == maxPeople {
			problem = fmt.Errorf("more than %d employees; the others print as the end of their id", maxPeople)
		}

		if problem != nil {
			break
		}

		id, name := strings.TrimSpace(e.ID), displayName(e)
		if name != "" && id != "" && contract.OneLine(id, maxID) == id { // an order has no other id
			people[id] = name
		}
	}

	if problem != nil {
		for id, name := range r.People {
			if people[id] == "" && len(people) < maxPeople {
				people[id] = name
			}
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
func (n *Names) store(ctx context.Context, id string, r *record) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // it makes six bytes of one
	if err := encoder.Encode(r); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()

	if err := n.kv.Put(ctx, id, b.Bytes()); err != nil {
		return fmt.Errorf("not stored, a restart loses them: %w", err)
	}
	return nil
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
		return &record{}
	}
	return known
}

// deleteOthers deletes the stored records of other venues. After a crash on the way the next start deletes the rest.
func (n *Names) deleteOthers(ctx context.Context, venues map[string]*venueNames) {
	var others []string
	err := n.kv.All(func(key string, _ []byte) bool {
		if venues[key] == nil {
			others = append(others, key)
		}
		return true
	})

	for _, key := range others {
		timed, cancel := context.WithTimeout(ctx, storeTimeout)
		err = errors.Join(err, n.kv.Delete(timed, key))
		cancel()
	}

	if err != nil && ctx.Err() == nil {
		n.log.Warn("names of removed venues are still on the disk; the next start tries again", "err", err)
	}
}
