package posapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestMeIsFoundInEveryPlace(t *testing.T) {
	for _, c := range []struct {
		body, venue string
		scopes      []string
	}{
		{`{"venue_id":"V","scopes":["a","b"]}`, grill, []string{"a", "b"}},
		{`{"venueId":"V","scope":"a  b"}`, grill, []string{"a", "b"}},
		{`{"venue":{"id":"V","name":"x"},"scopes":"a b"}`, grill, []string{"a", "b"}},
		{`{"venue":"V","scopes":[]}`, grill, []string{}},
		{`{"venue_id":null,"venueId":"V","scope":""}`, grill, []string{}},
		{`{"data":{"venueId":"V","scopes":["a"]},"status":"SUCCESS"}`, grill, []string{"a"}},
		{`{"records":[{"venueId":"V","scopes":["a"]}],"status":"SUCCESS","count":1}`, grill, []string{"a"}},
		{`{"venueId":42,"scopes":{"a":true},"status":"ACTIVE"}`, "42", nil},
		{`{}`, "", nil},
	} {
		body := strings.ReplaceAll(c.body, `"V"`, `"`+strings.ToUpper(grill)+`"`)
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, body) }}
		me, err := client(t, s, nil).Venue(grill).Me(t.Context())
		if err != nil || me.Venue != c.venue || !slices.Equal(me.Scopes, c.scopes) ||
			(me.Scopes == nil) != (c.scopes == nil) ||
			string(me.Raw) != body {
			t.Errorf("%s: %+v, %v", body, me, err)
		}
	}
	for _, body := range []string{`{"status":"ERROR","message":"no"}`, `{"status":"FAILED","error":{"message":"no"}}`} {
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, body) }}
		me, err := client(t, s, nil).Venue(grill).Me(t.Context())
		if !errors.Is(err, ErrRefused) || me.Raw != nil ||
			!strings.HasSuffix(err.Error(), `the answer is an error: it says "no"`) {
			t.Errorf("%+v, %v", me, err)
		}
	}
}

func TestEachGroupOfCallsHasItsOwnPath(t *testing.T) {
	s := employeePages(map[string]string{"": list(1, `{"id":"A","name":"Ann"}`)})
	c := client(t, s, &Options{
		BaseURL: "https://pos.example.com", TokenPath: "/api/oauth/token", MePath: "/api/me", LaborPrefix: "/api",
	})
	me, err := c.Me(t.Context(), grill)
	got, err2 := names(c.Venue(grill), t.Context())
	_, err3 := c.PayrollPeriods(t.Context(), grill)
	if err != nil || err2 != nil || err3 != nil || me.Venue != grill || !slices.Equal(got, []string{"Ann"}) {
		t.Errorf("%+v, %v, %v, %v, %v, asked %v", me, got, err, err2, err3, s.calls())
	}
	want := Reading{Token: "/api/oauth/token", Me: "/api/me", Labor: "/api/v1/labor"}
	if r := c.Venue(grill).Reading(); r != want {
		t.Errorf("the reading is %+v", r)
	}
}

func TestACallThatAnswersElsewhereSaysSo(t *testing.T) {
	for _, c := range []struct{ base, want string }{
		{"https://pos.example.com/", "it answers at /api/me: put /api before the path with service.me.path"},
		// Where nothing answers, the token goes nowhere else.
		{"https://pos.example.com/other", "check whether /api belongs to service.base_url, which is " +
			"https://pos.example.com/other"},
		{"https://pos.example.com/json", "check whether /api belongs to service.base_url, which is " +
			"https://pos.example.com/json"},
	} {
		s := new(service)
		token := func(w http.ResponseWriter, r *http.Request) {
			answerJSON(w, `{"access_token":"`+s.issue(grill)+`"}`)
		}
		h := http.NewServeMux()
		h.HandleFunc("POST /oauth/token", token)
		h.HandleFunc("POST /other/oauth/token", token)
		h.HandleFunc("POST /json/oauth/token", token)
		h.HandleFunc("/json/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", 404) })
		h.Handle("/", s)
		_, err := client(t, h, &Options{BaseURL: c.base}).Me(t.Context(), grill)
		if e := problem(t, err); !errors.Is(err, ErrNotFound) || e.Advice != c.want {
			t.Errorf("%s: %v", c.base, err)
		}
	}
}

func TestRawAnswerOfMeHasNoToken(t *testing.T) {
	s := new(service)
	s.Me = func(w http.ResponseWriter, r *http.Request) {
		body, _ := json.Marshal(map[string]any{
			"venue_id": grill, "presented": strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
			"accessToken": `fresh"one`, "nested": map[string]string{"client_secret": "other"}, "note": theSecret,
		})
		answerJSON(w, string(body))
	}
	me, err := client(t, s, nil).Venue(grill).Me(t.Context())
	want := `{"accessToken":"[secret]","nested":{"client_secret":"[secret]"},"note":"[secret]",` +
		`"presented":"[secret]","venue_id":"` + grill + `"}`
	if err != nil || string(me.Raw) != want {
		t.Errorf("%s, %v", me.Raw, err)
	}
}

func TestForbiddenCallNamesTheScopesOfTheToken(t *testing.T) {
	forbid := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"insufficient scope"}`, http.StatusForbidden)
	}
	const begin = "employees of venue " + grill + `: the service answers 403 Forbidden: it says "insufficient scope"; `
	for _, c := range []struct {
		me   http.HandlerFunc
		want string
	}{
		{func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"scope":""}`) },
			"the token has no scopes, which is not enough for this call; ask the " +
				"service to grant the one that it needs"},
		{nil, "the token has the scopes checks:read, menu:read, which is not enough for this call; ask the " +
			"service to grant the one that it needs"},
		{forbid, "which scopes the token has is not known; ask the service to grant the one that this call needs"},
	} {
		s := &service{Employees: forbid, Me: c.me}
		_, err := names(client(t, s, nil).Venue(grill), t.Context())
		if e := problem(t, err); !errors.Is(err, ErrForbidden) || e.Error() != begin+c.want || e.Status != 403 ||
			e.Call != CallEmployees {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestScopesAndVenueOfMeAreShortAndPrintable(t *testing.T) {
	s := &service{
		Me: func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(
				w,
				`{"venueId":"V\u001b[2J\u202e`+strings.Repeat("v",
					1000)+`","scopes":["a\u001b]0;x\u0007","","`+strings.Repeat(
					"s",
					1000,
				)+`"`+strings.Repeat(`,"x"`, 1000)+`]}`,
			)
		},
		Employees: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
	}
	v := client(t, s, nil).Venue(grill)
	me, err := v.Me(t.Context())
	if err != nil || len(me.Venue) > 210 || strings.ContainsAny(me.Venue, "\x1b\u202e") {
		t.Errorf("%q, %v", me.Venue, err)
	}
	if got := me.Scopes; len(got) != 63 || got[0] != "a ]0;x" || len(got[1]) > maxQuote+3 {
		t.Errorf("%d scopes, %.300q", len(got), got)
	}
	if _, err := names(v, t.Context()); !strings.Contains(problem(t, err).Advice, "the scopes a ]0;x, ") {
		t.Error(err)
	}
}
