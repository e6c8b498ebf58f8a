package posapi

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/queuetest"
	"ticketrail/receiver/sim"
)

func TestEachStatusHasItsKindAndNumberOfTries(t *testing.T) {
	kinds := []error{ErrUnauthorized, ErrForbidden, ErrNotFound, ErrRateLimited, ErrUnavailable, ErrMalformed,
		ErrRefused, ErrRedirected, ErrSecret}
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
				w.Header().Set("Retry-After", "2")
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
			if e.RetryAfter != 2*time.Second && asked == 3 || e.RetryAfter != 0 && asked < 3 && status < 500 {
				t.Errorf("%d: to be asked again after %v", status, e.RetryAfter)
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
		{strings.Repeat("9", 400), 0, (1<<31 - 1) * time.Second},
		{"-3", time.Millisecond, 0},
		{"2.5", time.Millisecond, 0},
		{"soon", time.Millisecond, 0},
		// Dates, by whatever clock: a bubble's begins at midnight of 2000-01-01.
		{"Sat, 01 Jan 2000 00:01:00 GMT", time.Millisecond, 0},
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

func TestOnlyLoopbackIsSafeWithoutTLS(t *testing.T) {
	for base, safe := range map[string]bool{
		"https://pos.example.com": true, "http://localhost:1": true, "http://127.0.0.2": true, "http://[::1]:80": true,
		"http://10.0.0.1": false, "http://pos.example.com": false, "HTTP://pos.example.com": false,
	} {
		log := new(queuetest.Log)
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

func TestCallEndsAfterTwoMinutes(t *testing.T) {
	n := 0
	slow := func(w http.ResponseWriter, r *http.Request) {
		if n++; n%3 == 0 && r.Method == http.MethodGet {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		select {
		case <-time.After(9 * time.Second):
		case <-r.Context().Done():
		}
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	for _, s := range []*service{{Token: slow}, {Me: slow}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := client(t, s, nil).Venue(grill).Me(t.Context())
			if took := time.Since(began); took > 2*time.Minute || took < time.Minute ||
				!errors.Is(err, ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
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
	secure := httptest.NewUnstartedServer(nil)
	secure.StartTLS() // for its certificate
	secure.Close()

	// serving is a transport to a server in memory.
	serving := func(h http.Handler, wrap func(net.Listener) net.Listener) func(*testing.T) http.RoundTripper {
		return func(t *testing.T) http.RoundTripper {
			l := sim.Listen()
			srv := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
			go func() { _ = srv.Serve(wrap(l)) }()
			t.Cleanup(func() { _ = srv.Close() })
			return &http.Transport{DialContext: l.Dial}
		}
	}
	plain := func(l net.Listener) net.Listener { return l }
	for base, c := range map[string]struct {
		transport func(*testing.T) http.RoundTripper
		kind      error
		text      string
	}{
		"http://127.0.0.1:8090": {func(*testing.T) http.RoundTripper {
			return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: refused}
			}}
		}, ErrUnavailable, "no answer: dial tcp: connect: connection refused"},
		"https://127.0.0.1": {serving(nil, func(l net.Listener) net.Listener { return tls.NewListener(l, secure.TLS) }),
			ErrUnavailable, "check the name in service.base_url, this machine's clock and its ca-certificates"},
		"https://localhost": {serving(http.NotFoundHandler(), plain), ErrUnavailable,
			"service.base_url says https and the service speaks http there"},
		"http://localhost": {serving(http.RedirectHandler("http://elsewhere.example.com/login?secret=x",
			http.StatusPermanentRedirect), plain), ErrRedirected,
			"the service answers 308 Permanent Redirect to http://elsewhere.example.com; redirects " +
				"are not followed with a token; put the address that answers into service.base_url"},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &Options{BaseURL: base, Transport: c.transport(t)}
			_, err := client(t, nil, o).Venue(grill).Me(t.Context())
			if !errors.Is(err, c.kind) || !strings.HasSuffix(err.Error(), c.text) {
				t.Errorf("%s: %v, want %s", base, err, c.text)
			}
			o.Transport.(*http.Transport).CloseIdleConnections()
		})
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
	synctest.Test(t, func(t *testing.T) { // a slow machine is not a slow service
		size := 0
		s := &service{Me: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip") // the limit is on what comes out of it
			z := gzip.NewWriter(w)
			_, _ = z.Write([]byte(`{}` + strings.Repeat(" ", size-2)))
			_ = z.Close()
		}}
		c := client(t, nil, &Options{BaseURL: "http://localhost/api", Transport: overPipe(t, s)})
		size = maxResponse
		if _, err := c.Venue(grill).Me(t.Context()); err != nil {
			t.Error(err)
		}
		for _, size = range []int{maxResponse + 1} {
			if _, err := c.Venue(grill).Me(t.Context()); !errors.Is(err, ErrMalformed) ||
				!strings.HasSuffix(err.Error(), "the answer is larger than 8388608 bytes") {
				t.Errorf("%d: %v", size, err)
			}
		}
	})
}
