package pos

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// Limits of what the service can make a box keep. The names fill a line of paper several times over, and with all of
// them a record is shorter than [kv.MaxValue].
const (
	maxPeople = 10_000 // of one venue, those who left included
	maxName   = 100    // bytes
	maxID     = 64     // bytes; a UUID has 36
	// keepMissed is how many complete lists without an employee the name is kept for: a month at six hours each. Checks
	// that the employee opened are still changed, refired and cancelled by others.
	keepMissed = 120
)

// A record is what is known of a venue. It is stored as one JSON value under the venue's id.
type record struct {
	Zone   string            `json:"zone,omitempty"`
	People map[string]person `json:"people"` // by canonical id; never changed
}

type person struct {
	Name   string `json:"name"`
	Missed int    `json:"missed,omitempty"` // complete lists in a row that were without the employee
}

// readPeople takes over the venue's employees. When the list breaks off nothing changes: who is missing in it may be on
// the next page. An incomplete list is used for its names, but nobody counts as gone.
func (r *record) readPeople(list iter.Seq2[Employee, error]) (problem error) {
	people := map[string]person{}
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
		if name != "" && id != "" && oneLine(id, maxID) == id { // an order has no other id
			people[id] = person{Name: name}
		}
	}

	for id, p := range r.People {
		if problem == nil {
			p.Missed++
		}
		if people[id].Name == "" && len(people) < maxPeople && p.Missed <= keepMissed {
			people[id] = p
		}
	}
	r.People = people
	return problem
}

// readZone takes over the time zone of the newest payroll period: that is the one active now or soon. A zone that was
// known stays until there is another.
func (r *record) readZone(periods []PayrollPeriod, err error) error {
	var newest PayrollPeriod
	for _, p := range periods {
		if p.Meta.Timezone != "" && cmp.Or(cmp.Compare(p.Start, newest.Start), cmp.Compare(p.End, newest.End)) >= 0 {
			newest = p
		}
	}
	r.Zone = cmp.Or(newest.Meta.Timezone, r.Zone)
	if err == nil && newest.Meta.Timezone == "" {
		return errors.New("no payroll period has a time zone; set the venue's timezone in the configuration")
	}
	return err
}

// displayName is what a ticket says of an employee.
func displayName(e Employee) string {
	return cmp.Or(oneLine(e.Name, maxName), oneLine(e.FirstName+" "+e.LastName, maxName))
}

// store stores what is known of a venue. It is in use already. After a crash before the Put the old names are back
// until the first refresh, seconds after the start; after a crash behind it the new ones are there at once.
func (n *Names) store(ctx context.Context, id string, r *record) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it makes six bytes of one
	if err := e.Encode(r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := n.kv.Put(ctx, id, b.Bytes()); err != nil {
		return fmt.Errorf("not stored, a restart loses them: %w", err)
	}
	return nil
}

// load reads what is stored about a venue. What cannot be read counts as not there: it costs names for some seconds,
// and to refuse the start for it would cost orders.
func (n *Names) load(id string) *record {
	r := &record{}
	b, ok, err := n.kv.Get(id)
	if ok && err == nil {
		err = json.Unmarshal(b, r)
	}
	if err != nil {
		n.log.Warn("stored names of a venue cannot be read; they will be requested again", "venue", id, "err", err)
		return &record{}
	}
	return r
}

// deleteOthers deletes what is stored about other venues. After a crash on the way the next start deletes the rest.
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
