package dispatch

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A Backup prints a line's tickets while the line's own station fails. The tickets stay in
// their line, and which station prints is decided anew at each attempt: so their order is
// kept, and the own station has them back as soon as it prints again.
//
// A line that has backups does not wait for ever: a station that has not begun after 30 s
// is interrupted, and another may be tried.
type Backup struct {
	Name    string // of that station; printers are named to people by it
	Station Station
	// After is how long the line must have got nothing out of its own station, since that
	// first failed, before this one is tried. Backups are tried in order: of a chain, the
	// second one has the longer After.
	After time.Duration
}

// An outlet is where a line's tickets can come out, its own station or a backup, and how
// that has done lately.
type outlet struct {
	Backup // of the own station: no name, no After
	own    bool
	fails  failures
	next   time.Time // its pause ends then; zero: it is in none
	said   string    // the trouble that was logged last; empty when there is none
}

// downFor is what a delivery says of the station for which a backup prints.
const downFor = "printer"

// rest is the pause of a station while another stands in for it. Trying it costs the ticket
// in hand up to a connect time-out, so it is tried rarely, as long as tickets come out at all.
func rest() time.Duration { return longestPause*5/6 + rand.N(longestPause/6+1) }

// equip makes the outlets those of w. What is known of a station that stays is kept; a
// station that is new has not failed yet.
func (l *line) equip(w Line) {
	known := l.outlets
	l.outlets = []*outlet{{Backup: Backup{Station: w.Station}, own: true}}
	for _, b := range w.Backups {
		l.outlets = append(l.outlets, &outlet{Backup: b})
	}
	for _, o := range l.outlets {
		for _, k := range known {
			if k.own == o.own && k.Name == o.Name && sameStation(k.Station, o.Station) {
				o.fails, o.next, o.said = k.fails, k.next, k.said
			}
		}
	}
	if len(known) > 0 && !sameStation(known[0].Station, w.Station) {
		l.recovered()
	}
	for _, k := range known {
		if !k.own && !slices.ContainsFunc(w.Backups, func(b Backup) bool { return b.Name == k.Name }) {
			l.d.metrics.forget(l.name, k.Name)
		}
	}
	l.d.metrics.backups(l.name, w.Backups)
}

// afresh ends all pauses and starts every backoff anew: somebody has done something.
func (l *line) afresh() {
	for _, o := range l.outlets {
		o.fails, o.next = failures{}, time.Time{}
	}
	l.rested, l.store = time.Time{}, 0
}

// recovered ends the standing in: the own station prints, or it is another one.
func (l *line) recovered() {
	l.down, l.rested = time.Time{}, time.Time{}
	l.update(func(s *Status) { s.StandIn = StandIn{} })
}

// fell notes that the own station has failed just now.
func (l *line) fell() {
	now := time.Now()
	if l.down.IsZero() {
		l.down = now
	}
	l.rested = now.Add(rest())
}

// idled notes that nothing could be taken from the line since then: it was empty, or a
// person held it. That time does not count towards a backup's After, for nobody waited for
// the printer, and a person who holds a station has a reason. The pause before it does not
// count either: the hold may have begun in it.
func (l *line) idled(since time.Time) {
	now := time.Now()
	if now.Sub(since) < idle || l.down.IsZero() {
		return
	}
	l.down = l.down.Add(now.Sub(l.tried))
	l.tried = now
	l.afresh()
}

// idle is how long Take blocks when it does not just read a ticket from the disk.
const idle = time.Second

// due says when an outlet may be tried; false says that it does not stand in.
func (l *line) due(o *outlet) (time.Time, bool) {
	switch {
	case o.own && l.covered():
		return l.rested, true
	case o.own:
		return o.next, true
	case l.down.IsZero():
		return time.Time{}, false
	default:
		return latest(o.next, l.down.Add(o.After)), true
	}
}

// covered says whether a backup may print now and has no trouble that is known.
func (l *line) covered() bool {
	for _, o := range l.outlets {
		if !o.own && o.said == "" && !l.down.IsZero() && time.Since(l.down) >= o.After {
			return true
		}
	}
	return false
}

// ready says whether an outlet may be tried now.
func (l *line) ready(o *outlet) bool {
	at, ok := l.due(o)
	return ok && !at.After(time.Now())
}

// pause is how long nothing can be tried.
func (l *line) pause() time.Duration {
	var first time.Time
	for i, o := range l.outlets {
		if at, ok := l.due(o); ok && (i == 0 || at.Before(first)) {
			first = at
		}
	}
	return time.Until(first)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
