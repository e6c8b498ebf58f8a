package pos

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
)

func TestATokenIsRequestedAsConfigured(t *testing.T) {
	quoted, _ := json.Marshal(theSecret)
	escaped := url.QueryEscape(theSecret)
	for name, c := range map[string]struct {
		o      Options
		answer string // a token PLANTED
		want   string
	}{
		"as the standard has it": {Options{}, `{"access_token":"PLANTED","token_type":"bearer","expires_in":900}`,
			"application/x-www-form-urlencoded  client_id=kitchen&client_secret=" + escaped +
				"&grant_type=client_credentials&venue_id=" + harbour},
		"in the header": {Options{Token: Token{AuthStyle: "header", Scopes: []string{"a", "b"}}},
			`{"access_token":"PLANTED"}`,
			"application/x-www-form-urlencoded Basic a2l0Y2hlbjpzM2NyJTI2dCUyRiUyMnBsYW4lMkJ0ZWQlM0MlM0U= " +
				"grant_type=client_credentials&scope=a+b&venue_id=" + harbour},
		"under other names": {Options{Token: Token{ClientIDParam: "clientId", ClientSecretParam: "apiKey",
			VenueParam: "location", Field: "data.token"}}, `{"data":{"token":"PLANTED","expiresIn":"60"}}`,
			"application/x-www-form-urlencoded  apiKey=" + escaped + "&clientId=kitchen&grant_type=client_credentials" +
				"&location=" + harbour},
		"as JSON": {Options{Token: Token{Format: "json", Field: "token"}}, `{"token":"PLANTED"}`,
			`application/json  {"client_id":"kitchen","client_secret":` + string(quoted) +
				`,"grant_type":"client_credentials","venue_id":"` + harbour + `"}`},
	} {
		s := &service{Token: say(c.answer), issued: map[string]string{"PLANTED": harbour}}
		venue(t, s, c.o)
		want := []string{c.want}
		assert.True(t, slices.Equal(s.wanted, want), name, s.wanted, want)
	}
}

func TestARequestWithoutATokenSaysWhatToCheck(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		parts  []string
	}{
		{401, `{"error":"invalid_client","error_description":"PLANTED"}`, []string{"401 Unauthorized: invalid_client; ",
			"check service.client_id, the client secret", "the format, auth_style and names of the fields"}},
		{400, `{"error":"PLANTED"}`, []string{"answers 400 Bad Request; ", "names of the fields"}},
		{403, `{}`, []string{"that the service has approved the integration for it"}},
		{404, `PLANTED`, []string{"nothing is at /api/oauth/token", "service.base_url", "service.token.path"}},
		{200, `{"error":"invalid_client"}`, []string{"the answer says that it is an error"}},
		{200, `<html>PLANTED`, []string{"13 bytes is not a JSON object; check whether service.base_url, " +
			"http://localhost/api"}},
		{200, `{"data":{"jwt":"PLANTED","\u001b":1},"ttl":900}`, []string{
			`at access_token; its keys are "data.jwt, data. , ttl"; name its place with service.token.field`}},
		{200, `{"access_token":"a b"}`, []string{"no token at access_token"}},
		{200, `{"access_token":"a\r\nb: c"}`, []string{"no token at access_token"}},
	} {
		s := &service{Token: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}}
		_, err := client(s, Options{}).Venue(t.Context(), harbour)
		wantError(t, err, CallToken, c.parts...)
		calls, tokens := s.calls()
		assert.True(t, tokens == 1 && calls == "", c.status, c.body, tokens, calls)
	}
}

func TestASecretIsReadForEachTokenAndWithoutItNothingIsSent(t *testing.T) {
	secrets := []string{"first", "second"}
	s := &service{}
	v := venue(t, s, Options{Secret: func() (string, error) {
		defer func() { secrets = secrets[1:] }()
		return secrets[0], nil
	}})
	s.forget()
	_, err := names(t, v)
	assert.True(t, err == nil && strings.Contains(s.wanted[0], "first") && strings.Contains(s.wanted[1], "second"),
		s.wanted, err)
	s = &service{}
	_, err = client(s, Options{Secret: func() (string, error) { return "", errors.New("permission denied") }}).
		Venue(t.Context(), harbour)
	wantError(t, err, CallToken, "secret cannot be read: permission denied; check service.client_secret_file")
	_, tokens := s.calls()
	assert.Equal(t, tokens, 0, "a token was requested")
}

func TestATokenIsReplacedShortlyBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		s.Token = func(w http.ResponseWriter, r *http.Request) {
			say(`{"access_token":"`+s.issue(harbour)+`","expires_in":900}`)(w, r)
		}
		v, began := venue(t, s, Options{}), time.Now()
		for _, c := range []struct {
			at     time.Duration
			tokens int
		}{{0, 1}, {14 * time.Minute, 0}, {15*time.Minute - time.Second, 1}} {
			time.Sleep(time.Until(began.Add(c.at)))
			_, err := names(t, v)
			_, tokens := s.calls()
			assert.True(t, err == nil && tokens == c.tokens, c.at, tokens, c.tokens, err)
		}
	})
}

func TestATokenThatIsNotAcceptedIsFetchedAgainOnce(t *testing.T) {
	s := &service{}
	v := venue(t, s, Options{})
	s.forget()
	_, err := names(t, v)
	assert.True(t, err == nil, err)
	_, tokens := s.calls()
	assert.Equal(t, tokens, 2)
	s.Employees = status(http.StatusUnauthorized)
	_, err = names(t, v)
	wantError(t, err, CallEmployees, "401 Unauthorized; a new token did not help")
	calls, tokens := s.calls()
	assert.True(t, tokens == 1 && calls == "v1/labor/employees v1/labor/employees", tokens, calls)
}

func TestEachStatusSaysWhatToDoAndIsTriedAgainIfThatMayHelp(t *testing.T) {
	for _, c := range []struct {
		status, tries int
		advice        string
	}{
		{302, 1, "redirects are not followed with a token; put the address that answers into service.base_url"},
		{400, 1, "check service.payroll.venue_param: the venue's id is sent as venueId"},
		{403, 1, `ask the service provider for the scope of this call; the token has ["checks:read" "menu:read"]`},
		{404, 1, "nothing is at /api/v1/labor/payrollperiods: check whether /api belongs to service.base_url"},
		{418, 1, adviceTell},
		{429, 3, "try again later"},
		{500, 3, "try again later"},
		{501, 1, "try again later"},
		{503, 3, "try again later"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{Payroll: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://elsewhere.example.com/?t=PLANTED")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(`{"error":{"message":"PLANTED"}}`))
			}}
			v := venue(t, s, Options{})
			s.calls()
			_, err := collect(v.PayrollPeriods(t.Context()))
			wantError(t, err, CallPayrollPeriods, fmt.Sprintf("the service answers %d", c.status), c.advice)
			calls, _ := s.calls()
			assert.True(t, strings.Count(calls, "payroll") == c.tries && strings.Count(calls, " ") == c.tries-1,
				c.status, calls)
		})
	}
}

func TestARateLimitIsObeyedForSomeSeconds(t *testing.T) {
	for header, wait := range map[string]time.Duration{ // before each of two more tries
		"7":                             7 * time.Second,
		"9999":                          longestWait,
		"Sat, 01 Jan 2028 00:01:00 GMT": longestWait, // to a clock that is wrong
		"-3":                            250 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{Me: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(http.StatusTooManyRequests)
			}}
			began := time.Now()
			_, err := client(s, Options{}).Venue(t.Context(), harbour)
			wantError(t, err, CallMe, "429 Too Many Requests")
			took := time.Since(began)
			assert.True(t, took >= 2*wait && took <= 2*wait+2*time.Second, header, took, err)
		})
	}
}

func TestATimeoutIncludesASlowBody(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		}
	}
	hanging := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, me := range []http.HandlerFunc{slow, hanging} {
		synctest.Test(t, func(t *testing.T) {
			began, s := time.Now(), &service{Me: me}
			_, err := client(nil, Options{Transport: overPipe(t, s), Timeout: 2500 * time.Millisecond}).
				Venue(t.Context(), harbour)
			wantError(t, err, CallMe, "no answer: not in time; service.timeout is 2.5s")
			took := time.Since(began)
			assert.True(t, took <= 2500*time.Millisecond*tries+time.Second+time.Second, took)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = client(nil, Options{Transport: overPipe(t, s)}).Venue(ctx, harbour)
			wantError(t, err, CallMe, "not in time")
		})
	}
}

func TestAnAnswerThatIsTooLargeOrBreaksOffIsNotUsed(t *testing.T) {
	for want, me := range map[string]http.HandlerFunc{
		"": func(w http.ResponseWriter, _ *http.Request) { packed(w, maxResponse) },
		"the answer is larger than 4194304 bytes": func(w http.ResponseWriter, _ *http.Request) {
			packed(w, maxResponse+1)
		},
		"the connection broke off, or what came is not HTTP": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"venueId":"x"}`))
		},
	} {
		synctest.Test(t, func(t *testing.T) { // a slow machine is not a slow service
			_, err := client(nil, Options{Transport: overPipe(t, &service{Me: me})}).Venue(t.Context(), harbour)
			if want != "" {
				wantError(t, err, CallMe, want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// packed answers with so many bytes of JSON, compressed: the limit is on the decompressed size.
func packed(w http.ResponseWriter, size int) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = z.Write([]byte(`{}` + strings.Repeat(" ", size-2)))
	_ = z.Close()
}

func TestNetworkErrorsAreDistinguished(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	expired := &tls.CertificateVerificationError{Err: errors.New("expired")}
	noHTTP := errors.New("malformed HTTP response PLANTED " + theSecret)
	for text, lost := range map[string]error{
		"no answer: dial tcp: connect: connection refused; check service.base_url": refused,
		"tls: failed to verify certificate: expired":                               expired,
		"what came is not HTTP":                                                    noHTTP,
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			transport := roundTrip(func(*http.Request) (*http.Response, error) { tries++; return nil, lost })
			_, err := client(nil, Options{Transport: transport}).Venue(t.Context(), harbour)
			if wantError(t, err, CallToken, text); (tries == 1) != strings.Contains(text, "tls") {
				t.Errorf("%s: tried %d times", text, tries)
			}
		})
	}
}

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
