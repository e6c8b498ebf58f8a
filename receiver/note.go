package receiver

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// count counts a request that is on stable storage.
func (r *Receiver) count(x *exchange, t ticket.Receipt) {
	m := r.metrics
	reason := reasonStored
	switch {
	case t.Conflict:
		reason = reasonConflict
		m.conflicts.Inc()
	case t.Duplicate:
		reason = reasonDuplicate
		m.duplicates.Inc()
	}
	m.requests[reason].Inc()
	m.seconds.Observe(time.Since(x.start).Seconds())
}

// accepted logs a request that is on stable storage. It is called after the answer: a journal
// that is slow to take a line keeps nobody waiting.
func (r *Receiver) accepted(x *exchange, id string, t ticket.Receipt) {
	if t.Conflict {
		r.log.Warn("known request came with other content; only new cancellations are printed",
			"request", id, "venue", x.venue.ID, "device", x.device, "jobs", t.Jobs)
	}
	r.log.LogAttrs(context.Background(), slog.LevelInfo, "request accepted",
		slog.String("request", id), slog.String("venue", x.venue.ID), slog.String("device", x.device),
		slog.Int("jobs", t.Jobs), slog.Bool("duplicate", t.Duplicate))
}

// logRefusal logs a refusal, of each code and venue once a minute: whoever refuses to stop posting must not
// fill the disk with it. What everybody on the internet can cause is not worth a warning.
func (r *Receiver) logRefusal(x *exchange, req *http.Request, no *refusal) {
	level := slog.LevelWarn
	if no.code == NotFound || no.code == MethodNotAllowed {
		level = slog.LevelDebug
	}
	if !r.log.Enabled(context.Background(), level) {
		return
	}
	key := string(no.code)
	if x.venue != nil {
		key += " " + x.venue.ID // so that a stranger's noise never hides a venue's lost ticket
	}
	ok, since := r.limiter.once(key, time.Minute)
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("code", string(no.code)), slog.String("err", no.message)}
	if x.venue != nil {
		attrs = append(attrs, slog.String("venue", x.venue.ID), slog.String("device", x.device))
	}
	if host, _, err := net.SplitHostPort(req.RemoteAddr); err == nil {
		attrs = append(attrs, slog.String("address", host)) // the peer's; a proxy's, if there is one
	}
	if since > 0 {
		attrs = append(attrs, slog.Int("unlogged", since))
	}
	r.log.LogAttrs(context.Background(), level, "request refused", attrs...)
}

// anomaly counts what was odd and logs it the first time a venue does it.
func (r *Receiver) anomaly(a contract.Anomaly, venue, request string) {
	r.metrics.anomalies[a].Inc()
	if ok, _ := r.limiter.once(string(a)+" "+venue, 0); ok {
		r.log.Warn("odd request is printed all the same; said once", "kind", string(a), "venue", venue, "request", request)
	}
}

// rulesFailed says, now and then, that expressions do not fit what the service sends.
func (r *Receiver) rulesFailed(res plan.Result, venue string) {
	r.metrics.ruleFailures.Add(float64(res.Failed))
	if ok, since := r.limiter.once("rules "+venue, time.Minute); ok {
		r.log.Warn("routing expression failed; its route took nothing", "venue", venue,
			"request", res.Request.ID, "err", res.Failures[0], "failures", res.Failed, "unlogged", since)
	}
}

// logLimiter remembers what was logged, so that it is not logged again and again.
type logLimiter struct {
	mu   sync.Mutex // guards said
	said map[string]*saying
}

type saying struct {
	at    time.Time
	since int
}

// maxSayings bounds its memory. Venues and codes are closed sets, but reloads change venues.
const maxSayings = 4096

func newLogLimiter() *logLimiter { return &logLimiter{said: map[string]*saying{}} }

// once says whether to log what key names now, and how often that was not done since the last
// time. After every it may be said again; if that is 0, never.
func (q *logLimiter) once(key string, every time.Duration) (ok bool, since int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.said[key]
	switch {
	case s == nil:
		if len(q.said) >= maxSayings {
			clear(q.said)
		}
		q.said[key] = &saying{at: time.Now()}
		return true, 0
	case every == 0 || time.Since(s.at) < every:
		s.since++
		return false, 0
	}
	since = s.since
	*s = saying{at: time.Now()}
	return true, since
}
