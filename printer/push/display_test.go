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
			var b beginCounter
			p.EndPause()
			proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
			if got := verdict(proof, err, b.times() > 0); got != want(code) {
				t.Errorf("%d: %s (%v), want %s", code, got, err, want(code))
			}
			if b.times() != 1 {
				t.Errorf("%d: begun %d times", code, b.times())
			}
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
		for attempt := range 3 {
			d := order(17, "Burger")
			d.Attempt, d.Doubt = attempt+1, attempt > 0
			_, err := p.Print(t.Context(), d, new(beginCounter).begin)
			if (err == nil) != (attempt == 2) {
				t.Errorf("attempt %d: %v", attempt+1, err)
			}
		}
		for i := range keys {
			if keys[i] != keys[0] || bodies[i] != bodies[0] {
				t.Errorf("attempt %d: key %s, body\n%s\nfirst: key %s, body\n%s", i+1, keys[i], bodies[i], keys[0],
					bodies[0])
			}
		}
		if !strings.HasPrefix(keys[0], "17-") {
			t.Errorf("key %s does not begin with the job's id", keys[0])
		}
		if got := strings.Join(doubts, ","); got != ",true,true" {
			t.Errorf("marked as possible duplicates: %q", got)
		}
	})
}

func TestTheSameJobOfAnotherInstallationHasAnotherKey(t *testing.T) {
	a, b := order(17, "Burger"), order(17, "Burger")
	b.Ticket.Request = "another"
	c := order(17, "Burger")
	c.Ticket.Received = c.Ticket.Received.Add(time.Millisecond)
	if ka, kb, kc := deliveryKey(a), deliveryKey(b), deliveryKey(c); ka == kb || ka == kc || kb == kc {
		t.Errorf("keys %s %s %s", ka, kb, kc)
	}
}

func TestNoByteOfATicketGoesOutUnlessItWasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 1)
		p := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got <- string(b)
		})
		b := beginCounter{err: errors.New("disk full")}
		_, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
		if err == nil || !strings.HasPrefix(err.Error(), "begin: ") {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		select {
		case s := <-got:
			if s != "" {
				t.Errorf("the display got %q", s)
			}
		default:
		}
		if b.times() != 1 {
			t.Errorf("begun %d times", b.times())
		}
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
			var b beginCounter
			proof, err := pushTo(t, dial).Print(t.Context(), order(1, "Burger"), b.begin)
			if got := verdict(proof, err, b.times() > 0); got != "again" || b.times() != 0 {
				t.Errorf("%s: %s after %d begins: %v", name, got, b.times(), err)
			}
			assertNoSecret(t, err.Error())
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
				var b beginCounter
				proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
				if got := verdict(proof, err, b.times() > 0); asked != 1 || got != "again" {
					t.Errorf("%d to %q: asked %d times, %s: %v", code, to, asked, got, err)
				}
				assertNoSecret(t, fmt.Sprint(err))
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
			proof, err := p.Print(t.Context(), order(1, "Burger"), new(beginCounter).begin)
			if got := verdict(proof, err, true); got != want {
				t.Errorf("%s: %v, want %s", got, err, want)
			}
		}
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}

func TestAnInterruptedTicketSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pushTo(t, rawServer(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }))
		cause := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		if _, err := p.Print(ctx, order(1, "Burger"), new(beginCounter).begin); !errors.Is(err, cause) ||
			time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestTimeSpentInTheStorageDoesNotCountAgainstTheDisplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		proof, err := p.Print(t.Context(), order(1, "Burger"),
			func(context.Context) error { time.Sleep(20 * time.Second); return nil })
		if proof != ticket.Taken || err != nil {
			t.Errorf("%s, %v", proof, err)
		}
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
		var asked []time.Time
		code := http.StatusUnauthorized
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			asked = append(asked, time.Now())
			w.WriteHeader(code)
			fmt.Fprint(w, "the token has expired\nask IT")
		})
		start := time.Now()
		try := func() (string, string) {
			t.Helper()
			var b beginCounter
			proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
			return verdict(proof, err, b.times() > 0), fmt.Sprint(err)
		}
		const want = "display at http://kds.example: it takes no tickets: 401 Unauthorized: the token has expired; " +
			"it is asked again within a minute"
		for time.Since(start) < 10*time.Minute {
			if got, err := try(); got != "not ready" || err != want {
				t.Fatalf("%s: %s", got, err)
			}
			if now := p.Pause(); now.Refusal == nil || now.Refusal.Error() != want || !now.Since.Equal(start) {
				t.Fatalf("%+v", now)
			}
			time.Sleep(5 * time.Second)
		}
		if len(asked) != 12 {
			t.Errorf("asked %d times in ten minutes", len(asked))
		}
		code = http.StatusOK
		time.Sleep(askAgainAfter)
		if got, err := try(); got != "taken" || p.Pause() != (Pause{}) {
			t.Errorf("%s: %s, %+v", got, err, p.Pause())
		}
		code = http.StatusForbidden
		_, _ = try()
		code = http.StatusUnprocessableEntity
		time.Sleep(askAgainAfter)
		if got, _ := try(); got != "refused" || p.Pause().Refusal != nil { // it speaks of the ticket again
			t.Errorf("%s, %+v", got, p.Pause())
		}
	})
}
