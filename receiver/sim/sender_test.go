package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
)

func TestEachStatusHasTheResultThatTheContractNames(t *testing.T) {
	for status := 200; status < 600; status++ {
		want, posts := Aborted, 1
		switch status {
		case 200:
			want = Sent
		case 202:
			want = Consumed
		case 500, 502, 503, 504:
			want, posts = Failed, 4
		}
		synctest.Test(t, func(t *testing.T) {
			j, f, log := deliver(t.Context(), status)
			assert.True(t, j.State == want && len(f.came) == posts && len(j.Attempts) == posts && j.Status == status,
				status, j, len(f.came))
			n := strings.Count(log.String(), "\n")
			assert.True(t, n == 1 && strings.Contains(log.String(), "state="+string(want)), status, log)
			for code, word := range map[int]string{
				400: "configuration error", 401: "alert to the venue admin", 403: "alert to the venue admin",
				302: "not a status of the contract",
			} {
				assert.True(t, status != code || strings.Contains(log.String(), word), status, log)
			}
		})
	}
}

func TestARetryBacksOffExponentiallyWithTheSameIDAndAHigherRetryCount(t *testing.T) {
	for name, c := range map[string]struct {
		script []any
		came   []time.Duration
		state  JobState
	}{
		"never":           {[]any{503}, []time.Duration{0, 1 * second, 3 * second, 7 * second}, Failed},
		"the fourth time": {[]any{500, 502, 504, 200}, []time.Duration{0, 1 * second, 3 * second, 7 * second}, Sent},
		"after silence":   {[]any{silence{}, 202}, []time.Duration{0, 6 * second}, Consumed},
		"half an answer":  {[]any{halfBody{}, 200}, []time.Duration{0, 6 * second}, Sent},
		"always silence":  {[]any{silence{}}, []time.Duration{0, 6 * second, 13 * second, 22 * second}, Failed},
		"unplugged":       {[]any{errors.New("connection reset"), 200}, []time.Duration{0, 1 * second}, Sent},
		"then refused":    {[]any{500, 400, 200}, []time.Duration{0, 1 * second}, Aborted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, f, log := deliver(t.Context(), c.script...)
				assert.True(t, j.State == c.state && slices.Equal(f.came, c.came), j.State, f.came)
				for i, p := range f.got {
					n := p.Records[0].Fields.Get("retryCount").Text()
					assert.True(t, p.ID == f.got[0].ID && n == stringOf(i), i, p.ID, n)
				}
				assert.True(t, !strings.Contains(log.String(), "secret"), "the URL is in the log", log)
			})
		})
	}
}

func TestALateAnswerCountsAsNoneAndAnInterruptedSenderStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, _, _ := deliver(t.Context(), silence{}, 200)
		a := j.Attempts[0]
		assert.True(t, a.isLate() && a.Took == 5*second && a.Status == 0, "the first attempt took", a.Took, a)
		sum := Summary{States: map[JobState]int{}}
		sum.add(j)
		assert.True(t, sum.Late == 1 && sum.Retries == 1 && sum.Accepted() && sum.Slowest == 5*second, "the summary is",
			&sum)

		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		j, f, _ := deliver(ctx, 503)
		assert.True(t, j.State == Failed && len(f.came) == 2 && time.Since(f.began) == 1500*time.Millisecond, j,
			time.Since(f.began))
	})
}

func TestALoadIsSentWithItsRateAndConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		s := Sender{URL: "http://x.test/", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(2 * second)
			now.Add(-1)
			return &http.Response{StatusCode: 202, Body: http.NoBody}, nil
		})}
		next := NewOrders(OrderOptions{Venues: []string{venueA}}).Next
		sum := s.Run(t.Context(), Load{Next: next, Count: 101, Rate: 2, Concurrency: 50})
		assert.True(t, sum.Jobs == 101 && sum.Elapsed == 52*second && most.Load() >= 4 && most.Load() <= 5 &&
			sum.Slowest == 2*second, most.Load(), sum)
		most.Store(0)
		sum = s.Run(t.Context(), Load{Next: next, Count: 90, Concurrency: 3})
		assert.True(t, sum.Jobs == 90 && sum.Elapsed == 60*second && most.Load() == 3, most.Load(), sum)
		ctx, cancel := context.WithTimeout(t.Context(), 11*second)
		defer cancel()
		sum = s.Run(ctx, Load{Next: next})
		assert.True(t, sum.Jobs == 6 && sum.Accepted(), "stopped by hand", sum)
	})
}

// An integrator answers each attempt as its script says; the last entry repeats.
type integrator struct {
	script []any // a status, or the way in which the attempt fails

	mu    sync.Mutex // guards the fields below
	came  []time.Duration
	began time.Time
	got   []contract.PrintRequest
}

type silence struct{}  // no answer comes
type halfBody struct{} // the status comes at once, the body never comes

func (f *integrator) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p, err := contract.Open(body, contract.Strict)
	if err != nil {
		return nil, err
	}
	sent := map[string][]string(r.Header) // the names as they are spelled
	if r.Header.Get("Content-Type") != contract.ContentType || sent[contract.HeaderVenue][0] != venueA ||
		sent[contract.HeaderDevice][0] != "T1" {
		return nil, fmt.Errorf("headers %q", r.Header)
	}
	f.mu.Lock()
	n := len(f.came)
	f.came, f.got = append(f.came, time.Since(f.began)), append(f.got, p)
	f.mu.Unlock()
	switch v := f.script[min(n, len(f.script)-1)].(type) {
	case silence:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case halfBody:
		pr, pw := io.Pipe()
		context.AfterFunc(r.Context(), func() { pw.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: 200, Body: pr}, nil
	case error:
		return nil, v
	case int:
		body := io.NopCloser(strings.NewReader(`{"a":1}`))
		return &http.Response{StatusCode: v, Header: http.Header{"Location": {"http://x.test/"}}, Body: body}, nil
	}
	panic("no such answer")
}

// deliver sends one order to an integrator with a script.
func deliver(ctx context.Context, script ...any) (Job, *integrator, *bytes.Buffer) {
	f, log := &integrator{script: script, began: time.Now()}, new(bytes.Buffer)
	s := Sender{URL: "http://secret@x.test/hook", Transport: f, Logger: slog.New(slog.NewTextHandler(log, nil))}
	return s.Send(ctx, NewOrders(OrderOptions{Seed: 3, Venues: []string{venueA}, Device: "T1"}).Next()), f, log
}

func stringOf(v any) string { return string(encode(v)) }
