package posapi

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestEveryCallAndResultIsCountedFromTheStart(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	client(t, new(service), &Options{Registerer: reg})
	if n, err := testutil.GatherAndCount(reg, "ticketrail_posapi_requests_total"); err != nil || n != len(Calls())*len(results()) {
		t.Errorf("%d, %v", n, err)
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

func TestRequestsAndTheAgeOfTokensAreSeen(t *testing.T) {
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
		c := client(t, s, &Options{Registerer: reg})
		if _, err := c.Me(t.Context(), grill); err != nil {
			t.Fatal(err)
		}
		c.Venue(bar) // has no token yet
		time.Sleep(90 * time.Second)
		got := testutil.ToFloat64(c.metrics.requests.WithLabelValues("me", "ok")) + 10*testutil.ToFloat64(c.metrics.requests.WithLabelValues("me", "server_error")) +
			100*testutil.ToFloat64(c.metrics.requests.WithLabelValues("token", "ok"))
		if got != 111 {
			t.Errorf("counted %v", got)
		}
		age, ok := c.Venue(grill).tokens.age()
		if !ok || age < 90*time.Second || age > 91*time.Second { // the retry waited a little
			t.Errorf("age %v", age)
		}
		want := `# HELP ticketrail_posapi_token_age_seconds Time since the venue's present token was asked for; venues without a token are not there.
# TYPE ticketrail_posapi_token_age_seconds gauge
ticketrail_posapi_token_age_seconds{venue="` + grill + `"} ` + strconv.FormatFloat(age.Seconds(), 'g', -1, 64) + "\n"
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "ticketrail_posapi_token_age_seconds"); err != nil {
			t.Error(err)
		}
	})
}

func TestASecondClientTakesTheMetricsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		for venue, c := range map[string]*Client{
			grill: client(t, new(service), &Options{Registerer: reg}),
			bar:   client(t, new(service), &Options{Registerer: reg}),
		} {
			if _, err := c.Me(t.Context(), venue); err != nil {
				t.Fatal(err)
			}
		}
		want := "ticketrail_posapi_requests_total"
		if n, err := testutil.GatherAndCount(reg, want); err != nil || n != len(Calls())*len(results()) {
			t.Errorf("%d, %v", n, err)
		}
		want = `# HELP ticketrail_posapi_token_age_seconds Time since the venue's present token was asked for; venues without a token are not there.
# TYPE ticketrail_posapi_token_age_seconds gauge
ticketrail_posapi_token_age_seconds{venue="` + bar + `"} 0
`
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "ticketrail_posapi_token_age_seconds"); err != nil {
			t.Error(err)
		}
	})
}

func TestMetricsThatSomebodyElseHasAreAnError(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "ticketrail_posapi_requests_total", Help: "Another."}))
	if _, err := New(Options{BaseURL: "https://x", ClientID: "a", Secret: secret, Registerer: reg}); err == nil {
		t.Error("no error")
	}
}
