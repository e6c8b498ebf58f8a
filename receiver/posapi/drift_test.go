package posapi

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDriftIsTheLargerOfReportedAndMeasured(t *testing.T) {
	for _, c := range []struct {
		envelope string // NOW is our time, LATER an hour later
		want     float64
		known    bool
	}{
		{`"serverClientDrift":-4.5`, -4.5, true},
		{`"serverClientDrift":"2"`, 2, true},
		{`"serverClientDrift":null`, 0, false},
		{`"serverClientDrift":0,"serverRequestTimestamp":"NOW","serverResponseTimestamp":"NOW"`, 0, true},
		{`"serverClientDrift":0.5,"serverRequestTimestamp":"LATER","serverResponseTimestamp":"LATER"`, 3600, true},
		{`"serverRequestTimestamp":"LATER"`, 3600, true},
		{`"serverResponseTimestamp":"NOW"`, 0, true},
		{`"serverResponseTimestamp":"today"`, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			c.envelope = strings.NewReplacer("NOW", now.Format(time.RFC3339), "LATER",
				now.Add(time.Hour).Format(time.RFC3339)).
				Replace(c.envelope)
			v := client(t, employeePages(map[string]string{"": `{"records":[],` + c.envelope + `}`}), nil).Venue(grill)
			if _, known := v.Drift(); known {
				t.Error("known before the first answer")
			}
			if _, err := names(v, t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, known := v.Drift(); got != c.want || known != c.known {
				t.Errorf("%s: %v, %v", c.envelope, got, known)
			}
		})
	}
}

func TestDriftIsMeasuredByTheDateHeaderWithoutTimestamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead time.Duration
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			answerJSON(w, `{}`)
		}}
		v := client(t, s, nil).Venue(grill)
		time.Sleep(300 * time.Millisecond)
		for ahead = range map[time.Duration]bool{0: true, time.Hour: true, -time.Hour: true} {
			_, err := v.Me(t.Context())
			got, known := v.Drift()
			if d := got - ahead.Seconds(); err != nil || !known || d < -0.5 || d > 0.5 {
				t.Errorf("%v: %v, %v, %v", ahead, got, known, err)
			}
		}
	})
}

func TestDriftIsLimited(t *testing.T) {
	for stamp, want := range map[string]float64{
		`"serverRequestTimestamp":"9999-01-01T00:00:00Z"`:  9e9,
		`"serverResponseTimestamp":"0002-01-01T00:00:00Z"`: -9e9,
		`"serverClientDrift":1e300`:                        9e9,
		`"serverClientDrift":"-1e300"`:                     -9e9,
	} {
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{`+stamp+`}`) }}
		v := client(t, s, nil).Venue(grill)
		_, err := v.Me(t.Context())
		if got, known := v.Drift(); err != nil || !known || math.Abs(got-want) > 3e8 {
			t.Errorf("%s: %v, %v, %v", stamp, got, known, err)
		}
	}
}
