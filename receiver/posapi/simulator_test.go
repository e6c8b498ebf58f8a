package posapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/receiver/posapi"
	"ticketrail/receiver/sim"
)

// The client against the whole service, simulated: what the hand-written servers of the other
// tests do one by one, over the wire and together.

const (
	harbour = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	planted = "planted/s3cret +&"
)

func client(t testing.TB, base string, change ...func(*posapi.Options)) *posapi.Client {
	t.Helper()
	o := posapi.Options{BaseURL: base, ClientID: "me", Secret: func() (string, error) { return planted, nil }}
	for _, c := range change {
		c(&o)
	}
	c, err := posapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func all(ctx context.Context, v *posapi.Venue) (ids []string, err error) {
	for e, err := range v.Employees(ctx) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, e.ID)
	}
	return ids, nil
}

func TestTheSimulatedServiceIsReadWholeOverTheWire(t *testing.T) {
	for _, style := range []string{posapi.AuthParams, posapi.AuthHeader} {
		s := sim.New(sim.Options{
			Prefix: "/api", ClientID: "me", ClientSecret: planted, Venues: []sim.Venue{{ID: harbour, Employees: 57, Zone: "Pacific/Auckland"}},
		})
		h := httptest.NewServer(s.Handler())
		defer h.Close()
		v := client(t, h.URL+"/api", func(o *posapi.Options) { o.PageLimit, o.Token.AuthStyle = 10, style }).Venue(harbour)
		me, err := v.Me(t.Context())
		if err != nil || me.Venue != harbour || len(me.Scopes) != 3 {
			t.Errorf("%s: me is %+v, %v", style, me, err)
		}
		ids, err := all(t.Context(), v)
		if err != nil || len(ids) != 57 || ids[56] != s.Employees(harbour)[56].ID || s.Requests(sim.CallEmployees) != 6 {
			t.Errorf("%s: %d employees in %d pages, %v", style, len(ids), s.Requests(sim.CallEmployees), err)
		}
		periods, err := v.PayrollPeriods(t.Context())
		if err != nil || len(periods) != 6 || periods[5].Meta.Timezone != "Pacific/Auckland" || s.Requests(sim.CallToken) != 1 {
			t.Errorf("%s: periods %+v, %v, %d tokens", style, periods, err, s.Requests(sim.CallToken))
		}
	}
}

func TestEveryFaultOfTheServiceIsToldApartAndOvercomeWhereItCanBe(t *testing.T) {
	for text, c := range map[string]struct {
		want error // nil: overcome
		says string
	}{
		"employees:401:1:1":        {nil, ""},
		"employees:401":            {posapi.ErrUnauthorized, "401"},
		"employees:403":            {posapi.ErrForbidden, "labor:read"},
		"employees:404":            {posapi.ErrNotFound, "404"},
		"employees:429:1:1":        {nil, ""},
		"employees:429":            {posapi.ErrRateLimited, "429"},
		"employees:500:1:1":        {nil, ""},
		"employees:503":            {posapi.ErrUnavailable, "503"},
		"employees:hang":           {posapi.ErrUnavailable, "2s"},
		"employees:slow=5s":        {posapi.ErrUnavailable, "2s"},
		"employees:slow=1s":        {nil, ""},
		"employees:truncated":      {posapi.ErrMalformed, ""},
		"employees:broken":         {nil, ""}, // asked again, see below
		"employees:nonjson":        {posapi.ErrMalformed, "Scheduled maintenance"},
		"employees:redirect":       {posapi.ErrRedirected, "302"},
		"employees:unsuccessful":   {posapi.ErrRefused, "ERROR"},
		"employees:samecursor":     {posapi.ErrMalformed, "a second time"},
		"employees:large":          {posapi.ErrMalformed, ""},
		"token:401":                {posapi.ErrUnauthorized, "token"},
		"token:503":                {posapi.ErrUnavailable, "503"},
		"token:nonjson":            {posapi.ErrMalformed, "is no JSON but calls itself text/html"},
		"token:redirect=http://x/": {posapi.ErrRedirected, "302"},
		"token:hang":               {posapi.ErrUnavailable, "2s"},
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := sim.ParseFault(text)
				if err != nil {
					t.Fatal(err)
				}
				if f.Kind == sim.Broken {
					f.Times = 1
				}
				s := sim.New(sim.Options{ClientID: "me", ClientSecret: planted, Venues: []sim.Venue{{ID: harbour, Employees: 57}}, Faults: []sim.Fault{f}})
				v := client(t, "http://service", func(o *posapi.Options) { o.Transport, o.Timeout = wire{s.Handler()}, 2*time.Second }).Venue(harbour)
				ids, err := all(t.Context(), v)
				if !errors.Is(err, c.want) || c.want == nil && len(ids) != 57 {
					t.Fatalf("%d employees, %v, want %v", len(ids), err, c.want)
				}
				if err == nil {
					return
				}
				if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "planted") {
					t.Errorf("says %v, and not %q", err, c.says)
				}
				s.Mend()
				if ids, err := all(t.Context(), v); err != nil || len(ids) != 57 {
					t.Errorf("mended, it gets %d, %v", len(ids), err)
				}
			})
		})
	}
}

// wire is a network without sockets, so that it works in a bubble.
type wire struct{ to http.Handler }

func (w wire) RoundTrip(r *http.Request) (_ *http.Response, err error) {
	rec := httptest.NewRecorder()
	ended := make(chan bool, 1)
	go func() {
		whole := false
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler {
				panic(v)
			}
			ended <- whole
		}()
		w.to.ServeHTTP(rec, r)
		whole = true
	}()
	select {
	case whole := <-ended:
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		resp := rec.Result()
		if !whole {
			resp.Body = io.NopCloser(io.MultiReader(resp.Body, brokenOff{}))
		}
		return resp, nil
	case <-r.Context().Done():
		<-ended
		return nil, r.Context().Err()
	}
}

type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
