package posapi

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// results are how an exchange can end, as labels.
var results = []string{
	"ok", "unauthorized", "forbidden", "not_found", "rate_limited", "refused",
	"redirected", "server_error", "unreachable", "timeout", "malformed", "canceled",
}

func (e *Error) result() string {
	switch {
	case e == nil:
		return "ok"
	case e.late:
		return "timeout"
	case e.kind == ErrUnavailable && e.Status == 0:
		return "unreachable"
	}
	return map[error]string{
		nil: "canceled", ErrUnauthorized: "unauthorized", ErrForbidden: "forbidden", ErrNotFound: "not_found", ErrRateLimited: "rate_limited",
		ErrRefused: "refused", ErrRedirected: "redirected", ErrUnavailable: "server_error", ErrMalformed: "malformed",
	}[e.kind]
}

// metrics are those of all clients at one registerer: around a reload there are two.
type metrics struct {
	requests *prometheus.CounterVec
	age      *prometheus.Desc

	mu     sync.Mutex
	tokens map[string]life // by venue; guarded by mu
}

// A life is that of the latest token of a venue.
type life struct {
	of          *Venue
	asked, ends time.Time
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketrail_posapi_requests_total",
			Help: "Requests to the point-of-sale service, by call and how they ended; each try counts.",
		}, []string{"call", "result"}),
		age: prometheus.NewDesc("ticketrail_posapi_token_age_seconds",
			"Time since the venue's present token was asked for; venues without a token are not there.", []string{"venue"}, nil),
		tokens: map[string]life{},
	}
	for _, call := range Calls() {
		for _, r := range results {
			m.requests.WithLabelValues(string(call), r)
		}
	}
	if reg == nil {
		return m, nil
	}
	err := reg.Register(m)
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if m, ok = there.ExistingCollector.(*metrics); ok {
			return m, nil
		}
	}
	return m, err
}

func (m *metrics) count(call Call, e *Error) {
	m.requests.WithLabelValues(string(call), e.result()).Inc()
}

func (m *metrics) remember(v *Venue, asked, ends time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[v.id] = life{v, asked, ends}
}

// forget drops the age of v's token, but not that of another client's.
func (m *metrics) forget(v *Venue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tokens[v.id].of == v {
		delete(m.tokens, v.id)
	}
}

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	m.requests.Describe(ch)
	ch <- m.age
}

// Collect implements [prometheus.Collector].
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.requests.Collect(ch)
	m.mu.Lock()
	defer m.mu.Unlock()
	for venue, t := range m.tokens {
		if now := time.Now(); now.Before(t.ends) { // one that has ended is none
			ch <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, now.Sub(t.asked).Seconds(), venue)
		}
	}
}
