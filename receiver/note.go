package receiver

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// count counts a request that is on stable storage.
func (x *exchange) count(t ticket.Receipt) {
	m := x.r.metrics
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
func (x *exchange) accepted(t ticket.Receipt) {
	if t.Conflict {
		x.r.log.Warn("known request came with other content; only new cancellations are printed",
			"request", x.id, "venue", x.venue.ID, "device", x.device, "jobs", t.Jobs)
	}
	x.r.log.LogAttrs(context.Background(), slog.LevelInfo, "request accepted",
		slog.String("request", x.id), slog.String("venue", x.venue.ID), slog.String("device", x.device),
		slog.Int("jobs", t.Jobs), slog.Bool("duplicate", t.Duplicate))
}

// refused logs a refusal, of each code and venue once a minute: whoever refuses to stop posting must not
// fill the disk with it. What everybody on the internet can cause is not worth a warning.
func (r *Receiver) refused(x *exchange, no *refusal) {
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
	ok, since := r.quiet.once(key, time.Minute)
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("code", string(no.code)), slog.String("err", no.message)}
	if x.venue != nil {
		attrs = append(attrs, slog.String("venue", x.venue.ID), slog.String("device", x.device))
	}
	if host, _, err := net.SplitHostPort(x.req.RemoteAddr); err == nil {
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
	if ok, _ := r.quiet.once(string(a)+" "+venue, 0); ok {
		r.log.Warn("odd request is printed all the same; said once", "kind", string(a), "venue", venue, "request", request)
	}
}

// rulesFailed says, now and then, that expressions do not fit what the service sends.
func (r *Receiver) rulesFailed(res plan.Result, venue string) {
	r.metrics.ruleFailures.Add(float64(res.Failed))
	if ok, since := r.quiet.once("rules "+venue, time.Minute); ok {
		r.log.Warn("routing expression failed; its route took nothing", "venue", venue,
			"request", res.Request.ID, "err", res.Failures[0], "failures", res.Failed, "unlogged", since)
	}
}

// panicked reports a programming error. The request is answered 500, which makes the service
// try again.
func (r *Receiver) panicked(v any) {
	r.log.Error("print request panicked; report this with the stack", "err", fmt.Sprint(v), "stack", string(debug.Stack()))
}

// quiet remembers what was logged, so that it is not logged again and again.
type quiet struct {
	mu   sync.Mutex // guards said
	said map[string]*saying
}

type saying struct {
	at    time.Time
	since int
}

// maxSayings bounds quiet's memory. Venues and codes are closed sets, but reloads change venues.
const maxSayings = 4096

func newQuiet() *quiet { return &quiet{said: map[string]*saying{}} }

// once says whether to log what key names now, and how often that was not done since the last
// time. After every it may be said again; if that is 0, never.
func (q *quiet) once(key string, every time.Duration) (ok bool, since int) {
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
