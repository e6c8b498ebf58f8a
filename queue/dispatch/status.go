package dispatch

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/queue/ticket"
)

// Status is what the attempts of a lane say about its station.
type Status struct {
	Name  string    `json:"name"`
	Up    bool      `json:"up"`    // the last attempt that says something about the station succeeded
	Known bool      `json:"known"` // there was such an attempt; without one Up means nothing
	Since time.Time `json:"since"` // when Up or Known last changed; wall clock
	// Err is why it is not up, for people.
	Err string `json:"err,omitempty"`
	// Waiting is what a person must do ("no paper"), if nothing else is wrong.
	Waiting string `json:"waiting,omitempty"`
	// Attempt is the number of the attempt in hand, or of the last one that failed while its ticket
	// still waits; 0 if there is neither.
	Attempt int `json:"attempt,omitempty"`
	// NextTry is when the current pause ends; zero if there is none.
	NextTry time.Time `json:"next_try,omitzero"`
	// ActiveBackup is the backup that prints this station's tickets; zero if none does.
	ActiveBackup ActiveBackup `json:"stand_in,omitzero"`
}

// A ActiveBackup is a backup that prints for another station.
type ActiveBackup struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"` // wall clock, of the first ticket it printed
}

// Status returns the status of each lane of the last [Dispatcher.Set], sorted by name.
func (d *Dispatcher) Status() []Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Status, 0, len(d.workers))
	for _, w := range d.workers {
		if w.lane != nil {
			out = append(out, w.status)
		}
	}
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// update changes the worker's status.
func (w *worker) update(f func(*Status)) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	f(&w.status)
}

func (s *Status) setUp(up bool) {
	if !s.Known || s.Up != up {
		s.Known, s.Up, s.Since = true, up, time.Now()
	}
}

// A result is how one attempt ended, as a metric label.
type result string

const (
	resultOK           result = "ok"          // printed
	resultCleanFailure result = "refused"     // a clean failure: before the first ticket byte
	resultDoubt        result = "doubt"       // failed after it
	resultNotReady     result = "not_ready"   // the station needs a person
	resultPermanent    result = "permanent"   // the station refused the ticket for good
	resultInterrupted  result = "interrupted" // shutdown, or the queue could not begin it
)

func results() []result {
	return []result{resultOK, resultCleanFailure, resultDoubt, resultNotReady, resultPermanent, resultInterrupted}
}

// outcomes are the states that countOutcome counts, as metric labels.
func outcomes() []ticket.State {
	return append(ticket.Proofs(), ticket.Held, ticket.Failed, ticket.Expired)
}

type metrics struct {
	tickets  *prometheus.CounterVec
	attempts *prometheus.CounterVec
	wait     *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		tickets: f.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_station_tickets_total",
			Help: "Tickets by outcome; a held ticket is counted again when a person reprints it.",
		}, []string{"station", "outcome"}),
		attempts: f.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_station_attempts_total",
			Help: "Attempts to print a ticket, by result.",
		}, []string{"station", "result"}),
		wait: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ticketrail_ticket_wait_seconds",
			Help:    "Time from accepting a ticket until it was printed or shown.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400},

			// Also as a native histogram, for Prometheus servers that store them: each bucket is at most
			// a tenth wider than the one before, and the number of buckets bounds the memory.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"station"}),
	}
}

// createSeries creates every series of a station at 0, so that rate() sees the first failure.
func (m *metrics) createSeries(station string) {
	for _, o := range outcomes() {
		m.tickets.WithLabelValues(station, string(o))
	}
	for _, r := range results() {
		m.attempts.WithLabelValues(station, string(r))
	}
	m.wait.WithLabelValues(station)
}

// deleteSeries removes every series of a station: one that was removed from the configuration must
// not look as if it were still there.
func (m *metrics) deleteSeries(station string) {
	of := prometheus.Labels{"station": station}
	m.tickets.DeletePartialMatch(of)
	m.attempts.DeletePartialMatch(of)
	m.wait.DeletePartialMatch(of)
}

// countOutcome counts tickets by outcome. A held ticket stays in its lane and is counted again when
// a person has it reprinted.
func (m *metrics) countOutcome(station string, as ticket.State, n int) {
	m.tickets.WithLabelValues(station, string(as)).Add(float64(n))
}
