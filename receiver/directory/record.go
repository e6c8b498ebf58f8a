package directory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/posapi"
)

// Limits of what a service can make us keep: names that fill a line of paper several times
// over, and a record of the venue that always fits on the shelf.
const (
	maxPeople = 10_000 // of one venue, those who left included
	maxName   = 100    // bytes
	maxID     = 64     // bytes; a UUID has 36
)

// A record is what is known of a venue. It never changes: a refresh makes another one. On the
// shelf it is one value under the venue's id, so there is no half of it.
//
// A Put is no promise to anybody. New names are used when they came, not when they are stored:
// after a crash before the Put the old names are back until the first refresh, moments after
// the start; after a crash behind it the new ones are there at once. Tickets that were accepted
// in between have their names in them.
type record struct {
	Version int               `json:"version"`
	AsOf    time.Time         `json:"as_of,omitzero"` // when the list last came whole; zero: never
	Ran     seconds           `json:"ran"`            // running time of the directory at made
	Zone    string            `json:"zone,omitempty"`
	People  map[string]person `json:"people"` // by canonical id

	made  time.Time
	since time.Time // when the list last came whole, or when this was loaded
}

type person struct {
	Name string  `json:"name"`
	Left seconds `json:"left,omitempty"` // running time when first missing; 0: has not left
}

// seconds of running time, counted over restarts. Time switched off is not in them, and up to
// a refresh is lost with the process: who left is remembered a little longer for it.
type seconds int64

const version = 2

// age is the time since the list was last whole, and since the start if it never was. A
// clock that was put back, or has not been set yet, makes it too short, never negative.
func (r *record) age() time.Duration {
	run := time.Since(r.since)
	if r.AsOf.IsZero() {
		return run
	}
	return max(run, time.Since(r.AsOf))
}

// later is a copy to be changed.
func (r record) later() *record {
	now := time.Now()
	r.Version, r.Ran, r.made = version, r.Ran+seconds(now.Sub(r.made)/time.Second), now
	return &r
}

// A list is what a source said about who works at a venue.
type list struct {
	people  map[string]person
	whole   bool // who is not in it has left
	skipped int  // employees without a usable id or name
}

// add says whether there was room.
func (l *list) add(e posapi.Employee) bool {
	id, _ := contract.CanonicalID(strings.TrimSpace(e.ID))
	name := calls(e)
	if name == "" || !usable(id) {
		l.skipped++
		return true
	}
	if _, there := l.people[id]; !there && len(l.people) == maxPeople {
		return false
	}
	l.people[id] = person{Name: name}
	return true
}

// with is what is known once l has come. Who is not in a whole list left now, or some time
// before; of a list that is not whole only what is in it counts.
func (r *record) with(l list, keep time.Duration) *record {
	next := r.later()
	if l.whole {
		next.AsOf, next.since = next.made.UTC(), next.made
	}
	type other struct {
		id string
		person
	}
	var others []other
	for id, p := range r.People {
		if _, there := l.people[id]; there {
			continue
		}
		if p.Left == 0 && l.whole {
			p.Left = max(1, next.Ran)
		}
		if p.Left == 0 || next.Ran-p.Left <= seconds(keep/time.Second) {
			others = append(others, other{id, p})
		}
	}
	slices.SortFunc(others, func(a, b other) int { // those first who are most likely to be on a check
		return cmp.Compare(uint64(b.Left-1), uint64(a.Left-1))
	})
	next.People = l.people
	for _, o := range others[:min(len(others), maxPeople-len(l.people))] {
		next.People[o.id] = o.person
	}
	return next
}

// encode is less than 4 MiB long, as maxPeople, maxName and maxID have it.
func (r *record) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it makes six bytes of one
	err := e.Encode(r)
	return b.Bytes(), err
}

// load is what is on the shelf about a venue. What cannot be read is as good as not there: the
// next refresh puts something else in its place.
func (d *Directory) load(id string) *record {
	r := &record{}
	if d.shelf != nil {
		b, ok, err := d.shelf.Get(id)
		if ok && err == nil {
			err = json.Unmarshal(b, r)
			if err == nil && (r.Version != version || r.Ran < 0 || r.Ran > math.MaxInt64/2) {
				err = fmt.Errorf("version %d, running time %d: it is not what this program writes", r.Version, r.Ran)
			}
		}
		if err != nil {
			d.log.Warn("what is kept about a venue cannot be read; it will be asked for again", "venue", id, "err", err)
			r = &record{}
		}
	}
	r.made = time.Now()
	r.since = r.made
	return r
}

// sweep forgets on the shelf what is about other venues: names of people must not lie about
// for a venue that is none of ours any more. After a crash on the way the next start does it.
func (d *Directory) sweep(ctx context.Context) {
	if d.shelf == nil {
		return
	}
	venues := *d.venues.Load()
	var stale []string
	err := d.shelf.All(func(key string, _ []byte) bool {
		if venues[key] == nil {
			stale = append(stale, key)
		}
		return true
	})
	for _, key := range stale {
		within, cancel := context.WithTimeoutCause(ctx, storePatience, errTooLong)
		err = errors.Join(err, d.shelf.Delete(within, key))
		cancel()
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn("names of venues that are gone are still on the disk; the next start tries again", "err", err)
	}
}

// usable says whether an id can be kept. Those in use are UUIDs.
func usable(key string) bool {
	return key != "" && len(key) <= maxID && utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsGraphic(r) })
}

// calls is what goes on a ticket for an employee: the display name, or what the service makes
// display names of.
func calls(e posapi.Employee) string {
	if name := clean(e.Name); name != "" {
		return name
	}
	first, last := clean(e.FirstName), clean(e.LastName)
	if first == "" || last == "" {
		return first + last
	}
	r, _ := utf8.DecodeRuneInString(last)
	return clean(first + " " + string(r) + ".")
}

// clean is s as one short line of what can be seen: no control characters, none that change
// the direction of text, no names a page long. It keeps the joiners that Persian and the
// scripts of India are spelled with. It is idempotent, and "" where nothing can be seen.
func clean(s string) string {
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
		n := maxName
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = strings.TrimSuffix(s[:n], " ")
	}
	if !strings.ContainsFunc(s, unicode.IsGraphic) || strings.Trim(s, " \u200c\u200d") == "" {
		return ""
	}
	return s
}
