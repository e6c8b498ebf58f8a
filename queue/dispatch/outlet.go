package dispatch

import (
	"math/rand/v2"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// An outlet is where a line's tickets can come out, its own station or a backup, and how
// that has done lately.
type outlet struct {
	Backup // of the own station: no name, no After
	own    bool
	fails  failures
	next   time.Time // its pause ends then; zero: it is in none
	said   string    // the trouble that was logged last; empty when there is none
}

// equip makes the outlets those of w. What is known of a station that stays is kept; a
// station that is new has not failed yet.
func (l *line) equip(w Lane) {
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
			l.d.metrics.standIns.DeleteLabelValues(l.name, k.Name)
		}
	}
	l.d.metrics.backups(l.name, w.Backups)
}

// learn takes from an attempt what it says about the station. Of the own one everybody is
// told; a backup has a line of its own that speaks for it.
func (l *line) learn(o *outlet, lease Lease, a attempt, v verdict) {
	msg, waiting := "", ""
	var pause time.Duration
	switch {
	case v.result == ok:
		l.works(o, lease)
		return
	case v.result == permanent: // says nothing about the station
		return
	case a.takenBack():
		l.log.Info("ticket was taken back before it began", about(lease)...)
		return
	case a.notBegun():
		l.queueTrouble("cannot begin a ticket, trying again", a.beginErr)
		return
	case v.result == interrupted:
		l.log.Info("ticket interrupted by shutdown", append(about(lease), "begun", a.begun, "err", a.err)...)
		return
	case v.result == refused:
		msg, pause = "ticket did not go out, trying again", o.fails.afterRefusal()
	case v.result == notReady:
		msg, waiting, pause = "printer waits for a person", a.err.Error(), poll()
		o.fails.refused = 0
	case ticket.IsNotReady(a.err):
		msg, waiting, pause = "printer waits for a person, ticket in doubt", a.err.Error(), poll()
	default:
		msg, pause = "ticket in doubt", o.fails.afterDoubt()
	}
	o.next = time.Now().Add(pause)
	l.trouble(o, msg, lease, a)
	if o.own {
		l.failed(a.err, waiting)
	}
}

// works takes note of a ticket that went out.
func (l *line) works(o *outlet, lease Lease) {
	again := o.said != ""
	o.fails, o.next, o.said = failures{}, time.Time{}, ""
	l.saidQ = ""
	if !o.own {
		if l.stoodIn(o.Name) {
			l.log.Warn("another printer stands in", append(about(lease), "backup", o.Name, "down_since", l.down)...)
		}
		return
	}
	if again {
		l.log.Info("printer works again", about(lease)...)
	}
	l.recovered()
	l.d.metrics.setUp(l.name, true)
	l.update(func(s *Status) {
		s.turn(true)
		s.Err, s.Waiting, s.Attempt = "", "", 0
	})
}

// stoodIn notes a ticket that came out of a backup, and says whether that is news.
func (l *line) stoodIn(backup string) (news bool) {
	l.update(func(s *Status) {
		s.Attempt = 0
		if news = s.StandIn.Name != backup; news {
			s.StandIn = StandIn{backup, time.Now()}
		}
	})
	return news
}

// recovered ends the standing in: the own station prints, or it is another one.
func (l *line) recovered() {
	l.down, l.rested = time.Time{}, time.Time{}
	l.update(func(s *Status) { s.StandIn = StandIn{} })
}

// failed notes that the own station has failed just now; what it waits for is empty when no
// person is needed.
func (l *line) failed(err error, waiting string) {
	now := time.Now()
	if l.down.IsZero() {
		l.down = now
	}
	l.rested = now.Add(rest())
	l.d.metrics.setUp(l.name, false)
	l.update(func(s *Status) {
		s.turn(false)
		s.Err, s.Waiting = err.Error(), waiting
	})
}

// trouble logs what keeps a ticket from going out, when it changes. A ticket in doubt is
// a change of its own: somebody may ask for it by its number.
func (l *line) trouble(o *outlet, msg string, lease Lease, a attempt) {
	key := msg + ": " + a.err.Error()
	if o.said == key && !a.begun {
		return
	}
	o.said = key
	attrs := append(about(lease), "err", a.err)
	if !o.own {
		attrs = append(attrs, "backup", o.Name)
	}
	if a.stack != nil {
		// Error: a panic is a mistake in the program, and somebody must report it.
		l.log.Error("station panicked: "+msg, append(attrs, "stack", string(a.stack))...)
		return
	}
	l.log.Warn(msg, attrs...)
}

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

// afresh ends all pauses and starts every backoff anew: somebody has done something.
func (l *line) afresh() {
	for _, o := range l.outlets {
		o.fails, o.next = failures{}, time.Time{}
	}
	l.rested, l.store = time.Time{}, 0
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

const (
	longestPause = 30 * time.Second
	readyPoll    = 5 * time.Second // how often to look whether a person has brought paper
)

// backoff is the pause after the nth failure in a row, n >= 1: between half and the whole
// of 2 s, 4 s, 8 s … 30 s, so never under 1 s. There is no last attempt: the printer may
// be off for the night, and what is too old by then expires.
func backoff(n int) time.Duration {
	whole := min(longestPause, 2*time.Second<<min(max(n-1, 0), 10))
	return whole/2 + rand.N(whole/2+1)
}

// poll is the pause while the station needs a person: 4 to 6 s, and it does not grow. The
// cook who has just put in paper should not wonder whether it helped.
func poll() time.Duration {
	return readyPoll*4/5 + rand.N(readyPoll*2/5+1)
}

// soon is the pause before the marked reprint of a ticket in doubt: long enough for a
// printer to be itself again after a reset of the connection, short for a cook. 0.5 to 1 s.
func soon() time.Duration {
	return time.Second/2 + rand.N(time.Second/2+1)
}

// failures counts in a row, per cause; a ticket that goes out clears them.
type failures struct {
	refused int // before begin
	doubted int // after it
}

func (f *failures) afterRefusal() time.Duration {
	f.refused++
	return backoff(f.refused)
}

// afterDoubt is short the first time. From then on it grows: a printer that breaks off
// every ticket must not run through a whole line, two copies each, in a minute.
func (f *failures) afterDoubt() time.Duration {
	f.refused = 0 // it was reachable
	f.doubted++
	if f.doubted == 1 {
		return soon()
	}
	return backoff(f.doubted - 1)
}

// rest is the pause of a station while another stands in for it. Trying it costs the ticket
// in hand up to a connect time-out, so it is tried rarely, as long as tickets come out at all.
func rest() time.Duration { return longestPause*5/6 + rand.N(longestPause/6+1) }
