package relay

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	store "ticketrail/receiver/relay"
)

// lookEvery is how often the servers are asked: as often as boxes report. With a thousand venues it takes a second.
const lookEvery = 20 * time.Second

// knownFor is how long an answer of the servers counts. The view of a relay that is cut off must not hide from an alert
// the present view of another relay.
const knownFor = 3 * lookEvery

// A watch knows how all venues are, for the metrics. It asks by itself and not at each scrape, so that
// strangers cannot make the servers work by asking.
type watch struct {
	venues  func() []config.Venue
	ready   func() string
	options store.Options            // of the stream, as configured
	last    atomic.Pointer[Overview] // nil until the servers have answered once
	failed  atomic.Pointer[string]   // why the stream takes no orders; nil: it does, as far as is known
}

// run asks until ctx ends.
func (w *watch) run(ctx context.Context, s *store.Stream, boxes func() map[string]store.BoxState,
	log *slog.Logger) error {
	last := ""
	for {
		attempt, cancel := context.WithTimeout(ctx, lookEvery)
		overview, err := look(attempt, s, w.options, w.venues(), boxes())
		cancel()

		switch {
		case err == nil:
			last = ""
			w.last.Store(&overview)
		case ctx.Err() == nil && err.Error() != last:
			last = err.Error()
			log.Warn("the servers do not say how the venues are", "err", err)
		}

		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

const (
	// readyWithin is for the stream's answer whether it has a leader.
	readyWithin = 1500 * time.Millisecond
	readyPause  = 250 * time.Millisecond
)

// runReady asks whether the stream takes orders: now and then, at once when an order could not be stored, and each
// second until it does. Whatever else cannot be seen must not make a load balancer take the relays away, which all see
// the same; neither must a full stream, from which boxes fetch.
func (w *watch) runReady(ctx context.Context, s *store.Stream) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, readyWithin)
		_, err := s.State(attempt, w.options)
		cancel()

		wait := lookEvery
		if err != nil {
			text := err.Error()
			w.failed.Store(&text)
			wait = openAgain // a load balancer sends it nothing until it says that it is ready
		} else {
			w.failed.Store(nil)
		}

		select {
		case <-s.Failed():
			select { // a flood of orders that fail must not become one of questions
			case <-time.After(readyPause):
			case <-ctx.Done():
				return nil
			}
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// notReady says that the stream takes nothing, as far as is known.
func (w *watch) notReady() string {
	if why := w.failed.Load(); why != nil {
		return *why
	}
	return ""
}

// Describe implements [prometheus.Collector]. It names nothing: each venue and server has series of its own.
func (*watch) Describe(chan<- *prometheus.Desc) {}

// Collect exports the last overview.
func (w *watch) Collect(ch chan<- prometheus.Metric) {
	gauge := func(name, help string, value float64, labels ...string) { // label, value
		var names, values []string
		if len(labels) > 0 {
			names, values = labels[:1], labels[1:]
		}
		ch <- daemon.Gauge(prometheus.NewDesc("ticketrail_"+name, help, names, nil), value, values...)
	}
	gauge("relay_ready", "Whether print requests are accepted (1) or not (0), as /readyz says.",
		daemon.Truth(w.ready() == ""))

	latest := w.last.Load()
	if latest == nil {
		latest = new(Overview)
	}
	gauge("relay_watched_timestamp_seconds",
		"When the servers last said how the venues and the stream are; 0: not since the start.",
		daemon.UnixSeconds(latest.At))
	if time.Since(latest.At) > knownFor {
		return
	}

	seen := map[string]bool{}
	for _, s := range latest.Sites {
		if seen[s.Name] { // two files of two people
			s.Name += " " + s.ID
		}
		seen[s.Name] = true

		gauge("relay_site_online", "Whether the venue's box was heard of within 75 seconds (1) or not (0).",
			daemon.Truth(s.Online), "venue", s.Name)
		gauge("relay_site_waiting", "Print requests that the venue's box has not fetched.",
			float64(s.Waiting), "venue", s.Name)
		gauge("venue_last_request_timestamp_seconds", "When the newest print request of the venue was stored; 0 if "+
			"there is none within nats.dedup_retention.", daemon.UnixSeconds(s.LastRequest), "venue", s.Name)
		age := 0.0
		if !s.Oldest.IsZero() {
			age = max(0, time.Since(s.Oldest).Seconds())
		}
		gauge("relay_site_oldest_age_seconds", "How long the oldest of them waits; 0 if none does.",
			age, "venue", s.Name)
		if s.Open != nil {
			gauge("opening_hours", "Whether the venue is open now (1) or not (0), by its hours. A venue without "+
				"hours, or whose time zone is not known, has no series.", daemon.Truth(*s.Open), "venue", s.Name)
		}
	}

	gauge("relay_stream_bytes", "The size of the print requests on each server.", float64(latest.Stream.Bytes))
	gauge("relay_stream_max_bytes", "The size that they may have: nats.max_bytes. A full stream refuses orders.",
		float64(max(0, latest.Stream.MaxBytes)))
	for _, server := range latest.Behind {
		gauge("relay_server_behind",
			"Always 1: the server does not have every print request; no series when it has.", 1, "server", server)
	}
}

// Ago is how long ago something was, for people.
func Ago(now, at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return finding.Age(now.Sub(at)) + " ago"
}
