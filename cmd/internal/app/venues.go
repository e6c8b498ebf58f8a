package app

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/queue"
)

// venues says when the last request of each venue came, and whether the venue is open now. Silence is
// the one failure that nothing on the box causes, and it is one only while somebody orders.
type venues struct {
	config      func() *config.Config
	zone        func(config.Venue) *time.Location
	lastRequest func(venue string) time.Time
	clock       queue.Clock
}

// newestTickets is how many tickets are read at the start: some hundred orders.
const newestTickets = 1000

// lastRequestsBefore has the times of the venues before the start, by the newest tickets: a restart at 18:00 must not
// look like a service that has never called.
func lastRequestsBefore(ctx context.Context, q *queue.Queue) (map[string]time.Time, error) {
	jobs, err := q.Jobs(ctx, queue.Filter{Limit: newestTickets})
	last := map[string]time.Time{}
	for _, j := range jobs {
		if j.ReceivedAt.After(last[j.Venue]) { // a reprint has the time of its order
			last[j.Venue] = j.ReceivedAt
		}
	}

	return last, err
}

var (
	descClock = prometheus.NewDesc("ticketrail_clock_synchronized",
		"Whether the box's clock is known to be synchronized (1) or not (0).", nil, nil)
	descLastRequest = prometheus.NewDesc("ticketrail_receiver_last_request_timestamp_seconds",
		"Time of the last request of an allowed venue and device, or of the newest ticket before the start; "+
			"0 if none is known.", nil, nil)
	descVenueLastRequest = prometheus.NewDesc("ticketrail_venue_last_request_timestamp_seconds",
		"The same for each venue.", []string{"venue"}, nil)
	descOpen = prometheus.NewDesc("ticketrail_opening_hours",
		"Whether the venue is open now (1) or not (0), by its hours in the configuration. "+
			"A venue without hours, or whose time zone is not known, has no series.", []string{"venue"}, nil)
)

// Describe tells nothing: which series there are depends on the configuration.
func (venues) Describe(chan<- *prometheus.Desc) {}

// Collect exports the box and the venues of the active configuration, so that a removed one leaves no series.
func (v venues) Collect(ch chan<- prometheus.Metric) {
	conf := v.config()
	ch <- daemon.Gauge(descClock, daemon.Truth(v.clock.Synchronized()))
	ch <- daemon.Gauge(descLastRequest, daemon.UnixSeconds(v.newest()))
	for _, one := range conf.Venues {
		ch <- daemon.Gauge(descVenueLastRequest, daemon.UnixSeconds(v.lastRequest(one.ID)), one.Name)
		if zone := v.zone(one); zone != nil && len(one.Hours) > 0 {
			ch <- daemon.Gauge(descOpen, daemon.Truth(one.OpenAt(time.Now().In(zone))), one.Name)
		}
	}
}

// newest is when the last request of any configured venue came; zero: never. A request that was refused for its
// content counts: the service reaches the box.
func (v venues) newest() (at time.Time) {
	for _, one := range v.config().Venues {
		if last := v.lastRequest(one.ID); last.After(at) {
			at = last
		}
	}
	return at
}

// open reports whether some venue may be open now. One without hours may always be.
func (v venues) open(now time.Time) bool {
	return slices.ContainsFunc(v.config().Venues, func(one config.Venue) bool {
		zone := v.zone(one)
		return zone == nil || len(one.Hours) == 0 || one.OpenAt(now.In(zone))
	})
}

// silentFor is the same time as in the alert TicketrailNothingReceived.
const silentFor = time.Hour

// silent are the venues of which no request came, although they have been open for all that time.
func (v venues) silent(now time.Time) (out []finding.Finding) {
	for _, one := range v.config().Venues {
		zone, last := v.zone(one), v.lastRequest(one.ID)
		open := zone != nil && now.Sub(last) >= silentFor
		for ago := time.Duration(0); open && ago <= silentFor; ago += time.Minute {
			open = one.OpenAt(now.Add(-ago).In(zone))
		}
		if open {
			out = append(out, finding.Silent(one.Name, last))
		}
	}

	return out
}
