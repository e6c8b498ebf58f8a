package kds

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the metrics of all screens of a process. A nil *Metrics records nothing.
type Metrics struct {
	shownSeconds prometheus.Histogram
	gauges       []gauge

	mu           sync.Mutex
	shownScreens []*Screen
}

// A gauge is a value of each screen. It is read at each scrape, so it is never old.
type gauge struct {
	desc  *prometheus.Desc
	value func(ScreenStatus) float64
}

// NewMetrics registers the metrics with reg; nil registers nowhere.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	metrics := &Metrics{
		shownSeconds: promauto.With(reg).NewHistogram(prometheus.HistogramOpts{
			Name: "ticketrail_display_shown_seconds",
			Help: "Time from adding a ticket to a screen's board until a live page confirmed it.",
			// From a local network's round trip to showWithin, with the most buckets where a cook
			// begins to notice.
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2.5, 5, 10},

			// Also as a native histogram, for a Prometheus that scrapes them.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
	}

	add := func(name, help string, value func(ScreenStatus) float64) {
		metrics.gauges = append(metrics.gauges, gauge{prometheus.NewDesc(name, help, []string{"station"}, nil), value})
	}

	add("ticketrail_display_screens", "Live pages of a screen station; 0: the screen is dark.",
		func(st ScreenStatus) float64 { return float64(st.Live) })
	add("ticketrail_display_open_tickets", "Open tickets on a screen station's board.",
		func(st ScreenStatus) float64 { return float64(st.Open) })
	add("ticketrail_display_oldest_open_seconds",
		"Age of the oldest open ticket of a screen station; 0 if none is open.",
		func(st ScreenStatus) float64 {
			if st.Oldest.IsZero() {
				return 0
			}
			return max(time.Since(st.Oldest).Seconds(), 0)
		})
	add("ticketrail_display_unseen_tickets",
		"Open tickets of a screen station that nobody has paged to for longer than unseen_after.",
		func(st ScreenStatus) float64 { return float64(st.Unseen) })
	if reg != nil {
		reg.MustRegister(metrics)
	}

	return metrics
}

// Set replaces the screens whose metrics are collected, after a reload. The series of others end.
func (m *Metrics) Set(screens []*Screen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shownScreens = append([]*Screen(nil), screens...)
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range m.gauges {
		ch <- g.desc
	}
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	screens := m.shownScreens
	m.mu.Unlock()
	for _, s := range screens {
		st := s.Status()
		for _, g := range m.gauges {
			ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(st), s.o.Name)
		}
	}
}

// shown records how long a ticket took from Add to a page's confirmation.
func (m *Metrics) shown(after time.Duration) {
	if m != nil {
		m.shownSeconds.Observe(after.Seconds())
	}
}
