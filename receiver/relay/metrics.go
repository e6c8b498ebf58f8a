package relay

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	publish     prometheus.Histogram
	retries     prometheus.Counter
	keepDropped prometheus.Counter
}

// newMetrics makes the metrics of the cloud's side. reg may be nil.
func newMetrics(reg prometheus.Registerer) *metrics {
	factory := promauto.With(reg)
	return &metrics{
		publish: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "ticketrail_relay_store_seconds",
			Help:    "Time until a request was stored by a quorum, or given up.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3, 4, 5},

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
		retries: factory.NewCounter(prometheus.CounterOpts{
			Name: "ticketrail_relay_store_retries_total",
			Help: "Attempts to store a request that failed and were made again: the cluster had no leader or lost one.",
		}),
		keepDropped: factory.NewCounter(prometheus.CounterOpts{
			Name: "ticketrail_relay_rejects_dropped_total",
			Help: "Bodies of refused requests that were not passed on to their box.",
		}),
	}
}
