package dispatch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/queue/ticket"
)

// A result is how one attempt ended, as a metric label.
type result string

const (
	resultOK result = "ok" // printed
	// The label is not the term: a ticket that a station refuses for good is resultPermanent.
	resultCleanFailure result = "refused"     // none of the ticket was sent, and it is tried again
	resultDoubt        result = "doubt"       // failed after begin
	resultNotReady     result = "not_ready"   // the station cannot print now, see [ticket.NotReady]
	resultPermanent    result = "permanent"   // the station refused the ticket for good
	resultInterrupted  result = "interrupted" // not by the station: shutdown, too old now, or the queue failed
)

func results() []result {
	return []result{resultOK, resultCleanFailure, resultDoubt, resultNotReady, resultPermanent, resultInterrupted}
}

// outcomes are the states that a worker counts, as metric labels. A held ticket stays in its lane and is counted again
// when a person has it reprinted.
func outcomes() []ticket.State {
	return append(ticket.Proofs(), ticket.Held, ticket.Failed, ticket.Expired)
}

type metrics struct {
	tickets  *prometheus.CounterVec
	attempts *prometheus.CounterVec
	wait     *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	factory := promauto.With(reg)
	return &metrics{
		tickets: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_station_tickets_total",
			Help: "Tickets by outcome; a held ticket is counted again when a person reprints it.",
		}, []string{"station", "outcome"}),
		attempts: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_station_attempts_total",
			Help: "Attempts to print, by result; refused: nothing was sent, permanent: for good.",
		}, []string{"station", "result"}),
		wait: factory.NewHistogramVec(prometheus.HistogramOpts{
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
