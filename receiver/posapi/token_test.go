package posapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestConcurrentCallersShareOneTokenRequestPerVenue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(service)
		s.Token = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			answerJSON(w, fmt.Sprintf(`{"access_token":%q}`, s.issue(r.PostForm.Get("venue_id"))))
		}
		c := client(t, s, nil)
		began := time.Now()
		var all sync.WaitGroup
		for _, venue := range []string{grill, bar} {
			for range 50 {
				all.Go(func() {
					me, err := c.Venue(venue).Me(t.Context())
					if err != nil || me.Venue != venue { // the service tells by the token
						t.Errorf("%s: %+v, %v", venue, me, err)
					}
				})
			}
		}
		all.Wait()
		if s.tokens() != 2 || time.Since(began) != time.Second { // no venue waits for the other
			t.Errorf("%d tokens were fetched in %v", s.tokens(), time.Since(began))
		}
	})
}

func TestTokenIsRenewedBeforeItExpires(t *testing.T) {
	for says, want := range map[string]time.Duration{
		``:                         14 * time.Minute,
		`,"expires_in":null`:       14 * time.Minute,
		`,"expires_in":0`:          14 * time.Minute,
		`,"expires_in":-5`:         14 * time.Minute,
		`,"expires_in":"soon"`:     14 * time.Minute,
		`,"expires_in":{}`:         14 * time.Minute,
		`,"expires_in":"600"`:      9 * time.Minute,
		`,"expires_in":600.9`:      9 * time.Minute,
		`,"expiresIn":600`:         9 * time.Minute,
		`,"expires_in":1e3`:        940 * time.Second,
		`,"expires_in":100`:        50 * time.Second, // renewed at half its life, not at once
		`,"expires_in":9999999999`: (1<<31 - 61) * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := new(service)
			s.Token = func(w http.ResponseWriter, r *http.Request) {
				answerJSON(w, fmt.Sprintf(`{"access_token":%q%s}`, s.issue(grill), says))
			}
			v := client(t, s, nil).Venue(grill)
			ask := func(want int) {
				if _, err := v.Me(t.Context()); err != nil || s.tokens() != want {
					t.Fatalf("%s: %d tokens, want %d, %v", says, s.tokens(), want, err)
				}
			}
			ask(1)
			time.Sleep(want - time.Second)
			ask(1)
			time.Sleep(2 * time.Second)
			ask(2)
		})
	}
}

func TestCanceledCallerDoesNotCancelTheNextTokenRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(service)
		s.Token = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Second)
			answerJSON(w, fmt.Sprintf(`{"access_token":%q}`, s.issue(grill)))
		}
		v := client(t, s, nil).Venue(grill)
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := v.Me(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := v.Me(t.Context()); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		if s.tokens() != 2 {
			t.Errorf("%d tokens were fetched", s.tokens())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := v.Me(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	})
}

func TestRejectedTokenIsFetchedAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(service)
		v := client(t, s, nil).Venue(grill)
		if _, err := v.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.forget()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := v.Me(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if s.tokens() != 2 {
			t.Errorf("%d tokens were fetched", s.tokens())
		}
	})
}

func TestSecondRejectedTokenIsAnError(t *testing.T) {
	s := &service{Me: func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":{"message":"no such token"}}`, http.StatusUnauthorized)
	}}
	_, err := client(t, s, nil).Venue(grill).Me(t.Context())
	want := "me of venue " + grill + `: the service answers 401 Unauthorized: it says "no such token"; a new ` +
		`token did not help; the service may know another venue by this id`
	if !errors.Is(err, ErrUnauthorized) || err.Error() != want || s.tokens() != 2 || len(s.calls()) != 2 {
		t.Errorf("%d tokens, %d calls, %v", s.tokens(), len(s.calls()), err)
	}
}

func TestTokenRequestIsAsConfigured(t *testing.T) {
	s := new(service)
	s.Token = func(w http.ResponseWriter, r *http.Request) { answerJSON(w, `{"accessToken":"`+s.issue(grill)+`"}`) }
	c := client(t, s, &Options{TokenVenueParam: "venue", AuthStyle: AuthHeader, Scopes: []string{"a", "b"}})
	if _, err := c.Venue(grill).Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("kitchen:s3cr%26t%2F%22plan%2Bted%3C%3E"))
	want := fmt.Sprintf("map[Authorization:[Basic %s] grant_type:[client_credentials] scope:[a b] venue:[%s]]",
		basic, grill)
	if got := fmt.Sprint(s.forms[0]); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func TestRotatedSecretIsReadForTheNextToken(t *testing.T) {
	s, now := new(service), " first\n"
	v := client(t, s, &Options{Secret: func() (string, error) { return now, nil }}).Venue(grill)
	_, err := v.Me(t.Context())
	now = "second"
	s.forget()
	_, again := v.Me(t.Context())
	if err != nil || again != nil {
		t.Error(err, again)
	}
	var got []string
	for _, f := range s.forms {
		got = append(got, url.Values(f)["client_secret"]...)
	}
	if !slices.Equal(got, []string{"first", "second"}) {
		t.Error(got)
	}
}

func TestNoRequestWithoutAReadableSecret(t *testing.T) {
	for _, c := range []struct {
		secret string
		err    error
		want   string
	}{
		{"", nil, "the client secret is empty"},
		{" \n", nil, "the client secret is empty"},
		{"", errors.New("open /run/secret: permission denied"), "the client secret cannot be read: open " +
			"/run/secret: permission denied"},
		{"half-read", errors.New("line 1: half-read\x1b[2J"), "the client secret cannot be read: line 1: [secret] [2J"},
	} {
		s := new(service)
		_, err := client(t, s, &Options{Secret: func() (string, error) { return c.secret, c.err }}).Venue(grill).
			Me(t.Context())
		if want := "token of venue " + grill + ": " + c.want; !errors.Is(err, ErrSecret) || err.Error() != want ||
			s.tokens() != 0 {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestTokenErrorsSayWhatToCheck(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   error
		want   string
	}{
		{401, `{"error":"invalid_client"}`, ErrUnauthorized, `the service answers 401 Unauthorized: it says ` +
			`"invalid_client"; check service.client_id, the client secret, and whether the service ` +
			`wants them as params`},
		{400, `{"error":"invalid_client","error_description":"unknown\u0007 client"}`, ErrUnauthorized,
			`the service answers 400 Bad Request: it says "invalid_client"; check service.client_id, the client ` +
				`secret, and whether the service wants them as params`},
		{400, `{"error":"invalid_request"}`, ErrRefused, `the service answers 400 Bad Request: it says ` +
			`"invalid_request"; check the venue's id, and whether the service calls it venue_id in token requests`},
		{403, `{}`, ErrForbidden, `the service answers 403 Forbidden; check the venue's id, and that the service ` +
			`has approved the integration for it`},
		{404, ``, ErrNotFound, `the service answers 404 Not Found; check whether /api belongs to service.base_url,` +
			` which is https://pos.example.com/api`},
		{200, `{"error":"invalid_client"}`, ErrUnauthorized, `the service answers with an error: it says ` +
			`"invalid_client"; check service.client_id, the client secret, and whether the service ` +
			`wants them as params`},
		{200, ``, ErrMalformed, `the answer of 0 bytes is not a JSON object`},
		{200, `{"token_type":"bearer"}`, ErrMalformed, `access_token: missing, or not usable in a header`},
		{200, `{"access_token":["x"]}`, ErrMalformed, `access_token: missing, or not usable in a header`},
		{200, `{"access_token":"a b"}`, ErrMalformed, `access_token: missing, or not usable in a header`},
		{200, `{"access_token":"a\r\nb: c"}`, ErrMalformed, `access_token: missing, or not usable in a header`},
		{200, `{"access_token":"abcdefgh`, ErrMalformed, `the answer of 25 bytes is not a JSON object`},
		{200, `<html><h1>Log in</h1>`, ErrMalformed, `the answer is a web page, not JSON; check whether ` +
			`service.base_url, https://pos.example.com/api, is the service's API`},
	} {
		s := &service{Token: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", http.DetectContentType([]byte(c.body)))
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}}
		_, err := client(t, s, nil).Venue(grill).Me(t.Context())
		if want := "token of venue " + grill + ": " + c.want; !errors.Is(err, c.kind) || err.Error() != want {
			t.Errorf("%d %.40s:\n got %v\nwant %s", c.status, c.body, err, want)
		}
		if s.tokens() != 1 || len(s.calls()) != 0 {
			t.Errorf("%d %.40s: asked %d times", c.status, c.body, s.tokens())
		}
	}
}
