package receiver

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/receiver/contract"
)

// The reason label of requests_total for requests that were answered 200.
const (
	reasonStored    Code = "stored"
	reasonDuplicate Code = "duplicate"
	reasonConflict  Code = "conflict"
)

// metrics has every label combination from the start, so that rate() sees the first event of a kind.
// No label value comes from a caller: strangers could create series without limit.
type metrics struct {
	requests           map[Code]prometheus.Counter // read-only once made, so it needs no lock
	seconds            prometheus.Histogram
	anomalies          map[contract.Anomaly]prometheus.Counter // read-only once made
	expressionFailures prometheus.Counter
}

// newMetrics makes the metrics and registers them with reg, which may be nil.
func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		requests:  map[Code]prometheus.Counter{},
		anomalies: map[contract.Anomaly]prometheus.Counter{},
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name: "ticketrail_receiver_request_seconds",
			Help: "Time from a print request's headers to its answer.",
			// Answers take milliseconds; 4 s is the default of respond_within.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3, 4, 5},

			// Its size is bounded: at most 100 buckets, each 10 % wider than the one before.
			// Also as a native histogram, for Prometheus servers that store them.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
		expressionFailures: f.NewCounter(prometheus.CounterOpts{
			Name: "ticketrail_receiver_rule_failures_total",
			Help: "Routing expressions that failed on an item; they counted as no match.",
		}),
	}
	requests := f.NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_receiver_requests_total",
		Help: "Requests answered, by HTTP status and reason.",
	}, []string{"code", "reason"})
	for _, c := range Codes() {
		m.requests[c] = requests.WithLabelValues(strconv.Itoa(c.Status()), string(c))
	}
	for _, c := range []Code{reasonStored, reasonDuplicate, reasonConflict} {
		m.requests[c] = requests.WithLabelValues(strconv.Itoa(contract.HTTPStored), string(c))
	}
	anomalies := f.NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_receiver_anomalies_total",
		Help: "Print requests that differed from the contract and were printed anyway, by kind.",
	}, []string{"kind"})
	for _, a := range contract.Anomalies() {
		m.anomalies[a] = anomalies.WithLabelValues(string(a))
	}
	return m
}
