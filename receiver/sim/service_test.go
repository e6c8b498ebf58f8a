package sim

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
)

func TestATokenIsIssuedToAKnownClientForAnAllowedVenueOnly(t *testing.T) {
	basic := func(id, secret string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(id, secret) }
	}
	none := form("client_id", "", "client_secret", "")
	for name, c := range map[string]struct {
		form   url.Values
		change func(*http.Request)
		status int
		code   string
	}{
		"form":                {form(), nil, 200, ""},
		"basic, form encoded": {none, basic("me", "planted%2Fsecret+%2B"), 200, ""},
		"wrong secret":        {form("client_secret", "guess"), nil, 401, "invalid_client"},
		"no secret":           {form("client_secret", ""), nil, 401, "invalid_client"},
		"wrong id":            {form("client_id", "you"), nil, 401, "invalid_client"},
		"nobody":              {none, nil, 401, "invalid_client"},
		"basic, wrong":        {none, basic("me", "guess"), 401, "invalid_client"},
		"no venue":            {form("venue_id", ""), nil, 400, "invalid_request"},
		"unknown venue": {
			form("venue_id", "11111111-1111-4111-8111-111111111111"), nil, 403, "access_denied",
		},
		"venue in capitals":        {form("venue_id", strings.ToUpper(venueA)), nil, 200, ""},
		"venue under another name": {form("venue_id", "", "venue", venueA), nil, 400, "invalid_request"},
		"refresh":                  {form("grant_type", "refresh_token"), nil, 400, "unsupported_grant_type"},
		"scope it has":             {form("scope", "menu:read"), nil, 200, ""},
		"scope it has not":         {form("scope", "menu:write"), nil, 400, "invalid_scope"},
		"json": {form(), func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json")
		}, 400, "invalid_request"},
		"GET": {form(), func(r *http.Request) { r.Method = "GET" }, 405, ""},
	} {
		var changes []func(*http.Request)
		if c.change != nil {
			changes = append(changes, c.change)
		}
		w := askToken(newService(), c.form, changes...)
		m := object(t, w.Body.Bytes())
		code, _ := m["error"].(string)
		assert.True(t, w.Code == c.status && (c.code == "" || code == c.code) && !strings.Contains(w.Body.String(),
			"planted"), name, w.Code, w.Body, c.status, c.code)
		assert.True(t, c.status != 200 || (m["token_type"] == "Bearer" && m["expires_in"] == 900.0 &&
			m["refresh_token"] == nil && w.Header().Get("Cache-Control") == "no-store"), name, w.Body, w.Header())
	}
}

func TestATokenExpiresAfterFifteenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		tok := tokenFor(t, s, venueA)
		time.Sleep(15*time.Minute - time.Millisecond)
		assert.Equal(t, get(s, tok, "/me").Code, 200, "just before its end")
		time.Sleep(time.Millisecond)
		w := get(s, tok, "/me")
		assert.True(t, w.Code == 401 && strings.Contains(w.Header().Get("WWW-Authenticate"), "invalid_token"),
			"at its end", w.Code, w.Header())
		if tokenFor(t, s, venueA); len(s.tokens) != 1 {
			t.Errorf("it keeps %d tokens", len(s.tokens))
		}
	})
}

func TestATokenAllowsItsVenueAndScopesOnly(t *testing.T) {
	s := newService(func(o *Options) { o.Venues[1].Scopes = []string{"checks:read"}; o.Prefix = "/api" })
	a, b := tokenFor(t, s, venueA), tokenFor(t, s, venueB)
	const employees, periods = "/v1/labor/employees", "/v1/labor/payrollperiods?venueId="
	for _, c := range []struct {
		name, token, path string
		status            int
	}{
		{"no token", "", employees, 401},
		{"a made up token", "AAAA", employees, 401},
		{"its venue", a, periods + venueA, 200},
		{"its venue in capitals", a, periods + strings.ToUpper(venueA), 200},
		{"another venue", a, periods + venueB, 401},
		{"no venue", a, strings.TrimSuffix(periods, "venueId="), 400},
		{"employees", a, employees, 200},
		{"employees outside the scopes", b, employees, 403},
		{"periods outside the scopes", b, periods + venueB, 403},
		{"me without a labor scope", b, "/me", 200},
		{"elsewhere", a, "/v1/labor/shifts", 404},
	} {
		w := get(s, c.token, c.path)
		assert.True(t, w.Code == c.status && object(t, w.Body.Bytes()) != nil, c.name, w.Code, w.Body, c.status)
	}
	me := object(t, get(s, b, "/me").Body.Bytes())
	assert.True(t, me["venueId"] == venueB && len(me["scopes"].([]any)) == 1, "/me says", me)
	assert.Equal(t, do(s, httptest.NewRequest("GET", "/me", nil)).Code, 404, "without the prefix")
}

func TestAListHasTheCompleteEnvelope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		tok := tokenFor(t, s, venueA)
		for _, path := range []string{"/v1/labor/employees", "/v1/labor/payrollperiods?venueId=" + venueA} {
			m := object(t, get(s, tok, path).Body.Bytes())
			for _, k := range []string{"records", "length", "status", "count", "duration",
				"serverRequestTimestamp", "serverResponseTimestamp", "serverClientDrift"} {
				assert.True(t, m[k] != nil, path, k)
			}
			assert.True(t, m["status"] == "SUCCESS" && int(m["length"].(float64)) == len(m["records"].([]any)), path, m)
			at, err := time.Parse(time.RFC3339, m["serverResponseTimestamp"].(string))
			assert.True(t, err == nil && time.Until(at) == 0, "its clock says", at, err)
		}
	})
}

func TestPayrollPeriodsAreContiguousUpToToday(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, later := range []time.Duration{0, 9999 * 24 * time.Hour, 13 * time.Hour} {
			time.Sleep(later)
			s := newService(func(o *Options) { o.Venues[0].Zone = "Pacific/Auckland" })
			m := object(t, get(s, tokenFor(t, s, venueA), "/v1/labor/payrollperiods?venueId="+venueA).Body.Bytes())
			zone, err := time.LoadLocation("Pacific/Auckland")
			assert.NoError(t, err)
			var last time.Time
			ids := map[any]bool{}
			for _, r := range m["records"].([]any) {
				p := r.(map[string]any)
				start, end := p["payrollPeriodStartDateTime"].(string), p["payrollPeriodEndDateTime"].(string)
				from, err1 := time.Parse(time.DateOnly, start)
				to, err2 := time.Parse(time.DateOnly, end)
				assert.True(t, err1 == nil && err2 == nil && to.Sub(from) == 13*24*time.Hour &&
					from.Weekday() == time.Monday && (last.IsZero() || last.AddDate(0, 0, 1).Equal(from)),
					"period from", start, end, last)
				last, ids[p["id"]] = to, true
				meta := p["meta"].(map[string]any)
				assert.True(t, len(meta) == 8 && meta["timezone"] == "Pacific/Auckland" &&
					meta["payPeriodStartAt"] == start && meta["payPeriodEndAt"] == end, "meta is", meta)
			}
			today, _ := time.Parse(time.DateOnly, time.Now().In(zone).Format(time.DateOnly))
			ahead := last.Sub(today)
			assert.True(t, len(ids) == periods && ahead >= 0 && ahead < 14*24*time.Hour, "there are", len(ids), last)
		}
	})
}
