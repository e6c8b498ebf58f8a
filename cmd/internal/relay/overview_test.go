package relay

import (
	"maps"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/finding"
	"ticketrail/deploy"
	"ticketrail/deploy/assert"
	store "ticketrail/receiver/relay"
)

var at = time.Date(2026, 7, 3, 19, 30, 0, 0, time.UTC) // a Friday

func TestThePersonIsCalledForWhatCostsOrders(t *testing.T) {
	open := store.VenueEntry{ID: grill, Name: "Grill", Timezone: "UTC", Hours: []string{"daily 00:00-24:00"}}
	closed := open
	closed.Hours = []string{"daily 01:00-01:30"}
	unknown := store.VenueEntry{ID: grill, Name: "Grill"}
	// A site whose box was heard of so long ago, with so many requests, of which the oldest waits so long.
	site := func(heard time.Duration, waiting uint64, oldest time.Duration) store.Site {
		s := store.Site{Waiting: waiting}
		if heard >= 0 {
			s.LastSeen = at.Add(-heard)
		}
		if waiting > 0 {
			s.Oldest = at.Add(-oldest)
		}
		return s
	}
	const never = -1
	problems := site(time.Second, 0, 0)
	problems.Report.Problems = 1
	two := site(time.Second, 0, 0)
	two.TwoBoxes = at.Add(-time.Minute)
	fine := store.State{MaxBytes: 1000, MaxAge: 72 * time.Hour, Servers: 3}
	with := func(change func(*store.State)) store.State { s := fine; change(&s); return s }
	full := func(bytes uint64) store.State { return with(func(s *store.State) { s.Bytes = bytes }) }
	here := site(10*time.Second, 0, 0)
	for name, k := range map[string]struct {
		venue      store.VenueEntry
		site       store.Site
		state      store.State
		want, text string
	}{
		"all is well": {open, here, fine, "ok", ""},
		"a box is away while it is open": {open, site(time.Hour, 0, 0), fine, "fail",
			"its box was not heard of for 1h0m"},
		"a box restarts":                {open, site(2*time.Minute, 0, 0), fine, "ok", ""},
		"a box is off while it is shut": {closed, site(time.Hour, 0, 0), fine, "ok", ""},
		"a box without hours is away":   {unknown, site(time.Hour, 0, 0), fine, "warn", "not heard of for 1h0m"},
		"orders wait for a box that is away": {closed, site(never, 2, time.Hour), fine, "fail",
			"its box was never heard of; 2 requests wait, the oldest for 1h0m"},
		"orders wait although the box is there": {open, site(time.Second, 1, 10*time.Minute), fine, "fail",
			"is there and takes nothing"},
		"an order waits for a moment": {open, site(time.Second, 1, time.Second), fine, "ok", ""},
		"orders are about to be dropped": {unknown, site(60*time.Hour, 1, 60*time.Hour), fine, "fail",
			"about to lose orders: a request is kept for 3d0h"},
		"two boxes have one token": {open, two, fine, "fail", "two boxes fetch its orders with the same token"},
		"the stream is not as configured": {open, here, with(func(s *store.State) { s.Differs = "max age is 1h0m0s" }),
			"warn", "max age is 1h0m0s"},
		"the box has problems":          {open, problems, fine, "warn", "needs a person"},
		"the stream fills":              {open, here, full(750), "warn", "75% of 1000B"},
		"the stream is as good as full": {open, here, full(950), "fail", "nearly full"},
		"the stream has no limit":       {open, here, with(func(s *store.State) { s.MaxBytes = -1 }), "ok", ""},
		"a server is down": {open, here, with(func(s *store.State) {
			s.Behind = []string{"n3", "n3"}
		}), "fail", "n3 is down or behind"},
	} {
		k.site.VenueEntry = k.venue
		o := overview(at, k.state, []store.Site{k.site})
		text := ""
		for _, f := range o.Findings {
			text += string(f.Level) + " " + f.Text + "\n"
		}
		if string(o.Findings[0].Level) != k.want || !strings.Contains(text, k.text) {
			t.Errorf("%s: want %s with %q, got\n%s", name, k.want, k.text, text)
		}
		for _, f := range o.Findings {
			assert.Equal(t, f.ID == "", f.Level == finding.OK, name, f)
		}
	}
}

func TestTheVenueThatWasSilentForLongestIsFirst(t *testing.T) {
	site := func(name string, seen time.Time) store.Site {
		return store.Site{VenueEntry: store.VenueEntry{ID: name, Name: name}, Box: store.Box{LastSeen: seen}}
	}
	names := ""
	sites := []store.Site{site("now", at), site("never", time.Time{}), site("yesterday", at.Add(-24*time.Hour))}
	for _, s := range overview(at, store.State{}, sites).Sites {
		names += s.Name + " "
	}
	assert.Equal(t, names, "never yesterday now ")
}

// TestEachMetricOfTheAlertsIsThere: an alert on a metric that does not exist never fires.
func TestEachMetricOfTheAlertsIsThere(t *testing.T) {
	s := &server{nc: new(nats.Conn)}
	o := overview(time.Now(), store.State{Servers: 2, Behind: []string{"n2"}},
		[]store.Site{{VenueEntry: store.VenueEntry{ID: grill, Name: "Grill"}, Waiting: 1, Oldest: time.Now()},
			{VenueEntry: store.VenueEntry{ID: bar, Name: "Grill"}}})
	s.last.Store(&o)
	series := seriesOf(t, s)
	if series["ticketrail_relay_site_online"] != 2 || series["ticketrail_relay_server_behind"] != 1 ||
		series["ticketrail_relay_ready"] != 1 {
		t.Errorf("of two venues with one name, and two servers, the series are %v", series)
	}

	rules, err := deploy.Files.ReadFile("relay/ticketrail-relay.rules.yml")
	assert.NoError(t, err)
	names := regexp.MustCompile(`ticketrail_relay_[a-z_]+`).FindAllString(string(rules), -1)
	for _, name := range names {
		assert.True(t, series[name] > 0, "an alert is about", name, series)
	}
	assert.True(t, len(names) > 0, "no alert is about a metric of the relay")
}

func TestARelayThatWasCutOffDoesNotSayHowTheVenuesWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{nc: new(nats.Conn)}
		want := map[string]int{"ticketrail_relay_ready": 1, "ticketrail_relay_watched_timestamp_seconds": 1}
		assert.True(t, maps.Equal(seriesOf(t, s), want), "before it has seen anything", seriesOf(t, s))
		o := overview(time.Now(), store.State{Servers: 1}, []store.Site{{Waiting: 1}})
		s.last.Store(&o)
		time.Sleep(knownFor)
		assert.Equal(t, seriesOf(t, s)["ticketrail_relay_site_waiting"], 1, "what it has just seen")
		time.Sleep(time.Nanosecond)
		assert.True(t, maps.Equal(seriesOf(t, s), want), "when that is old", seriesOf(t, s))
	})
}

// seriesOf counts the series of each name.
func seriesOf(t *testing.T, s *server) map[string]int {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(s)
	families, err := reg.Gather()
	assert.NoError(t, err)
	series := map[string]int{}
	for _, f := range families {
		series[f.GetName()] = len(f.GetMetric())
	}
	return series
}
