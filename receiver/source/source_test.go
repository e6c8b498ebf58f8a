package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
)

// TestWhoAnswersLikeNoRelayGivesNoOrderAndIsNotAskedInACircle: a page for every address, at a wrong url.
func TestWhoAnswersLikeNoRelayGivesNoOrderAndIsNotAskedInACircle(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNoContent} {
		synctest.Test(t, func(t *testing.T) {
			asked, taken, cancel := 0, 0, func() {}
			s := newTestSource(func(*http.Request) (*http.Response, error) {
				if asked++; asked == 1000 { // in a circle no time passes here
					cancel()
				}
				return answer(status, nil, strings.NewReader("<html>Welcome</html>")), nil
			}, func(context.Context, Arrival) error {
				taken++
				return fmt.Errorf("it is no JSON: %w", ErrNever)
			})
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			cancel = stop
			assert.NoError(t, s.Run(ctx))
			if st := s.Status(); taken > 0 || asked > 60 || st.Down.IsZero() || st.Err == nil {
				t.Errorf("after %d it was asked %d times and has given %d orders; the status is %+v", status, asked,
					taken, st)
			}
		})
	}
}

// TestABoxIsConnectedBeforeAnOrderComes: a poll without one is answered after 30 s, and status said for so long that no
// order can be fetched.
func TestABoxIsConnectedBeforeAnOrderComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		var s *Source
		s = newTestSource(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				if st := s.Status(); !st.Down.IsZero() || st.Reported.IsZero() || st.Behind != 3 && polls == 0 {
					t.Errorf("at a poll it is %+v", st)
				}
				polls++
				time.Sleep(PollTime)
			}
			return answer(http.StatusNoContent, http.Header{HeaderBehind: {"3"}}, nil), nil
		}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if err := s.Run(ctx); err != nil || polls < 3 {
			t.Errorf("after %d polls: %v", polls, err)
		}
	})
}

// TestABoxWhosePollsFailIsNotCalledConnected: the relay answers how many wait, and something on the way ends each poll.
func TestABoxWhosePollsFailIsNotCalledConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, polls := 0, 0
		var s *Source
		s = newTestSource(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodHead {
				return answer(http.StatusNoContent, http.Header{HeaderBehind: {"3"}}, nil), nil
			}
			if polls++; s.Status().Down.IsZero() {
				up++
			}
			return answer(http.StatusBadGateway, nil, nil), nil
		}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		assert.NoError(t, s.Run(ctx))
		assert.True(t, up == 1 && polls > 10 && s.Status().Err != nil, up, polls, s.Status())
	})
}

// TestALargeRequestComesOverASlowLine: one that never comes would keep all behind it.
func TestALargeRequestComesOverASlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, rate = 1 << 20, 8 << 10
		taken := 0
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		s := newTestSource(func(r *http.Request) (*http.Response, error) {
			h := http.Header{HeaderHandle: {"h"}, HeaderBehind: {"0"}}
			if r.Method == http.MethodPost {
				return answer(http.StatusNoContent, h, nil), nil
			}
			resp := answer(http.StatusOK, h, &slowReader{r.Context(), bytes.NewReader(make([]byte, size)), rate})
			resp.ContentLength = size
			return resp, nil
		}, func(_ context.Context, a Arrival) error {
			taken += len(a.Body)
			cancel()
			return nil
		})
		assert.NoError(t, s.Run(ctx))
		if taken != size {
			t.Errorf("%d bytes were taken, want %d; %v", taken, size, s.Status().Err)
		}
	})
}

// TestWhatKeepsOrdersBackIsSaid: an acknowledgement that fails keeps the relay from handing out the next request, and
// many requests that wait are known with the time since when.
func TestWhatKeepsOrdersBackIsSaid(t *testing.T) {
	for _, acked := range []int{http.StatusNoContent, http.StatusBadRequest} {
		synctest.Test(t, func(t *testing.T) {
			s := newTestSource(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPost {
					return answer(acked, nil, strings.NewReader("no request has this handle")), nil
				}
				time.Sleep(time.Second)
				header := http.Header{HeaderHandle: {"h"}, HeaderBehind: {"500"}}
				return answer(http.StatusOK, header, strings.NewReader("{}")), nil
			}, func(context.Context, Arrival) error { return nil })

			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			_ = s.Run(ctx)

			now := s.Status()
			if now.Err != nil != (acked == http.StatusBadRequest) || time.Since(now.Since) < 9*time.Minute {
				t.Errorf("%d: %v, and so many wait for %v", acked, now.Err, time.Since(now.Since))
			}
		})
	}
}

func newTestSource(ask roundTripper, take func(context.Context, Arrival) error) *Source {
	return New(Options{URL: "https://relay", Token: func() (string, error) { return "token", nil }, Transport: ask,
		Take: take, Report: func() Report { return Report{} }, Logger: slog.New(slog.DiscardHandler)})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, h http.Header, body io.Reader) *http.Response {
	if body == nil || status == http.StatusNoContent {
		body = http.NoBody
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(body)}
}

// A slowReader has some bytes each second, as long as somebody waits for them.
type slowReader struct {
	ctx  context.Context
	body io.Reader
	rate int
}

func (r *slowReader) Read(b []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		return r.body.Read(b[:min(len(b), r.rate)])
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}
