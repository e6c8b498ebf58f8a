package dispatch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/queue/ticket"
)

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

// forget removes the series of a backup that is none any more.
func (m *metrics) forget(station, backup string) {
	m.standIns.DeleteLabelValues(station, backup)
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

func (m *metrics) attempt(station string, r result) {
	m.attempts.WithLabelValues(station, string(r)).Inc()
}

func (m *metrics) left(station string, as ticket.State, n int) {
	m.tickets.WithLabelValues(station, string(as)).Add(float64(n))
}

func (m *metrics) out(station string, waited time.Duration) {
	m.wait.WithLabelValues(station).Observe(waited.Seconds())
}

func (m *metrics) stoodIn(station, backup string) {
	m.standIns.WithLabelValues(station, backup).Inc()
}

func (m *metrics) setUp(station string, up bool) {
	v := 0.0
	if up {
		v = 1
	}
	m.up.WithLabelValues(station).Set(v)
}
