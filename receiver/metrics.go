package receiver

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/receiver/contract"
)

// How a request that was answered 200 is called in requests_total.
const (
	reasonStored    Code = "stored"
	reasonDuplicate Code = "duplicate"
	reasonConflict  Code = "conflict"
)

// metrics has every label combination from the start, so that the first event of a kind is
// an increase. No label holds anything that a caller chose.
type metrics struct {
	requests     map[Code]prometheus.Counter // read-only once made
	seconds      prometheus.Histogram
	duplicates   prometheus.Counter
	conflicts    prometheus.Counter
	anomalies    map[contract.Anomaly]prometheus.Counter // read-only once made
	last         prometheus.Gauge
	ruleFailures prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		requests:  map[Code]prometheus.Counter{},
		anomalies: map[contract.Anomaly]prometheus.Counter{},
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "ticketrail_receiver_request_seconds",
			Help:    "Time from a print request's headers to its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3, 4, 5},

			// And as a native histogram, for a Prometheus that takes them.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
		duplicates: f.NewCounter(prometheus.CounterOpts{
			Name: "ticketrail_receiver_duplicates_total",
			Help: "Print requests that came again with the same content and printed nothing.",
		}),
		conflicts: f.NewCounter(prometheus.CounterOpts{
			Name: "ticketrail_receiver_conflicts_total",
			Help: "Print requests that came under a known id with other content; only new cancellations were printed.",
		}),
		last: f.NewGauge(prometheus.GaugeOpts{
			Name: "ticketrail_receiver_last_request_timestamp_seconds",
			Help: "When a venue and device that may post were last heard of; 0 if not since the start.",
		}),
		ruleFailures: f.NewCounter(prometheus.CounterOpts{
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
		m.requests[c] = requests.WithLabelValues(strconv.Itoa(contract.StatusStored), string(c))
	}
	anomalies := f.NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_receiver_anomalies_total",
		Help: "Print requests that were printed although something about them was odd.",
	}, []string{"kind"})
	for _, a := range contract.Anomalies() {
		m.anomalies[a] = anomalies.WithLabelValues(string(a))
	}
	return m
}
