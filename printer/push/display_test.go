package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestEveryStatusHasItsMeaning(t *testing.T) {
	want := func(code int) string {
		switch {
		case code < 300, code == 409:
			return "taken"
		case code < 400, code == 408, code == 425, code == 429:
			return "again"
		case code > 400 && code < 406, code == 407:
			return "not ready"
		case code < 500:
			return "refused"
		}
		return "doubt"
	}
	synctest.Test(t, func(t *testing.T) {
		code := 0
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(code)
		})
		for code = 200; code < 600; code++ {
			p.EndPause()
			burger(t, p).want(t, want(code), 1, code)
		}
	})
}

func TestATicketHasTheSameKeyAndBodyAtEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys, bodies, doubts []string
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			keys, bodies = append(keys, r.Header.Get("Idempotency-Key")), append(bodies, string(b))
			doubts = append(doubts, r.Header.Get("Ticketrail-Possible-Duplicate"))
			if len(keys) < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		for n, want := range []string{"doubt", "doubt", "taken"} {
			d := order(17, "Burger")
			d.Attempt, d.Doubt = n+1, n > 0
			post(t.Context(), p, d, nil).want(t, want, 1)
		}

		for i := range keys {
			assert.Equal(t, keys[i], keys[0])
			assert.Equal(t, bodies[i], bodies[0])
		}
		assert.True(t, strings.HasPrefix(keys[0], "17-"), keys[0]) // the job's id
		assert.Equal(t, strings.Join(doubts, ","), ",true,true")
	})
}

func TestTheSameJobOfAnotherInstallationHasAnotherKey(t *testing.T) {
	a, b := order(17, "Burger"), order(17, "Burger")
	b.Ticket.Request = "another"
	c := order(17, "Burger")
	c.Ticket.Received = c.Ticket.Received.Add(time.Millisecond)
	ka, kb, kc := deliveryKey(a), deliveryKey(b), deliveryKey(c)
	assert.True(t, ka != kb && ka != kc && kb != kc, ka, kb, kc)
}

func TestNoByteOfATicketGoesOutUnlessItWasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		p := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(&got, r.Body) })
		a := post(t.Context(), p, order(1, "Burger"), errors.New("disk full"))
		assert.True(t, a.begun == 1 && strings.HasPrefix(fmt.Sprint(a.err), "begin: "), a)
		synctest.Wait()
		assert.Equal(t, got.String(), "")
	})
}

func TestADisplayThatIsNotThereCostsNoDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := virtual.NewNetwork()
		for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
			"refused": func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("connection refused")
			},
			"silent": n.Dial,
		} {
			a := burger(t, pushTo(t, dial))
			a.want(t, "again", 0, name)
			assertNoSecret(t, a.err.Error())
		}
	})
}

func TestATicketFollowsNoRedirect(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{"http://elsewhere.example/s3cret", "/again", "//elsewhere.example/", ":", ""} {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				p := serve(t, func(w http.ResponseWriter, r *http.Request) {
					asked++
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Location", to)
					w.WriteHeader(code)
				})
				a := burger(t, p)
				a.want(t, "again", 1, code, to)
				assert.Equal(t, asked, 1, code, to)
				assertNoSecret(t, fmt.Sprint(a.err))
			})
		}
	}
}

func TestNoTicketIsSentASecondTimeBecauseItsConnectionBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if asked++; asked == 2 {
				panic(http.ErrAbortHandler) // hangs up
			}
		})
		for _, want := range []string{"taken", "doubt"} {
			burger(t, p).want(t, want, 1)
		}
		assert.Equal(t, asked, 2)
	})
}

func TestAnInterruptedTicketSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pushTo(t, rawServer(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }))
		cause := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		a := post(ctx, p, order(1, "Burger"), nil)
		assert.True(t, errors.Is(a.err, cause) && time.Since(start) == time.Second, time.Since(start), a)
	})
}

func TestTimeSpentInTheStorageDoesNotCountAgainstTheDisplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		proof, err := p.Print(t.Context(), order(1, "Burger"),
			func(context.Context) error { time.Sleep(20 * time.Second); return nil })
		assert.Equal(t, proof, ticket.Taken, err)
	})
}

func TestAnImpossibleURLIsRefusedWithoutShowingIt(t *testing.T) {
	for _, u := range []string{"", "kds.example/s3cret", "ftp://kds.example/s3cret", "https:///s3cret",
		"https://me:s3cret@kds.example/", "http://%s3cret", "https://kds.example/\x7fs3cret"} {
		_, err := New(Options{URL: u})
		if err == nil {
			t.Errorf("%q is taken", u)
			continue
		}
		assertNoSecret(t, err.Error())
	}
}

func TestADisplayThatTakesNothingIsAskedOnceAMinuteAndSaysWhyMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, code := 0, http.StatusUnauthorized
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			asked++
			w.WriteHeader(code)
			fmt.Fprint(w, "the token has expired\nask IT")
		})
		start := time.Now()
		const want = "display at http://kds.example: it takes no tickets: 401 Unauthorized: the token has expired; " +
			"it is asked again within a minute"
		for time.Since(start) < 10*time.Minute {
			a := burger(t, p)
			assert.Equal(t, a.outcome, "not ready")
			assert.Equal(t, fmt.Sprint(a.err), want)
			now := p.Pause()
			assert.True(t, now.Refusal != nil && now.Refusal.Error() == want && now.Since.Equal(start), now)
			time.Sleep(5 * time.Second)
		}
		assert.Equal(t, asked, 12)

		code = http.StatusOK
		time.Sleep(askAgainAfter)
		burger(t, p).want(t, "taken", 1)
		assert.Equal(t, p.Pause(), Pause{})
		code = http.StatusForbidden
		burger(t, p).want(t, "not ready", 1)
		code = http.StatusUnprocessableEntity
		time.Sleep(askAgainAfter)
		burger(t, p).want(t, "refused", 1) // it speaks of the ticket again
		assert.Equal(t, p.Pause().Refusal, nil)
	})
}
