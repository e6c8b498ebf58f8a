package directory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/posapi"
)

// Limits of what the service can make the directory keep. The names fill a line of paper several
// times over, and with all of them a record is shorter than [kv.MaxValue].
const (
	maxPeople = 10_000 // of one venue, those who left included
	maxName   = 100    // bytes
	maxID     = 64     // bytes; a UUID has 36

	keepLeft = 30 * 24 * 60 * 60 // seconds of running time that the name of an employee who left is kept
)

// A record is what is known of a venue. It is never changed: a refresh makes another one. It is
// stored as one JSON value under the venue's id, so there is never half of it.
type record struct {
	Version int               `json:"version"`
	AsOf    time.Time         `json:"as_of,omitzero"` // when the list last came completely; zero: never
	Ran     seconds           `json:"ran"`            // running time of the directory at made
	Zone    string            `json:"zone,omitempty"`
	People  map[string]person `json:"people"` // by canonical id

	made  time.Time
	since time.Time // when the list last came completely or, before that, when the record was loaded
}

type person struct {
	Name string  `json:"name"`
	Left seconds `json:"left,omitempty"` // running time when first missing; 0: has not left
}

// seconds of running time, counted over restarts: the wall clock may be wrong by decades after a
// start. A crash loses those since the last refresh, so a name is kept a little longer.
type seconds int64

const version = 2 // of the stored value; another one counts as not there

// age is the time since the list last came completely, and since the start if it never did. It is a
// metric: names that are days old are a sign of a broken refresh.
//
// Over a restart it goes by the wall clock. While that is not set yet, or was set back, the running
// time is longer and counts, so the age is too short, but never negative.
func (r *record) age() time.Duration {
	return max(time.Since(r.since), time.Since(cmp.Or(r.AsOf, r.since)))
}

// later is a copy to be changed, with the running time up to now.
func (r record) later() *record {
	now := time.Now()
	r.Version, r.Ran, r.made = version, r.Ran+seconds(now.Sub(r.made)/time.Second), now
	return &r
}

// A list is what a source said about the employees of a venue.
type list struct {
	people   map[string]person
	complete bool // an employee who is not in it has left
}

// add is false when there are too many. An employee without a usable id or name is left out.
func (l *list) add(e posapi.Employee) bool {
	id, _ := contract.CanonicalID(strings.TrimSpace(e.ID))
	name := displayName(e)
	unseen := func(r rune) bool { return !unicode.IsGraphic(r) }
	if name == "" || id == "" || len(id) > maxID || !utf8.ValidString(id) || strings.ContainsFunc(id, unseen) {
		return true
	}
	if _, there := l.people[id]; !there && len(l.people) == maxPeople {
		return false
	}
	l.people[id] = person{Name: name}
	return true
}

// with is what is known once l has come. An employee who is not in a complete list has left; one
// who is not in an incomplete list stays as before.
//
// How long is counted in running time: a wall clock that jumps by a year would remove everybody who
// has left.
func (r *record) with(l list) *record {
	next := r.later()
	if l.complete {
		next.AsOf, next.since = next.made.UTC(), next.made
	}
	next.People = l.people
	others := maps.Clone(r.People)
	maps.DeleteFunc(others, func(id string, _ person) bool { return l.people[id].Name != "" })
	// Those first who are most likely to be on a check: who is there, then who left last.
	ids := slices.SortedFunc(maps.Keys(others), func(a, b string) int {
		// Left is 0 for those who are there; minus one, as an unsigned number, that is the largest
		// value.
		return cmp.Compare(uint64(others[b].Left-1), uint64(others[a].Left-1))
	})
	for _, id := range ids {
		p := others[id]
		if p.Left == 0 && l.complete {
			// 0 would mean that the employee is there.
			p.Left = max(1, next.Ran)
		}
		if len(next.People) < maxPeople && (p.Left == 0 || next.Ran-p.Left <= keepLeft) {
			next.People[id] = p
		}
	}
	return next
}

// encode is at most [kv.MaxValue] bytes long, as maxPeople, maxName and maxID have it. A larger
// value would never be stored, and names would be gone after each restart.
func (r *record) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it makes six bytes of one
	err := e.Encode(r)
	return b.Bytes(), err
}

// store stores what is known of a venue. It is in use already, so an error loses nothing now.
// After a crash before the Put the old names are back until the first refresh, seconds after the
// start; after a crash behind it the new ones are there at once. Tickets that were accepted in
// between contain their names.
func (d *Directory) store(ctx context.Context, v *venue) {
	timed, cancel := context.WithTimeoutCause(ctx, storeTimeout, errStoreTimeout)
	defer cancel()
	value, err := v.known.Load().encode()
	if err == nil {
		err = d.kv.Put(timed, v.id, value)
	}
	res := ok
	if err != nil {
		res = failed
	}
	if ctx.Err() == nil {
		d.report(v, storing, res, err)
	}
}

// load reads what is stored about a venue. What cannot be read counts as not there: the next
// refresh replaces it.
//
// A damaged value costs names for some seconds; to refuse the start for it would cost orders.
func (d *Directory) load(id string) *record {
	r := &record{}
	b, ok, err := d.kv.Get(id)
	if ok && err == nil {
		err = json.Unmarshal(b, r)
		if err == nil && (r.Version != version || r.Ran < 0 || r.Ran > math.MaxInt64/2) {
			err = fmt.Errorf("version %d, running time %d: not written by this program", r.Version, r.Ran)
		}
	}
	if err != nil {
		d.log.Warn("stored names of a venue cannot be read; they will be requested again", "venue", id, "err", err)
		r = &record{}
	}
	r.made = time.Now()
	r.since = r.made
	return r
}

// deleteOthers deletes what is stored about other venues: names of people must not stay on the
// disk without need. After a crash on the way the next start deletes the rest.
func (d *Directory) deleteOthers(ctx context.Context, venues map[string]*venue) {
	var others []string
	err := d.kv.All(func(key string, _ []byte) bool {
		if venues[key] == nil {
			others = append(others, key)
		}
		return true
	})
	for _, key := range others {
		timed, cancel := context.WithTimeoutCause(ctx, storeTimeout, errStoreTimeout)
		err = errors.Join(err, d.kv.Delete(timed, key))
		cancel()
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn("names of removed venues are still on the disk; the next start tries again", "err", err)
	}
}

// displayName is what a ticket says of an employee: the display name, or one made of the other
// names as the service makes them. The contract's display name is a first name, an initial and a
// period.
func displayName(e posapi.Employee) string {
	if name := sanitize(e.Name); name != "" {
		return name
	}
	first, last := sanitize(e.FirstName), sanitize(e.LastName)
	if first == "" || last == "" {
		return first + last
	}
	r, _ := utf8.DecodeRuneInString(last)
	return sanitize(first + " " + string(r) + ".")
}

// sanitize returns s as one short line of visible characters: without control characters and those that
// change the direction of text, but with the joiners that Persian and the scripts of India are
// spelled with. It is idempotent, and "" where nothing can be seen.
func sanitize(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case r == utf8.RuneError, !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d':
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxName {
		s = strings.TrimSuffix(strings.ToValidUTF8(s[:maxName], ""), " ") // without half a character
	}
	if strings.Trim(s, " \u200c\u200d") == "" {
		return ""
	}
	return s
}
