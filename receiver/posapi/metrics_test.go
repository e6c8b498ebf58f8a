package posapi

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/receiver/contract"
)

func TestSeriesOfEachCallAndResultExistFromTheStart(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	NewMetrics(reg)
	if n, err := testutil.GatherAndCount(reg, "ticketrail_posapi_requests_total"); err != nil || n != 4*len(results) {
		t.Errorf("%d, %v", n, err)
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

func TestRequestsAndTokenAgesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		n := 0
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) {
			if n++; n == 1 {
				w.WriteHeader(503)
				return
			}
			answerJSON(w, `{}`)
		}}
		c := client(t, s, &Options{Metrics: NewMetrics(reg)})
		ask(t, c, grill)
		c.Venue(bar) // has no token yet
		time.Sleep(90 * time.Second)
		for _, counted := range [][]string{{"me", "ok"}, {"me", "server_error"}, {"token", "ok"}} {
			if n := testutil.ToFloat64(c.o.Metrics.requests.WithLabelValues(counted...)); n != 1 {
				t.Errorf("%q: counted %v", counted, n)
			}
		}
		if age := tokenAges(t, reg); len(age) != 1 || age[grill] < 90 || age[grill] > 91 { // the retry waited a little
			t.Errorf("ages %v", age)
		}
	})
}

func TestTokenAgesAreThoseOfTheLatestClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		metrics := NewMetrics(reg)
		old := client(t, new(service), &Options{Metrics: metrics})
		ask(t, old, grill)
		time.Sleep(time.Minute)
		next := client(t, new(service), &Options{Metrics: metrics})
		if d := cmp.Diff(map[string]float64{grill: 60}, tokenAges(t, reg)); d != "" {
			t.Errorf("a second client that was never used, as one of a reload that failed: -want +got\n%s", d)
		}
		ask(t, next, grill)
		ask(t, next, bar)
		if d := cmp.Diff(map[string]float64{grill: 0, bar: 0}, tokenAges(t, reg)); d != "" {
			t.Errorf("both in use: -want +got\n%s", d)
		}
		old.Close()
		if d := cmp.Diff(map[string]float64{grill: 0, bar: 0}, tokenAges(t, reg)); d != "" {
			t.Errorf("the old one closed: -want +got\n%s", d)
		}
		next.Close()
		if got := tokenAges(t, reg); len(got) != 0 {
			t.Errorf("both closed: %v", got)
		}
	})
}

func TestExpiredTokenAndRemovedVenueHaveNoAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		c := client(t, new(service), &Options{Metrics: NewMetrics(reg)})
		ask(t, c, grill)
		time.Sleep(contract.TokenLifetime)
		ask(t, c, bar)
		if d := cmp.Diff(map[string]float64{bar: 0}, tokenAges(t, reg)); d != "" {
			t.Errorf("one has ended: -want +got\n%s", d)
		}
		ask(t, c, grill)
		c.Keep([]string{strings.ToUpper(grill)})
		if d := cmp.Diff(map[string]float64{grill: 0}, tokenAges(t, reg)); d != "" {
			t.Errorf("the bar was removed: -want +got\n%s", d)
		}
	})
}

// tokenAges is the ages of tokens in seconds, by venue.
func tokenAges(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "ticketrail_posapi_token_age_seconds" {
			for _, m := range f.Metric {
				all[m.Label[0].GetValue()] = m.Gauge.GetValue()
			}
		}
	}
	return all
}

func ask(t *testing.T, c *Client, venue string) {
	t.Helper()

	if _, err := c.Venue(venue).Me(t.Context()); err != nil {
		t.Fatal(err)
	}
}
