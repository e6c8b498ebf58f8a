package receiver

import (
	"context"
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// countStored counts a request that is on stable storage. A conflict has Duplicate set too; it is counted as a conflict
// only, because the operator must look at it.
func (r *Receiver) countStored(t ticket.Receipt) {
	reason := reasonStored
	switch {
	case t.Conflict:
		reason = reasonConflict
	case t.Duplicate:
		reason = reasonDuplicate
	}
	r.metrics.requests[reason].Inc()
}

// logAccepted logs a request that is on stable storage. The line is not limited: the operator searches the journal for
// one order by its id.
func (r *Receiver) logAccepted(x *exchange, t ticket.Receipt) {
	if t.Conflict {
		r.log.Warn("request id was already used with other content; "+x.policy.conflictText(),
			"request", x.request.ID, "venue", x.venue.ID, "device", x.device, "jobs", t.Jobs)
	}

	r.log.LogAttrs(context.Background(), slog.LevelInfo, "request accepted",
		slog.String("request", x.request.ID), slog.String("venue", x.venue.ID), slog.String("device", x.device),
		slog.Int("jobs", t.Jobs), slog.Bool("duplicate", t.Duplicate))
}

// network is the address without the part that one caller can choose freely: a household has 2^64 addresses of
// IPv6. Text that is no address is one network.
func network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}

	if parsed = parsed.Unmap(); parsed.Is4() {
		return parsed.String()
	}
	prefix, _ := parsed.WithZone("").Prefix(64)
	return prefix.String()
}

// logRefusal logs a refusal, for each code and venue once a minute: a caller that posts without end must
// not fill the disk. Neither may strangers, who can invent venues: each network has one line a minute, and all of them
// together have few. A wrong path or method is only a debug line, because any scanner on the
// internet causes those. One that names a venue has the code wrong_path, and is a warning.
//
// It never logs a path: it may be an old secret, or the new one with a typing error. logged says whether it
// wrote the line, and repeated how many refusals with the same key had no line since the one before.
func (r *Receiver) logRefusal(one Reject, known bool) (repeated int, logged bool) {
	level := slog.LevelWarn
	if code := Code(one.Code); code == NotFound || code == MethodNotAllowed {
		level = slog.LevelDebug
		// Before the limiter, so that lines which are not written use none of its memory.
		if !r.log.Enabled(context.Background(), level) {
			return 0, false
		}
	}

	key := one.Code
	switch {
	case known:
		key += " " + one.Venue // so that other callers never hide a venue's lost ticket
	case level == slog.LevelWarn:
		key += " " + network(one.Address) // who invents venues hides only those
	}

	var strangers *rate.Limiter
	if level == slog.LevelWarn && !known {
		strangers = r.strangers
	}
	if logged, repeated = r.limiter.allow(key, time.Minute, strangers); !logged {
		return 0, false
	}

	attrs := []slog.Attr{slog.String("code", one.Code), slog.String("err", one.Message)}
	for _, a := range []slog.Attr{slog.String("venue", one.Venue), slog.String("device", one.Device),
		slog.String("address", one.Address)} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	if repeated > 0 {
		attrs = append(attrs, slog.Int("suppressed", repeated))
	}

	r.log.LogAttrs(context.Background(), level, "request refused", attrs...)
	return repeated, true
}

// noteAnomaly counts a difference from the contract, and logs it the first time for each kind and
// venue: a service that sends it once sends it with every order. The counter shows how often.
func (r *Receiver) noteAnomaly(a contract.Anomaly, venue, request string) {
	r.metrics.anomalies[a].Inc()
	if ok, _ := r.limiter.allow(string(a)+" "+venue, 0, nil); ok {
		r.log.Warn("request differs from the contract, printed anyway; logged once for each kind and venue",
			"kind", string(a), "venue", venue, "request", request)
	}
}

// noteExpressionFailures counts failed expressions, and logs them once a minute for each venue. The items
// are on tickets all the same, at the stations of later routes or at the fallback, so these are
// the only signs that a route is wrong.
func (r *Receiver) noteExpressionFailures(res plan.Result, venue string) {
	r.metrics.expressionFailures.Add(float64(res.FailureCount))
	if ok, skipped := r.limiter.allow("expressions "+venue, time.Minute, nil); ok {
		r.log.Warn("routing expression failed; its route did not match", "venue", venue,
			"request", res.Request.ID, "err", res.Failure, "failures", res.FailureCount, "suppressed", skipped)
	}
}

// A logLimiter remembers when lines were logged, so that a line is not repeated too often. It is
// safe for concurrent use.
type logLimiter struct {
	mu   sync.Mutex // guards last
	last map[string]*loggedLine
}

type loggedLine struct {
	at      time.Time // zero: it was not logged yet
	skipped int       // times it was not logged since then
}

// maxLimiterKeys limits the memory of a logLimiter. Codes and kinds are closed sets and few venues are
// configured, but each reload may bring other venues, and strangers have many addresses.
const maxLimiterKeys = 4096

func newLogLimiter() *logLimiter { return &logLimiter{last: map[string]*loggedLine{}} }

// allow says whether to log the line that key names, and how often it was not logged since the last
// time. It is allowed again after interval; if that is 0, never. A line that is due must also be allowed by shared,
// which limits lines of many keys together; nil: nothing does.
func (l *logLimiter) allow(key string, interval time.Duration, shared *rate.Limiter) (ok bool, skipped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.last[key]
	if line == nil {
		if len(l.last) >= maxLimiterKeys {
			// Cheaper than to remember which line is the oldest, for a case that hardly ever
			// happens.
			clear(l.last) // a few lines are then logged once too often
		}
		line = &loggedLine{}
		l.last[key] = line
	}

	isDue := line.at.IsZero() || interval > 0 && time.Since(line.at) >= interval
	if !isDue || shared != nil && !shared.Allow() {
		line.skipped++
		return false, 0
	}

	skipped = line.skipped
	*line = loggedLine{at: time.Now()}
	return true, skipped
}

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
	factory := promauto.With(reg)
	all := &metrics{
		requests:  map[Code]prometheus.Counter{},
		anomalies: map[contract.Anomaly]prometheus.Counter{},
		seconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "ticketrail_receiver_request_seconds",
			Help: "Time from a print request's headers to its answer.",
			// Answers take milliseconds; 4 s is the default of respond_within.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3, 4, 5},

			// Its size is bounded: at most 100 buckets, each 10 % wider than the one before.
			// Also as a native histogram, for Prometheus servers that store them.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
		expressionFailures: factory.NewCounter(prometheus.CounterOpts{
			Name: "ticketrail_receiver_expression_failures_total",
			Help: "Routing expressions that failed on an item; they counted as no match.",
		}),
	}

	requests := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_receiver_requests_total",
		Help: "Requests answered, by HTTP status and reason.",
	}, []string{"code", "reason"})
	for _, c := range Codes() {
		all.requests[c] = requests.WithLabelValues(strconv.Itoa(c.Status()), string(c))
	}
	for _, c := range []Code{reasonStored, reasonDuplicate, reasonConflict} {
		all.requests[c] = requests.WithLabelValues(strconv.Itoa(contract.HTTPStored), string(c))
	}

	anomalies := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "ticketrail_receiver_anomalies_total",
		Help: "Print requests that differed from the contract and were printed anyway, by kind.",
	}, []string{"kind"})
	for _, a := range contract.Anomalies() {
		all.anomalies[a] = anomalies.WithLabelValues(string(a))
	}

	return all
}
