package posapi

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// results are the label values of how an exchange can end. timeout and unreachable are kept apart
// from server_error: the first two are mostly the network's fault.
var results = []string{
	"ok", "unauthorized", "forbidden", "not_found", "rate_limited", "refused",
	"redirected", "server_error", "unreachable", "timeout", "malformed", "canceled",
}

// result is the label value for how an exchange ended; a nil error is ok.
func (e *Error) result() string {
	switch {
	case e == nil:
		return "ok"
	case e.late:
		return "timeout"
	case e.kind == ErrUnavailable && e.Status == 0:
		return "unreachable"
	}
	if k, ok := e.kind.(kind); ok {
		return string(k)
	}
	return "canceled"
}

// Metrics are shared by all clients that send requests to the service: around a reload there are
// two. They are safe for concurrent use.
//
// During a reload the old client may still answer calls, so only the client that fetched the latest
// token shows the ages of its tokens: otherwise each venue would have two series of one name.
type Metrics struct {
	requests *prometheus.CounterVec
	age      *prometheus.Desc
	client   atomic.Pointer[Client] // that fetched the latest token; nil: it is closed, or none did
}

// NewMetrics registers them at reg; nil: nowhere.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_posapi_requests_total",
			Help: "Requests to the point-of-sale service, by call and how they ended; each try counts.",
		}, []string{"call", "result"}),
		age: prometheus.NewDesc("ticketrail_posapi_token_age_seconds",
			"Time since the venue's present token was requested; venues without a token have no series.",
			[]string{"venue"}, nil),
	}
	for _, call := range []Call{CallToken, CallMe, CallEmployees, CallPayrollPeriods} {
		for _, r := range results { // from the start, or a rate would miss the first failure
			m.requests.WithLabelValues(string(call), r)
		}
	}
	if reg != nil {
		reg.MustRegister(m)
	}
	return m
}

// Describe implements [prometheus.Collector], for the ages of tokens.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { ch <- m.age }

// Collect implements [prometheus.Collector]. Ages are computed at the scrape, so they are never
// stale.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	c := m.client.Load()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for venue, v := range c.venues {
		if g := v.grant.Load(); g != nil && time.Now().Before(g.ends) { // an expired token counts as none
			ch <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, time.Since(g.asked).Seconds(), venue)
		}
	}
}
