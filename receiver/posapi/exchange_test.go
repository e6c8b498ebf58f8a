package posapi

import (
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/logtest"
	"ticketrail/receiver/sim"
)

func TestEachStatusHasItsKindAndNumberOfTries(t *testing.T) {
	kinds := []error{
		ErrUnauthorized,
		ErrForbidden,
		ErrNotFound,
		ErrRateLimited,
		ErrUnavailable,
		ErrMalformed,
		ErrRefused,
		ErrRedirected,
		ErrSecret,
	}
	for status := 300; status < 600; status++ {
		want, asked := ErrRefused, 1
		switch {
		case status == 401:
			want, asked = ErrUnauthorized, 2
		case status == 403: // and /me, for the scopes
			want, asked = ErrForbidden, 2
		case status == 404: // the second one asks whether it answers elsewhere
			want, asked = ErrNotFound, 2
		case status == 429:
			want, asked = ErrRateLimited, 3
		case status == 501, status == 505:
			want = ErrUnavailable
		case status == 408, status >= 500:
			want, asked = ErrUnavailable, 3
		case status < 400:
			want = ErrRedirected
		}
		synctest.Test(t, func(t *testing.T) {
			s := &service{Payroll: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://elsewhere.example.com/x?token=abc")
				w.WriteHeader(status)
			}}
			v := client(t, s, nil).Venue(grill)
			_, err := v.PayrollPeriods(t.Context())
			e := problem(t, err)
			for _, k := range kinds {
				if errors.Is(err, k) != (k == want) {
					t.Errorf("%d: %v is %v: %v", status, err, k, errors.Is(err, k))
				}
			}
			if e.Status != status || e.Call != CallPayrollPeriods || e.Venue != grill || len(s.calls()) != asked ||
				e.result() == "" {
				t.Errorf("%d: asked %d times, %#v", status, len(s.calls()), e)
			}
		})
	}
}

func TestThirdTrySucceedsAfterTwoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n, tokens int
		s := new(service)
		s.Token = func(w http.ResponseWriter, r *http.Request) {
			if tokens++; tokens < 3 {
				w.WriteHeader(503)
				return
			}
			answerJSON(w, `{"access_token":"`+s.issue(grill)+`"}`)
		}
		s.Me = func(w http.ResponseWriter, _ *http.Request) {
			if n++; n < 3 {
				w.WriteHeader(500 + 2*n)
				return
			}
			answerJSON(w, `{}`)
		}
		began := time.Now()
		if _, err := client(t, s, nil).Venue(grill).Me(t.Context()); err != nil || n != 3 || tokens != 3 {
			t.Errorf("%d tokens, %d calls, %v", tokens, n, err)
		}
		// 250 to 500 ms and 500 to 1000 ms, for the token and for the call
		if took := time.Since(began); took < 1500*time.Millisecond || took > 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestRetryAfterIsObeyedIfShortAndReportedIfLong(t *testing.T) {
	for _, c := range []struct {
		header string
		waits  time.Duration // at least; 0: it does not
		want   time.Duration
	}{
		{"7", 7 * time.Second, 7 * time.Second},
		{"30", 30 * time.Second, 30 * time.Second},
		{"31", 0, 31 * time.Second},
		// Too large for a time.Duration, or nearly.
		{"4294967296", 0, (1<<31 - 1) * time.Second},
		{"18000000000", 0, (1<<31 - 1) * time.Second},
		{"9223372036854775807", 0, (1<<31 - 1) * time.Second},
		{strings.Repeat("9", 400), 0, (1<<31 - 1) * time.Second},
		{"-3", time.Millisecond, 0},
		{"2.5", time.Millisecond, 0},
		{"soon", time.Millisecond, 0},
		// Dates, by whatever clock: a bubble's begins at midnight of 2000-01-01.
		{"Sat, 01 Jan 2000 00:01:00 GMT", time.Millisecond, 0},
		{"Fri, 31 Dec 1999 00:00:00 GMT", time.Millisecond, 0},
		{"Sun, 22 Nov 2026 11:00:05 GMT", time.Millisecond, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{Me: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.header)
				w.WriteHeader(429)
			}}
			began := time.Now()
			_, err := client(t, s, nil).Venue(grill).Me(t.Context())
			e := problem(t, err)
			took := time.Since(began)
			if e.RetryAfter != c.want || (took > 0) != (c.waits > 0) || took < 2*c.waits ||
				took > 2*c.waits+3*time.Second {
				t.Errorf("%s: after %v, %v, %v", c.header, took, e.RetryAfter, err)
			}
			if c.want > 0 &&
				!strings.Contains(err.Error(), "429 Too Many Requests, and to ask again in "+c.want.String()) {
				t.Error(err)
			}
		})
	}
}

func TestRetryAfterIsObeyedOfEachStatusThatMayPass(t *testing.T) {
	for status, obeyed := range map[int]bool{
		408: true, 429: true, 500: true, 502: true, 503: true, 504: true, 401: false, 404: false, 422: false,
	} {
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(status)
		}}
		_, err := client(t, s, nil).Venue(grill).Me(t.Context())
		if e := problem(t, err); obeyed != (e.RetryAfter == time.Minute) || obeyed != (e.RetryAfter > 0) {
			t.Errorf("%d: %v, %v", status, e.RetryAfter, err)
		}
	}
}

func TestOnlyLoopbackIsSafeWithoutTLS(t *testing.T) {
	for base, safe := range map[string]bool{
		"https://pos.example.com": true, "http://localhost:1": true, "http://127.0.0.2": true, "http://[::1]:80": true,
		"http://10.0.0.1": false, "http://pos.example.com": false, "HTTP://pos.example.com": false,
	} {
		log := new(logtest.Log)
		client(t, nil, &Options{BaseURL: base, Logger: slog.New(slog.NewTextHandler(log, nil))})
		if warned := strings.Count(log.String(), "unencrypted"); (warned == 0) != safe || warned > 1 {
			t.Errorf("%s: %s", base, log.String())
		}
	}
}

func TestNoWaitForATryAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(503)
		}}
		c := client(t, s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		if _, err := c.Venue(grill).Me(ctx); !errors.Is(err, ErrUnavailable) ||
			problem(t, err).RetryAfter != 20*time.Second ||
			time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, giveUp := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, giveUp)
		if _, err := c.Venue(grill).Me(ctx); !errors.Is(err, context.Canceled) || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// overPipe is a real HTTP server and client without a network, so that time is a bubble's.
func overPipe(t *testing.T, h http.Handler) http.RoundTripper {
	l := sim.Listen()
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	tr := &http.Transport{DialContext: l.Dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = srv.Close()
	})
	return tr
}

func TestTimeoutIncludesASlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{Me: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
				}
			}
		}}
		c := client(t, nil,
			&Options{BaseURL: "http://localhost/api", Transport: overPipe(t, s), Timeout: 3 * time.Second})
		began := time.Now()
		_, err := c.Venue(grill).Me(t.Context())
		want := "me of venue " + grill + ": no answer within 3s"
		if took := time.Since(began); !errors.Is(err, ErrUnavailable) || took != 3*time.Second || err.Error() != want ||
			len(s.calls()) != 1 {
			t.Errorf("after %v: %v", took, err)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			t.Error("the caller had time")
		}
	})
}

func TestNetworkErrorsAreDistinguished(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	tls := httptest.NewUnstartedServer(nil)
	tls.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	tls.StartTLS()
	defer tls.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	elsewhere := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }),
	)
	defer elsewhere.Close()
	redirect := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/login?secret=x", http.StatusPermanentRedirect))
	defer redirect.Close()
	for base, want := range map[string]struct {
		kind error
		text string
	}{
		gone.URL: {ErrUnavailable, "no answer: dial tcp " + gone.Listener.Addr().String() +
			": connect: connection refused"},
		tls.URL: {ErrUnavailable, "check the name in service.base_url, this machine's clock and its ca-certificates"},
		strings.Replace(plain.URL, "http:", "https:", 1): {ErrUnavailable,
			"service.base_url says https and the service speaks http there"},
		redirect.URL: {ErrRedirected, "the service answers 308 Permanent Redirect to " + elsewhere.URL +
			"; redirects are not followed with a token; put the address that answers into service.base_url"},
	} {
		_, err := client(t, nil, &Options{BaseURL: base}).Venue(grill).Me(t.Context())
		if !errors.Is(err, want.kind) || !strings.HasSuffix(err.Error(), want.text) {
			t.Errorf("%s: %v, want %s", base, err, want.text)
		}
	}
}

func TestAnswerThatBreaksOffIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) {
			if n++; n < 2 {
				w.Header().Set("Content-Length", "1000")
			}
			_, _ = w.Write([]byte(`{"venueId":"x"}`))
		}}
		c := client(t, nil, &Options{BaseURL: "http://localhost/api", Transport: overPipe(t, s)})
		if me, err := c.Venue(grill).Me(t.Context()); err != nil || n != 2 || me.Venue != "x" {
			t.Errorf("%+v, %v after %d", me, err, n)
		}
		n = -9
		if _, err := c.Venue(grill).Me(t.Context()); !errors.Is(err, ErrUnavailable) ||
			!strings.HasSuffix(err.Error(), "the answer broke off after 15 bytes") ||
			n != -6 {
			t.Errorf("%v after %d", err, n+9)
		}
	})
}

func TestAnswerHasALimitOfBytes(t *testing.T) {
	size := 0
	s := &service{Me: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip") // the limit is on what comes out of it
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(`{}` + strings.Repeat(" ", size-2)))
		_ = z.Close()
	}}
	srv := httptest.NewServer(s)
	defer srv.Close()
	c := client(t, nil, &Options{BaseURL: srv.URL + "/api"})
	size = maxResponse
	if _, err := c.Venue(grill).Me(t.Context()); err != nil {
		t.Error(err)
	}
	for _, size = range []int{maxResponse + 1, 1 << 25} {
		if _, err := c.Venue(grill).Me(t.Context()); !errors.Is(err, ErrMalformed) ||
			!strings.HasSuffix(err.Error(), "the answer is larger than 8388608 bytes") {
			t.Errorf("%d: %v", size, err)
		}
	}
}

func TestCallEndsAfterTwoMinutes(t *testing.T) {
	slow := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(9 * time.Second):
			case <-r.Context().Done():
			}
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(status)
		}
	}
	for name, c := range map[string]struct {
		s    *service
		want time.Duration
	}{
		"token": {&service{Token: slow(503)}, 2 * time.Minute},
		"both": {&service{Me: func() http.HandlerFunc {
			n := 0
			return func(w http.ResponseWriter, r *http.Request) {
				if n++; n%3 == 0 {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				slow(503)(w, r)
			}
		}()}, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := client(t, c.s, nil).Venue(grill).Me(t.Context())
				if took := time.Since(began); took > c.want || took < time.Minute ||
					!errors.Is(err, ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
