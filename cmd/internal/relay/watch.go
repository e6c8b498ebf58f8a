package relay

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/finding"
	store "ticketrail/receiver/relay"
)

const (
	// lookEvery is how often the servers are asked: as often as boxes report. With a thousand venues it takes a second.
	lookEvery = 20 * time.Second
	// lookAgain is about when they are asked again if not all could be read.
	lookAgain = 3 * time.Second
	// openWithin is for the stream. On new servers another relay may create it at the same time: then there is no
	// answer, and the next attempt finds it.
	openWithin = 10 * time.Second
	// settleTime after a change of the venues, all that came in that time are read at once.
	settleTime = 100 * time.Millisecond
)

// knownFor is how long an answer of the servers counts. The view of a relay that is cut off must not hide from an alert
// the present view of another relay.
const knownFor = 3 * lookEvery

// runWatch looks at the venues until ctx ends: now and then, and when one was changed.
func (s *server) runWatch(ctx context.Context) error {
	for last := ""; ctx.Err() == nil; {
		wait, why := lookEvery, ""
		if err := s.look(ctx); err != nil {
			wait, why = lookAgain/2+rand.N(lookAgain), err.Error() // not at the same time as another relay, again
			s.o.Notify("STATUS=" + s.status())
		}
		if why != "" && why != last {
			s.log.Warn("the servers do not say how all venues are", "err", why)
		}
		last = why

		select {
		case <-s.door.Changed():
			time.Sleep(settleTime)
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// look asks the servers how all venues are, and makes them known. Some venues are enough: one that cannot be read must
// not keep all others from their orders.
func (s *server) look(ctx context.Context) error {
	if !s.isOpen {
		opening, cancel := context.WithTimeout(ctx, openWithin)
		defer cancel()
		if err := s.stream.Open(opening); err != nil {
			return err
		}
		s.isOpen = true
	}

	attempt, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	overview, err := look(attempt, s.stream, s.door.Boxes())
	if err == nil || len(overview.Sites) > 0 {
		s.restore(attempt, s.setVenues(overview, err == nil))
	}
	if err == nil {
		s.last.Store(&overview) // only now: until then the list in use is old
	}

	// Who answers that has a majority behind it, so no other server has the stream.
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s.log.Error("the servers do not have the stream, with the orders that no box had fetched; it is made anew")
		s.isOpen = false
		s.door.Look()
	}
	return err
}

// latest is how all venues were at last; empty until the servers have answered once.
func (s *server) latest() *Overview { return cmp.Or(s.last.Load(), new(Overview)) }

// restore adds the venues that the servers have lost with the stream, with their tokens: two of the disks were empty.
// One that a person has removed is still there, as removed.
func (s *server) restore(ctx context.Context, lost []store.VenueEntry) {
	for _, v := range lost {
		if err := s.stream.PutVenue(ctx, v); err != nil {
			s.log.Error("the servers have lost a venue, and it cannot be added again now", "err", err)
			return
		}
		s.log.Error("the servers had lost a venue; it was added again", "venue", v.ID)
	}
}

const (
	// readyWithin is for the stream's answer whether it has a leader.
	readyWithin = 1500 * time.Millisecond
	readyPause  = 250 * time.Millisecond
	readyAgain  = time.Second
)

// runReady asks whether the stream takes orders: now and then, at once when an order could not be stored, and each
// second until it does. Whatever else cannot be seen must not make a load balancer take the relays away, which all see
// the same; neither must a full stream, from which boxes fetch.
//
// It makes runWatch look when the servers have lost the stream, or may have lost it, and the venues with it.
func (s *server) runReady(ctx context.Context) error {
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, readyWithin)
		_, err := s.stream.State(attempt)
		cancel()

		wait, why := lookEvery, ""
		if err != nil {
			wait, why = readyAgain, err.Error() // a load balancer sends it nothing until it says that it is ready
		}
		before, _ := s.failed.Swap(why).(string)
		if before != "" && err == nil || errors.Is(err, jetstream.ErrStreamNotFound) {
			s.door.Look()
		}

		select {
		case <-s.stream.Failed():
			time.Sleep(readyPause) // a flood of orders that fail must not become one of questions
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// Describe implements [prometheus.Collector]. It names nothing: each venue and server has series of its own.
func (*server) Describe(chan<- *prometheus.Desc) {}

// Collect exports the last overview. The servers are not asked at each scrape, so that strangers cannot make them work.
func (s *server) Collect(ch chan<- prometheus.Metric) {
	gauge := func(name, help string, value float64, label ...string) { // their names, then their values
		half := len(label) / 2
		ch <- daemon.Gauge(prometheus.NewDesc("ticketrail_"+name, help, label[:half], nil), value, label[half:]...)
	}
	gauge("relay_ready", "Whether print requests are accepted (1) or not (0), as /readyz says.",
		daemon.Truth(s.notReady() == ""))

	latest := s.latest()
	gauge("relay_watched_timestamp_seconds",
		"When the servers last said how the venues and the stream are; 0: not since the start.",
		daemon.UnixSeconds(latest.At))
	if time.Since(latest.At) > knownFor {
		return
	}

	for _, one := range latest.Sites {
		site := func(name, help string, value float64) {
			gauge(name, help, value, "venue", "id", one.Name, one.ID) // two may have one name
		}
		site("relay_site_online", "Whether the venue's box was heard of within 75 seconds (1) or not (0).",
			daemon.Truth(one.Online))
		site("relay_site_waiting", "Print requests that the venue's box has not fetched.", float64(one.Waiting))
		age := 0.0
		if !one.Oldest.IsZero() {
			age = max(0, time.Since(one.Oldest).Seconds())
		}
		site("relay_site_oldest_age_seconds", "How long the oldest of them waits; 0 if none does.", age)
		if one.Open != nil {
			site("opening_hours", "Whether the venue is open now (1) or not (0), by its hours. A venue without "+
				"hours, or whose time zone is not known, has no series.", daemon.Truth(*one.Open))
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
