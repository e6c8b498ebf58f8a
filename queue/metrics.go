package queue

import (
	"math"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

// metrics are observed with each commit. The rest is read when Prometheus asks: see
// collector.
type metrics struct {
	commitSeconds prometheus.Histogram
	outcomesLost  prometheus.Counter
}

// newMetrics registers the metrics with reg, if there is one.
func newMetrics(q *Queue, reg prometheus.Registerer) *metrics {
	factory := promauto.With(reg)
	m := &metrics{
		commitSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "ticketrail_queue_commit_seconds",
			Help:    "Time to make one transaction durable.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10},

			// Also as a native histogram: each bucket is at most a tenth wider than the one before.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
		outcomesLost: factory.NewCounter(prometheus.CounterOpts{
			Name: "ticketrail_outcomes_lost_total",
			Help: "Outcomes that nobody was told: nobody took them for as long as the history goes back, or they " +
				"could not be stored.",
		}),
	}

	gauge := func(name, help string, value func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	asNumber := map[bool]float64{true: 1}

	gauge("ticketrail_queue_unaccounted_jobs",
		"Jobs by which the books do not balance. Anything but 0 is a bug or a damaged file.",
		func() float64 { return float64(q.Unaccounted()) })
	gauge("ticketrail_queue_copy_failing", "1 while the copy of the queue's file is not complete.",
		func() float64 { return asNumber[q.CopyProblem() != nil] })
	gauge("ticketrail_queue_storage_full", "1 while new requests are refused because the disk is full.",
		func() float64 { return asNumber[q.space.IsFull.Load()] })
	gauge("ticketrail_queue_file_free_bytes", "Bytes of the queue's file that hold nothing.",
		func() float64 { return float64(q.reusable()) })
	gauge("ticketrail_queue_file_bytes", "Size of the queue's file.", func() float64 {
		info, err := os.Stat(q.o.Path)
		if err != nil {
			return math.NaN()
		}
		return float64(info.Size())
	})
	gauge("ticketrail_queue_disk_free_bytes", "Bytes that may still be written to the disk of the queue's file.",
		func() float64 {
			free, err := store.FreeBytes(q.space.Dir)
			if err != nil { // 0 would be an alarm
				return math.NaN()
			}
			return float64(free)
		})

	if reg != nil {
		reg.MustRegister(&collector{q})
	}
	return m
}

var (
	descJobs = prometheus.NewDesc("ticketrail_queue_jobs",
		"Jobs in a station's queue now.", []string{"station", "state"}, nil)
	descEnded = prometheus.NewDesc("ticketrail_queue_ended_total",
		"Jobs of a station that ended in a state, since its database was created. "+
			"One that failed counts as failed, also if it was cancelled later.",
		[]string{"station", "state"}, nil)
	descOldest = prometheus.NewDesc("ticketrail_queue_oldest_job_age_seconds",
		"Running time that the oldest job in a station's queue has waited; 0 if none waits.", []string{"station"}, nil)
)

// collector reads the metrics of the stations from their lanes when Prometheus asks, so they are never stale.
type collector struct{ q *Queue }

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descJobs, descEnded, descOldest} {
		ch <- d
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}

	for _, s := range c.q.Stations() {
		name := strings.ToValidUTF8(s.Name, "?") // only a damaged file has such a name, and client_golang panics on it
		for _, state := range ticket.States() {
			count := s.Count(state)
			if state.Open() {
				gauge(descJobs, float64(count), name, string(state))
				continue
			}

			ch <- prometheus.MustNewConstMetric(descEnded, prometheus.CounterValue, float64(count), name, string(state))
		}
		gauge(descOldest, s.Oldest.Seconds(), name)
	}
}

// Count is how many of the station's jobs are in a state now, or ended in it if it is final.
func (s StationState) Count(state ticket.State) uint64 {
	switch state {
	case ticket.Pending:
		return uint64(s.Pending)
	case ticket.Held:
		return uint64(s.Held)
	case ticket.Printing:
		return uint64(s.Printing)
	case ticket.Moved:
		return s.Books.MovedOut
	}
	return s.Books.Outcomes[state]
}
