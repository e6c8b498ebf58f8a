package doctor

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/receiver/sim"
)

func TestAVenueIsOKOnlyIfItsTokenIsForItAndHasTheScopes(t *testing.T) {
	zoned := config.Venue{ID: venueID, Name: "Harbour Grill", Timezone: "UTC"}
	unzoned := config.Venue{ID: venueID, Name: "Harbour Grill"}
	service := func(v sim.Restaurant) http.Handler {
		v.ID = venueID
		return sim.New(sim.Options{ClientID: "me", ClientSecret: clientSecret, Venues: []sim.Restaurant{v}}).Handler()
	}
	// answering is a service with these answers for /me and for payroll periods.
	answering := func(me, periods string) http.Handler {
		mux := http.NewServeMux()
		for path, answer := range map[string]string{
			"/oauth/token": `{"access_token":"t"}`, "/me": me,
			"/v1/labor/employees": `{"status":"SUCCESS","records":[]}`, "/v1/labor/payrollperiods": periods,
		} {
			mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, answer)
			})
		}
		return mux
	}
	const none = `{"status":"SUCCESS","records":[]}`
	for name, c := range map[string]struct {
		h    http.Handler
		v    config.Venue
		want string // the checks that fail
	}{
		"no problem":   {service(sim.Restaurant{Employees: 3}), zoned, ""},
		"no employees": {service(sim.Restaurant{}), unzoned, ""},
		"no scope for employees": {service(sim.Restaurant{Employees: 3, Scopes: []string{"checks:read"}}),
			zoned, "employees"},
		"nor for payroll periods": {service(sim.Restaurant{Employees: 3, Scopes: []string{"checks:read"}}),
			unzoned, "employees payrollperiods"},
		"a time zone that does not exist": {service(sim.Restaurant{Zone: "Nowhere/Atlantis"}), unzoned,
			"payrollperiods"},
		"which is not asked for": {service(sim.Restaurant{Zone: "Nowhere/Atlantis"}), zoned, ""},
		"no payroll periods":     {answering(`{"venue_id":"`+venueID+`"}`, none), unzoned, "payrollperiods"},
		"a token for another venue": {answering(`{"venue":{"id":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"}}`, none),
			unzoned, "me"},
		"a token for an unknown venue": {answering(`{"scope":"a b"}`, none), zoned, ""},
		"a /me that is a list":         {answering(`[]`, none), zoned, "me"},
		"a list that is not there":     {answering(`{}`, "gone"), unzoned, "payrollperiods"},
	} {
		got := checked(t, c.h, c.v)
		var failed []string
		for _, f := range got {
			if f.Level == finding.Fail {
				call, _, _ := strings.Cut(f.Text, " fails")
				failed = append(failed, call)
			}
			assert.True(t, f.Subject == "venue Harbour Grill" && (f.Level != finding.Fail || f.Do != ""), name, f)
		}
		s := strings.Join(failed, " ")
		assert.True(t, s == c.want && len(got) == max(1, len(failed)), name, got, c.want)
		assert.True(t, !strings.Contains(fmt.Sprint(got), clientSecret), "the secret is shown", name)
	}
}

func TestTheTokenRequestIsThatOfTheConfiguration(t *testing.T) {
	var asked string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			asked = string(body)
		}
		fmt.Fprint(w, `{"data":{"jwt":"t"},"status":"SUCCESS","records":[]}`)
	})
	v := config.Venue{ID: venueID, Name: "Harbour Grill", Timezone: "UTC"}
	got := checked(t, h, v, func(s *config.Service) {
		s.Token.ClientIDParam, s.Token.ClientSecretParam, s.Token.VenueParam = "id", "key", "site"
		s.Token.Format, s.Token.Field = "json", "data.jwt"
	})
	want := `{"grant_type":"client_credentials","id":"me","key":"` + clientSecret + `","site":"` + venueID + `"}`
	assert.True(t, len(got) == 1 && got[0].Level == finding.OK && asked == want, got, asked)
}

func TestAVenueIsCheckedWithinAMinuteHoweverSlowTheServiceIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		busy := map[string]bool{} // paths that were answered 503 once
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls = append(calls, r.URL.Path)
			select {
			case <-time.After(9 * time.Second):
			case <-r.Context().Done():
				return
			}
			if r.URL.Path != "/oauth/token" && !busy[r.URL.Path] {
				busy[r.URL.Path] = true
				w.Header().Set("Retry-After", "25")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"t","status":"SUCCESS","records":[]}`)
		})
		began := time.Now()
		got := checked(t, slow, config.Venue{ID: venueID, Name: "Harbour Grill"})
		took := time.Since(began)
		assert.True(t, took <= venueTimeout, "it took", took, calls)
		assert.True(t, len(got) == 1 && got[0].Level == finding.Fail && got[0].Do != "", got)
	})
}

// local is a round tripper that calls a handler without a network.
type local struct{ http.Handler }

func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r = r.Clone(r.Context())
	r.RequestURI = r.URL.RequestURI()
	l.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// checked are the findings about a venue at a service; change changes its configuration.
func checked(t *testing.T, h http.Handler, v config.Venue, change ...func(*config.Service)) []finding.Finding {
	t.Helper()
	c := config.Default().Service
	c.BaseURL, c.ClientID, c.ClientSecretFile = "https://pos.example", "me", t.TempDir()+"/secret"
	for _, f := range change {
		f(&c)
	}
	writeFile(t, c.ClientSecretFile, clientSecret)
	return venueFindings(t.Context(), c, local{h}, []config.Venue{v})
}
