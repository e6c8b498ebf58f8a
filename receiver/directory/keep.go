package directory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// What lies on the shelf: for each venue a record of its people and one of its zone, under keys
// of their own, so that each is one Put and there is no half of it.
//
// A Put is no promise to anybody. New names are used when they came, not when they are stored:
// after a crash before the Put the old names are back until the first refresh, moments after
// the start; after a crash behind it the new ones are there at once. Tickets that were accepted
// in between have their names in them.

const (
	version     = 1
	maxRan      = seconds(1 << 40) // 35,000 years: of far more, sums overflow
	aboutPeople = "people"
	aboutZone   = "zone"
)

func key(venue, about string) string { return venue + "/" + about }

// head is the first line of a record of people. Then there is one line for each: id, running
// time when he left or -1, name, with tabs between them; none of them has one inside.
type head struct {
	Version int       `json:"version"`
	AsOf    time.Time `json:"as_of,omitzero"`
	Ran     seconds   `json:"ran"`
}

// encode is at most 3.6 MB long, as maxPeople, maxName and maxID have it.
func (r *roll) encode() []byte {
	b, err := json.Marshal(head{version, r.asOf, r.ran})
	if err != nil { // a year that RFC 3339 cannot write, from a clock that is beside itself
		b, _ = json.Marshal(head{Version: version, Ran: r.ran})
	}
	b = append(b, '\n')
	for k, p := range r.people {
		b = append(b, k.String()...)
		b = append(b, '\t')
		b = strconv.AppendInt(b, int64(p.left), 10)
		b = append(b, '\t')
		b = append(b, p.name...)
		b = append(b, '\n')
	}
	return b
}

// decode reads what encode wrote, of the version that is written today: another is learned anew.
func decode(b []byte) (*roll, error) {
	first, rest, ok := bytes.Cut(b, []byte("\n"))
	var h head
	if err := json.Unmarshal(first, &h); err != nil || !ok {
		return nil, errors.New("the first line is not what this program writes")
	}
	if h.Version != version {
		return nil, fmt.Errorf("version %d, this program reads %d", h.Version, version)
	}
	if h.Ran < 0 || h.Ran > maxRan {
		return nil, fmt.Errorf("running time %d is none", h.Ran)
	}
	now := time.Now()
	r := &roll{people: map[id]person{}, asOf: h.AsOf, ran: h.Ran, made: now, since: now}
	n := 1
	for line := range strings.Lines(string(rest)) {
		n++
		key, after, _ := strings.Cut(line, "\t")
		left, name, _ := strings.Cut(after, "\t")
		name, ended := strings.CutSuffix(name, "\n")
		at, err := strconv.ParseInt(left, 10, 64)
		if err != nil || !ended || at < int64(here) || at > int64(h.Ran) || !usable(key) || name == "" || clean(name) != name {
			return nil, fmt.Errorf("line %d is not what this program writes", n)
		}
		if r.people[idOf(key)] = (person{name, seconds(at)}); len(r.people) > maxPeople {
			return nil, fmt.Errorf("more than %d people", maxPeople)
		}
	}
	for _, p := range r.people {
		if p.left == here {
			r.here++
		}
	}
	return r, nil
}

// zoneRecord is what is kept of a venue's time zone.
type zoneRecord struct {
	Version int    `json:"version"`
	Zone    string `json:"zone"`
}

// load makes a venue of what is on the shelf.
func (d *Directory) load(name string) *venue {
	v := &venue{id: name, troubles: map[step]error{}}
	now := time.Now()
	v.roll.Store(&roll{made: now, since: now})
	v.zone.Store(new(string))
	d.read(key(name, aboutPeople), func(b []byte) error {
		r, err := decode(b)
		if err == nil {
			v.roll.Store(r)
		}
		return err
	})
	d.read(key(name, aboutZone), func(b []byte) error {
		var z zoneRecord
		if err := json.Unmarshal(b, &z); err != nil || z.Version != version {
			return errors.New("it is not what this program writes")
		}
		if err := checkZone(z.Zone); err != nil {
			return err
		}
		v.zone.Store(&z.Zone)
		return nil
	})
	return v
}

// read gives f what is on the shelf. What cannot be read is as good as not there: the next
// refresh puts something else in its place.
func (d *Directory) read(key string, f func([]byte) error) {
	if d.shelf == nil {
		return
	}
	b, ok, err := d.shelf.Get(key)
	if err == nil && ok {
		err = f(b)
	}
	if err != nil {
		d.log.Warn("what is kept about a venue cannot be read; it will be asked for again", "key", key, "err", err)
	}
}

// put keeps a value. The new value is in use already; see the top of this file.
func (d *Directory) put(ctx context.Context, key string, value []byte) error {
	if d.shelf == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, storePatience, errors.New("the disk took too long"))
	defer cancel()
	return d.shelf.Put(ctx, key, value)
}

// sweep forgets on the shelf what is about other venues: names of people must not lie about
// for a venue that is none of ours any more. After a crash on the way the next start does it.
func (d *Directory) sweep(ctx context.Context) {
	if d.shelf == nil {
		return
	}
	var stale []string
	err := d.shelf.All(func(key string, _ []byte) bool {
		if !d.ours(key) {
			stale = append(stale, key)
		}
		return true
	})
	for _, key := range stale {
		if d.ours(key) { // by now
			continue
		}
		err = errors.Join(err, d.remove(ctx, key))
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn("names of venues that are gone are still on the disk; the next start tries again", "err", err)
	}
}

func (d *Directory) ours(key string) bool {
	venue, _, _ := strings.Cut(key, "/")
	_, ok := (*d.venues.Load())[idOf(venue)]
	return ok
}

func (d *Directory) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, storePatience, errors.New("the disk took too long"))
	defer cancel()
	return d.shelf.Delete(ctx, key)
}

// maxZone bytes are enough for any name in the tz database.
const maxZone = 64

// checkZone says what is wrong with the name of a time zone.
func checkZone(name string) error {
	// "Local" is where this program runs, which says nothing about the kitchen.
	if name == "" || name == "Local" || len(name) > maxZone {
		return fmt.Errorf("%.64q is no time zone", name)
	}
	if _, err := time.LoadLocation(name); err != nil {
		return fmt.Errorf("%.64q is not in the time zone database; correct it in the point of sale, or set the venue's %s here", name, contract.FieldTimezone)
	}
	return nil
}
