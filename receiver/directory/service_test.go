package directory

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/posapi"
	"ticketrail/receiver/sim"
)

func TestNamesSurviveEachFaultAndAreRefreshedAfterIt(t *testing.T) {
	for _, kind := range sim.Kinds() {
		if kind == sim.Large || kind == sim.Broken { // tens of megabytes; a recorder cannot break a connection
			continue
		}
		for _, call := range sim.Calls() {
			t.Run(fmt.Sprintf("%s of %s", kind, call), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, c := simulated(t, sim.Options{Seed: 2})
					dir := open(t, c, newStore(t), harbour)
					after(firstWithin)
					s.Fault(sim.Fault{Call: call, Kind: kind, Status: 500})
					s.AddEmployees(harbour, 1)
					after(24 * time.Hour)
					if right, _ := dir.countNames(s, harbour); right < 100 && kind != sim.Churn {
						t.Errorf("%d names", right)
					}
					if zone, _ := dir.Zone(harbour); zone != sim.DefaultZone {
						t.Errorf("zone %q", zone)
					}
					harmless := kind == sim.Slow || kind == sim.Drift || kind == sim.Churn
					if call == sim.CallMe { // its answer is no list
						harmless = harmless || kind == sim.NoSuccess || kind == sim.SameCursor
					}
					asked := call == sim.CallEmployees || call == sim.CallMe
					if st := dir.state(harbour); asked && !harmless && st.EmployeesErr == nil ||
						call == sim.CallMe && harmless && st.EmployeesErr != nil {
						t.Errorf("status %+v", st)
					}
					if n := s.Requests(sim.CallToken); n > 500 {
						t.Errorf("%d tokens asked for in a day", n)
					}
					s.ClearFaults()
					after(7 * time.Hour)
					if right, wrong := dir.countNames(s, harbour); right != len(s.Employees(harbour)) || wrong != 0 {
						t.Errorf("%d names right, %d wrong, of %d", right, wrong, len(s.Employees(harbour)))
					}
				})
			})
		}
	}
}

// handlerTransport is a network without sockets, so that it works in a bubble.
type handlerTransport struct{ to http.Handler }

func (w handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	w.to.ServeHTTP(rec, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return rec.Result(), nil
}

// simulated is a service and its client, at two venues.
func simulated(t *testing.T, o sim.Options) (*sim.Service, *posapi.Client) {
	o.ClientID, o.ClientSecret = "id", "secret"
	for _, v := range []string{harbour, station} {
		o.Venues = append(o.Venues, sim.Venue{ID: v, Employees: 137})
	}
	s := sim.New(o)
	c, err := posapi.New(posapi.Options{
		BaseURL: "http://service", ClientID: "id", Secret: func() (string, error) { return "secret", nil },
		Transport: handlerTransport{s.Handler()},
		TokenPath: contract.PathToken, TokenVenueParam: contract.ParamTokenVenue, AuthStyle: "params",
		RenewBefore:       time.Minute,
		PayrollVenueParam: contract.ParamPayrollVenue, Timeout: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// countNames says how many of a venue's employees have the name that the service has for them.
func (dir *testDirectory) countNames(s *sim.Service, venue string) (right, wrong int) {
	for _, e := range s.Employees(venue) {
		switch name, ok := dir.Name(venue, strings.ToUpper(e.ID)); {
		case ok && name == strings.TrimSpace(e.Name):
			right++
		case ok:
			dir.t.Logf("%q, want %q", name, e.Name)
			wrong++
		}
	}
	return right, wrong
}
