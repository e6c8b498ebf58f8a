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
