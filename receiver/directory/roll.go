package directory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ticketrail/receiver/posapi"
)

// Limits of what a service can make us keep: names that fill a line of paper several times
// over, and a record of the venue that always fits on the shelf.
const (
	maxPeople = 20_000 // of one venue, those who left included
	maxName   = 100    // bytes
	maxID     = 64     // bytes; a UUID has 36
)

// A roll is the people of a venue. It never changes: a refresh makes another one.
type roll struct {
	people map[id]person
	here   int // how many of them have not left

	ran  seconds // running time of the directory at made
	made time.Time

	asOf  time.Time // when the list was last whole, by the wall clock; zero: never
	fresh bool      // that was in this process
	since time.Time // the same, or when it was loaded, by the clock that only runs
}

type person struct {
	name string
	left seconds // running time when he was first missing; here: he is not
}

// seconds of running time, counted over restarts. Time switched off is not in them, and up to
// a refresh is lost with the process: who left is remembered a little longer for it.
type seconds int64

const here seconds = -1

// running is the running time now.
func (r *roll) running() seconds { return r.ran + seconds(time.Since(r.made)/time.Second) }

// age is the time since the list was last whole, and since the start if it never was. A
// clock that was put back, or has not been set yet, makes it too short, never negative.
func (r *roll) age() time.Duration {
	run := time.Since(r.since)
	if r.fresh || r.asOf.IsZero() {
		return run
	}
	return max(run, time.Now().Round(0).Sub(r.asOf))
}

// A list is what a source said about who works at a venue.
type list struct {
	people  map[id]string
	whole   bool // who is not in it has left
	skipped int  // employees without a usable id or name
}

// add says whether there was room.
func (l *list) add(e posapi.Employee) bool {
	key := strings.TrimSpace(e.ID)
	name := calls(e)
	if name == "" || !usable(key) {
		l.skipped++
		return true
	}
	k := idOf(key)
	if _, there := l.people[k]; !there && len(l.people) == maxPeople {
		return false
	}
	if !k.isUUID {
		k.other = strings.Clone(key)
	}
	l.people[k] = name
	return true
}

// after is the roll once l has come. Who is not in a whole list left now, or some time before;
// of a list that is not whole only what is in it counts.
func (r *roll) after(l list, keep time.Duration) *roll {
	next := &roll{people: make(map[id]person, len(l.people)), here: len(l.people), ran: r.running(), made: time.Now()}
	if next.asOf, next.fresh, next.since = r.asOf, r.fresh, r.since; l.whole {
		next.asOf, next.fresh, next.since = next.made.Round(0).UTC(), true, next.made
	}
	for k, name := range l.people {
		next.people[k] = person{name, here}
	}
	type other struct {
		id
		person
	}
	var others []other
	for k, p := range r.people {
		if _, ok := l.people[k]; ok {
			continue
		}
		if p.left == here && l.whole {
			p.left = next.ran
		}
		if p.left == here || next.ran-p.left <= seconds(keep/time.Second) {
			others = append(others, other{k, p})
		}
	}
	if room := maxPeople - len(next.people); len(others) > room {
		slices.SortFunc(others, func(a, b other) int { // those who are most likely to be on a check
			if (a.left == here) != (b.left == here) {
				if a.left == here {
					return -1
				}
				return 1
			}
			return cmp.Or(cmp.Compare(b.left, a.left), slices.Compare(a.uuid[:], b.uuid[:]), strings.Compare(a.other, b.other))
		})
		others = others[:room]
	}
	for _, o := range others {
		next.people[o.id] = o.person
		if o.left == here {
			next.here++
		}
	}
	return next
}

// usable says whether an id can be kept. Those in use are UUIDs.
func usable(key string) bool {
	return key != "" && len(key) <= maxID && utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsGraphic(r) })
}

// calls is what goes on a ticket for an employee: his display name, or what the service makes
// display names of.
func calls(e posapi.Employee) string {
	if name := clean(e.Name); name != "" {
		return name
	}
	last := clean(e.LastName)
	if first := clean(e.FirstName); first == "" {
		return last
	} else if r, n := utf8.DecodeRuneInString(last); n > 0 {
		return clean(first + " " + string(r) + ".")
	} else {
		return first
	}
}

// clean is s as one short line of what can be seen: no control characters, none that change
// the direction of text, no names a page long. It keeps the joiners that Persian and the
// scripts of India are spelled with. It is idempotent, and "" where nothing can be seen.
func clean(s string) string {
	var b strings.Builder
	space, seen := false, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case r == utf8.RuneError, !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d':
			continue
		}
		n := utf8.RuneLen(r)
		if space {
			n++
		}
		if b.Len()+n > maxName {
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		seen = seen || unicode.IsGraphic(r)
	}
	if !seen {
		return ""
	}
	return b.String()
}
