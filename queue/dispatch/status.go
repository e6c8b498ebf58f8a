package dispatch

import (
	"slices"
	"strings"
	"time"
)

// Status is what is known of a served line, from its attempts alone.
type Status struct {
	Name  string    `json:"name"`
	Up    bool      `json:"up"`    // the last attempt that says something about the station went well
	Known bool      `json:"known"` // there was such an attempt; without it Up means nothing
	Since time.Time `json:"since"` // since when Up and Known are what they are; wall clock
	// Err is why it is not up, for people.
	Err string `json:"err,omitempty"`
	// Waiting is what it waits for a person to do ("no paper"), while that is all that is missing.
	Waiting string `json:"waiting,omitempty"`
	// Attempt is the number of the attempt in hand, or of the one that failed last while its
	// ticket still waits; 0 when neither.
	Attempt int `json:"attempt,omitempty"`
	// NextTry is when the pause ends that the line is in; zero when it is in none.
	NextTry time.Time `json:"next_try,omitzero"`
	// StandIn is who prints this station's tickets while it does not; zero when nobody does.
	StandIn StandIn `json:"stand_in,omitzero"`
}

// A StandIn is a backup that prints for another station.
type StandIn struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"` // wall clock, of its first ticket
}

// Status returns what is known of each line that [Dispatcher.Set] named last, by name.
func (d *Dispatcher) Status() []Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Status, 0, len(d.lines))
	for _, l := range d.lines {
		if l.want != nil {
			out = append(out, l.status)
		}
	}
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// update changes the line's status.
func (l *line) update(f func(*Status)) {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	f(&l.status)
}

// worked notes an attempt of the own station that went well, failed one that did not; what
// it waits for is empty when no person is needed.
func (l *line) worked() {
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

func (l *line) failed(o *outlet, err error, waiting string) {
	if !o.own {
		return
	}
	l.fell()
	l.d.metrics.setUp(l.name, false)
	l.update(func(s *Status) {
		s.turn(false)
		s.Err, s.Waiting = err.Error(), waiting
	})
}

func (s *Status) turn(up bool) {
	if !s.Known || s.Up != up {
		s.Known, s.Up, s.Since = true, up, time.Now()
	}
}
