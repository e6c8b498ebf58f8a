package posapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ticketrail/receiver/posapi"
	"ticketrail/receiver/sim"
)

// The client against the whole service, simulated: what the hand-written servers of the other
// tests do one by one, over the wire and together.

const (
	harbour = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	station = "0b7e6a52-9d0c-4f5e-8a3b-5f3f6a1e2d22"
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

// service serves a simulator over real HTTP.
func service(t testing.TB, o sim.Options) (*sim.Service, string) {
	t.Helper()
	o.ClientID, o.ClientSecret, o.Prefix = "me", planted, "/api"
	if o.Venues == nil {
		o.Venues = []sim.Venue{{ID: harbour, Employees: 57, Zone: "Pacific/Auckland"}, {ID: station, Employees: 3, Scopes: []string{"checks:read"}}}
	}
	s := sim.New(o)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	return s, h.URL + "/api"
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

func TestTheSimulatedServiceIsReadWholeHoweverItNamesItsPagesAndWhoeverAsks(t *testing.T) {
	for _, at := range []string{"", "cursor", "next_cursor", "meta.cursor", "pagination.cursor", "header:X-Next-Cursor", "links.next.cursor"} {
		for _, style := range []string{posapi.AuthParams, posapi.AuthHeader} {
			s, base := service(t, sim.Options{CursorAt: at, VenueParam: "location", PayrollVenueParam: "venue_id"})
			v := client(t, base, func(o *posapi.Options) {
				o.PageLimit, o.PayrollVenueParam = 10, "venue_id"
				o.Token.VenueParam, o.Token.AuthStyle = "location", style
				if strings.HasPrefix(at, "links") {
					o.CursorAt = at
				}
			}).Venue(harbour)
			me, err := v.Me(t.Context())
			if err != nil || me.Venue != harbour || len(me.Scopes) != 3 {
				t.Errorf("%s, %s: me is %+v, %v", at, style, me, err)
			}
			ids, err := all(t.Context(), v)
			if err != nil || len(ids) != 57 || ids[56] != s.Employees(harbour)[56].ID || s.Requests(sim.CallEmployees) != 6 {
				t.Errorf("%s, %s: %d employees in %d pages, %v", at, style, len(ids), s.Requests(sim.CallEmployees), err)
			}
			periods, err := v.PayrollPeriods(t.Context())
			if err != nil || len(periods) != 6 || periods[5].Meta.Timezone != "Pacific/Auckland" {
				t.Errorf("%s, %s: periods %+v, %v", at, style, periods, err)
			}
			if n := s.Issued(harbour); n != 1 {
				t.Errorf("%s, %s: %d tokens", at, style, n)
			}
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

func TestTheServicesClockIsSeenInItsAnswers(t *testing.T) {
	_, base := service(t, sim.Options{Drift: 5 * time.Minute})
	v := client(t, base).Venue(harbour)
	if _, known := v.Drift(); known {
		t.Error("it is known before anything was asked")
	}
	if _, err := v.PayrollPeriods(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seconds, known := v.Drift(); !known || seconds < 290 || seconds > 310 {
		t.Errorf("the drift is %v, %t", seconds, known)
	}
}

func TestWhoeverIsThereThroughoutIsSeenExactlyOnceOverTheWire(t *testing.T) {
	var now atomic.Pointer[http.Handler]
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) }))
	defer h.Close()
	rapid.Check(t, func(r *rapid.T) {
		s := sim.New(sim.Options{ClientID: "me", ClientSecret: planted, Venues: []sim.Venue{{ID: harbour, Employees: rapid.IntRange(0, 80).Draw(r, "employees")}}})
		handler := s.Handler()
		now.Store(&handler)
		v := client(t, h.URL, func(o *posapi.Options) { o.PageLimit = rapid.IntRange(0, 30).Draw(r, "limit") }).Venue(harbour)
		stays := map[string]bool{}
		for _, e := range s.Employees(harbour) {
			stays[e.ID] = true
		}
		seen, total, changed := map[string]int{}, 0, false
		var count *posapi.CountError
		for e, err := range v.Employees(t.Context()) {
			if err != nil {
				if !errors.As(err, &count) {
					r.Fatal(err)
				}
				break
			}
			seen[e.ID]++
			total++
			for range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3}).Draw(r, "leave") {
				if all := s.Employees(harbour); len(all) > 0 {
					gone := all[rapid.IntRange(0, len(all)-1).Draw(r, "who")].ID
					changed = s.Leave(harbour, gone) || changed
					delete(stays, gone)
				}
			}
			if n := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 2}).Draw(r, "join"); n > 0 && total < 200 {
				s.Hire(harbour, n)
				changed = true
			}
		}
		for id := range stays {
			if seen[id] != 1 {
				r.Fatalf("%s was there throughout and came %d times", id, seen[id])
			}
		}
		if final := len(s.Employees(harbour)); !changed && count != nil || count == nil && !changed && total != final {
			r.Fatalf("%d came of %d, and the count error is %v", total, final, count)
		}
	})
}
