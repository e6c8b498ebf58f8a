package dispatch

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/queue/ticket"
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

func (s *Status) turn(up bool) {
	if !s.Known || s.Up != up {
		s.Known, s.Up, s.Since = true, up, time.Now()
	}
}

// A result is how one attempt ended, as a label.
type result string

const (
	ok          result = "ok"          // it went out
	refused     result = "refused"     // it failed before the first ticket byte
	doubt       result = "doubt"       // it failed after it
	notReady    result = "not_ready"   // the station needs a person
	permanent   result = "permanent"   // no attempt can cure it
	interrupted result = "interrupted" // shutdown, or the queue could not begin it
)

func results() []result {
	return []result{ok, refused, doubt, notReady, permanent, interrupted}
}

// outcomes are the states a line gives a ticket, as labels.
func outcomes() []ticket.State {
	return append(ticket.Proofs(), ticket.Held, ticket.Buried, ticket.Expired)
}

type metrics struct {
	tickets  *prometheus.CounterVec
	attempts *prometheus.CounterVec
	up       *prometheus.GaugeVec
	wait     *prometheus.HistogramVec
	standIns *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		tickets: f.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_station_tickets_total",
			Help: "Tickets that left a station's line, by what became of them; held ones may come back.",
		}, []string{"station", "outcome"}),
		attempts: f.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_station_attempts_total",
			Help: "Attempts to print a ticket, by how they ended.",
		}, []string{"station", "result"}),
		up: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ticketrail_station_up",
			Help: "Whether the last attempt that says something about the station went well; 1 before the first.",
		}, []string{"station"}),
		wait: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ticketrail_ticket_wait_seconds",
			Help:    "Time from accepting a ticket until it was out.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400},

			// The native histogram beside it: each bucket at most a tenth wider than the one before,
			// and not more memory than that.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"station"}),
		standIns: f.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_station_standins_total",
			Help: "Tickets of a station that came out of another one, which stood in for it.",
		}, []string{"station", "backup"}),
	}
}

// appear creates every series of a station, so that a rate sees the first failure.
func (m *metrics) appear(station string, backups []Backup) {
	for _, o := range outcomes() {
		m.tickets.WithLabelValues(station, string(o))
	}
	for _, r := range results() {
		m.attempts.WithLabelValues(station, string(r))
	}
	m.up.WithLabelValues(station).Set(1)
	m.wait.WithLabelValues(station)
	m.backups(station, backups)
}

// backups creates the series of a station's backups.
func (m *metrics) backups(station string, bs []Backup) {
	for _, b := range bs {
		m.standIns.WithLabelValues(station, b.Name)
	}
}

// vanish removes every series of a station.
func (m *metrics) vanish(station string) {
	of := prometheus.Labels{"station": station}
	m.tickets.DeletePartialMatch(of)
	m.attempts.DeletePartialMatch(of)
	m.up.DeletePartialMatch(of)
	m.wait.DeletePartialMatch(of)
	m.standIns.DeletePartialMatch(of)
}

func (m *metrics) left(station string, as ticket.State, n int) {
	m.tickets.WithLabelValues(station, string(as)).Add(float64(n))
}

func (m *metrics) setUp(station string, up bool) {
	v := 0.0
	if up {
		v = 1
	}
	m.up.WithLabelValues(station).Set(v)
}
