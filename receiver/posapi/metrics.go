package posapi

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// result is how an exchange ended, for metrics.
type result string

const (
	resultOK           result = "ok"
	resultUnauthorized result = "unauthorized"
	resultForbidden    result = "forbidden"
	resultNotFound     result = "not_found"
	resultRateLimited  result = "rate_limited"
	resultRefused      result = "refused"
	resultRedirected   result = "redirected"
	resultServerError  result = "server_error"
	resultUnreachable  result = "unreachable"
	resultTimeout      result = "timeout"
	resultMalformed    result = "malformed"
	resultCanceled     result = "canceled"
)

func results() []result {
	return []result{
		resultOK, resultUnauthorized, resultForbidden, resultNotFound, resultRateLimited, resultRefused,
		resultRedirected, resultServerError, resultUnreachable, resultTimeout, resultMalformed, resultCanceled,
	}
}

type metrics struct {
	requests *prometheus.CounterVec
}

// newMetrics takes over what another client has registered before, so that a reload can make
// the new client while the old one still works.
func newMetrics(reg prometheus.Registerer, c *Client) (*metrics, error) {
	m := &metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_posapi_requests_total",
		Help: "Requests to the point-of-sale service, by call and how they ended; each try counts.",
	}, []string{"call", "result"})}
	for _, call := range Calls() {
		for _, r := range results() {
			m.requests.WithLabelValues(string(call), string(r))
		}
	}
	if reg == nil {
		return m, nil
	}
	if err := reg.Register(m.requests); err != nil {
		old, ok := errors.AsType[prometheus.AlreadyRegisteredError](err)
		if !ok {
			return nil, err
		}
		m.requests = old.ExistingCollector.(*prometheus.CounterVec)
	}
	a := &ages{desc: prometheus.NewDesc("ticketrail_posapi_token_age_seconds",
		"Time since the venue's present token was asked for; venues without a token are not there.", []string{"venue"}, nil)}
	if err := reg.Register(a); err != nil {
		old, ok := errors.AsType[prometheus.AlreadyRegisteredError](err)
		if !ok {
			return nil, err
		}
		a = old.ExistingCollector.(*ages)
	}
	c.ages = a
	a.join(c)
	return m, nil
}

func (m *metrics) count(call Call, e *Error) {
	r := resultOK
	if e != nil {
		r = e.result
	}
	m.requests.WithLabelValues(string(call), string(r)).Inc()
}

// ages reads the tokens' ages when it is asked. Around a reload there are two clients; of a venue
// that both have a token for, the newer one's counts.
type ages struct {
	desc *prometheus.Desc

	mu      sync.Mutex
	clients []*Client // oldest first; guarded by mu
}

func (a *ages) join(c *Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = append(a.clients, c)
}

func (a *ages) leave(c *Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = slices.DeleteFunc(a.clients, func(o *Client) bool { return o == c })
}

// Describe implements [prometheus.Collector].
func (a *ages) Describe(ch chan<- *prometheus.Desc) { ch <- a.desc }

// Collect implements [prometheus.Collector].
func (a *ages) Collect(ch chan<- prometheus.Metric) {
	a.mu.Lock()
	clients := slices.Clone(a.clients)
	a.mu.Unlock()
	all := map[string]time.Duration{}
	for _, c := range clients {
		c.mu.Lock()
		venues := maps.Clone(c.venues)
		c.mu.Unlock()
		for id, v := range venues {
			if age, ok := v.tokens.age(); ok {
				all[id] = age
			}
		}
	}
	for id, age := range all {
		ch <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, age.Seconds(), id)
	}
}
