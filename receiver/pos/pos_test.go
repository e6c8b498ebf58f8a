package pos

import (
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestMeIsAskedFirstAndAnotherVenuesTokenIsAnError(t *testing.T) {
	s := &service{}
	_, err := names(t, venue(t, s, Options{}))
	assert.True(t, err == nil, err)
	calls, tokens := s.calls()
	assert.True(t, calls == "me v1/labor/employees" && tokens == 1, calls, tokens)

	s.Me = say(`{"venue":{"id":"` + strings.ToUpper(station) + `"}}`)
	v, err := client(s, Options{}).Venue(t.Context(), harbour)
	calls, _ = s.calls()
	assert.True(t, v == nil && calls == "me", "there is a venue", v, calls)
	wantError(t, err, CallMe, "the token is for venue "+station+"; check the venue's id in the configuration, and "+
		"service.token.venue_param")
}

func TestMeIsReadWhereverItHasItsFields(t *testing.T) {
	for body, want := range map[string]struct {
		named  bool
		scopes []string
	}{
		`{"venue_id":"V","scopes":["a","b"]}`:                                        {true, []string{"a", "b"}},
		`{"venueId":"V","scope":"a  b"}`:                                             {true, []string{"a", "b"}},
		`{"venue":{"id":"V","name":"x"},"scopes":"a b"}`:                             {true, []string{"a", "b"}},
		`{"venue":"V","scopes":[]}`:                                                  {true, []string{}},
		`{"data":{"venueId":"V","scopes":["a\u001b"]},"status":"SUCCESS"}`:           {true, []string{"a"}},
		`{"records":[{"venueId":"V","scopes":["a"]}],"status":"SUCCESS"}`:            {true, []string{"a"}},
		"\ufeff" + `{"venue_id":null,"venueId":"V","scopes":[true],"status":"OPEN"}`: {true, []string{}},
		`{"venue_id":"V","data":{"scopes":["a"]}}`:                                   {true, []string{"a"}},
		`{"venue_id":"V","scopes":["a"],"records":[{"role":"owner"}]}`:               {true, []string{"a"}},
		`{}`: {false, nil},
	} {
		body = strings.ReplaceAll(body, `"V"`, `"`+strings.ToUpper(harbour)+`"`)
		v := venue(t, &service{Me: say(body)}, Options{})
		assert.True(t, v.Named == want.named && slices.Equal(v.Scopes, want.scopes) &&
			(v.Scopes == nil) == (want.scopes == nil), body, v.Named, v.Scopes)
	}
	for _, body := range []string{
		`{"status":"ERROR","message":"PLANTED"}`, `{"error":{"message":"PLANTED"}}`, `[]`, `null`, `"x"`,
		`{"venueId":"x\u001b[2J"}`,
	} {
		_, err := client(&service{Me: say(body)}, Options{}).Venue(t.Context(), harbour)
		if wantError(t, err, CallMe); strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q", err)
		}
	}
}

func TestEachGroupOfCallsHasItsOwnPath(t *testing.T) {
	s := &service{}
	o := Options{BaseURL: "http://localhost", Token: Token{Path: "/api/oauth/token"},
		Me: Me{"/api/me"}, Labor: Labor{"/api"}}
	_, err := collect(venue(t, s, o).PayrollPeriods(t.Context()))
	assert.True(t, err == nil, err)
}
