package kds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"encoding/pem"
	"log/slog"

	"ticketrail/queue/ticket"
)

// A network is one host, reached over pipes, so that a display can live in a bubble.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newNetwork() *network { return &network{conns: make(chan net.Conn), done: make(chan struct{})} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-n.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.done) }); return nil }
func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// display serves h over pipes, until the test ends, and is a station that posts there.
func display(t *testing.T, h http.HandlerFunc, change ...func(*PushOptions)) *Push {
	t.Helper()
	n := newNetwork()
	srv := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(n) })
	p := pushTo(t, n.dial, change...)
	t.Cleanup(func() { p.Close(); _ = srv.Close(); n.Close(); running.Wait() })
	return p
}

func pushTo(t *testing.T, dial func(context.Context, string, string) (net.Conn, error), change ...func(*PushOptions)) *Push {
	t.Helper()
	o := PushOptions{Name: "fresh", URL: "http://kds.example/hook/s3cretpath?key=s3cretquery", Dial: dial}
	for _, f := range change {
		f(&o)
	}
	p, err := NewPush(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func order(job uint64, names ...string) ticket.Delivery {
	d := ticket.Delivery{Job: job, Station: "fresh", Attempt: 1, Ticket: ticket.Ticket{
		V: 1, Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", VenueName: "Harbour Grill",
		Request: fmt.Sprintf("0d9e1c52-7c1b-4d5e-8a66-%012d", job), Number: fmt.Sprint(job), Table: "B10",
		Received: time.Date(2026, 2, 6, 10, 49, 48, 0, time.UTC), Zone: "Australia/Melbourne",
	}}
	for _, n := range names {
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: "1", Name: n})
	}
	return d
}

// began counts calls of begin.
type began struct {
	mu  sync.Mutex
	n   int
	err error
}

func (b *began) begin(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return b.err
}

func (b *began) times() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// verdict is how a station's answer is to be taken, in a word.
func verdict(proof ticket.Proof, err error, begun bool) string {
	switch {
	case err == nil:
		return string(proof)
	case ticket.IsPermanent(err):
		return "buried"
	case ticket.IsNotReady(err):
		return "not ready"
	case begun && !ticket.IsUntouched(err):
		return "doubt"
	}
	return "again"
}

func TestEveryStatusHasItsMeaning(t *testing.T) {
	want := func(code int) string {
		switch {
		case code < 300, code == 409:
			return "taken"
		case code < 400, code == 408, code == 425, code == 429:
			return "again"
		case code < 500:
			return "buried"
		}
		return "doubt"
	}
	synctest.Test(t, func(t *testing.T) {
		code := 0
		p := display(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(code)
		})
		for code = 200; code < 600; code++ {
			var b began
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

func TestATicketHasOneKeyAndOneBodyAtEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys, bodies, doubts []string
		p := display(t, func(w http.ResponseWriter, r *http.Request) {
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
			_, err := p.Print(t.Context(), d, new(began).begin)
			if (err == nil) != (attempt == 2) {
				t.Errorf("attempt %d: %v", attempt+1, err)
			}
		}
		for i := range keys {
			if keys[i] != keys[0] || bodies[i] != bodies[0] {
				t.Errorf("attempt %d: key %s, body\n%s\nfirst: key %s, body\n%s", i+1, keys[i], bodies[i], keys[0], bodies[0])
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
		p := display(t, func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got <- string(b)
		})
		b := began{err: errors.New("disk full")}
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
		n := newNetwork()
		for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
			"refused": func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") },
			"silent":  n.dial,
		} {
			var b began
			proof, err := pushTo(t, dial).Print(t.Context(), order(1, "Burger"), b.begin)
			if got := verdict(proof, err, b.times() > 0); got != "again" || b.times() != 0 {
				t.Errorf("%s: %s after %d begins: %v", name, got, b.times(), err)
			}
			noSecret(t, err.Error())
		}
	})
}

func noSecret(t *testing.T, s string) {
	t.Helper()
	for _, secret := range []string{"s3cret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		if strings.Contains(s, secret) {
			t.Errorf("a secret is in %q", s)
		}
	}
}

// raw answers each connection with bytes, once it has read the request's head.
func raw(t *testing.T, answer func(c net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	n := newNetwork()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := n.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				var got []byte
				b := make([]byte, 64<<10)
				for !bytes.Contains(got, []byte("\r\n\r\n{")) {
					k, err := c.Read(b)
					if got = append(got, b[:k]...); err != nil {
						return
					}
				}
				answer(c)
			})
		}
	})
	t.Cleanup(func() { n.Close(); running.Wait() })
	return n.dial
}

func TestADisplayThatDoesEverythingWrongDelaysAndNoMore(t *testing.T) {
	for name, answer := range map[string]func(net.Conn){
		"hangs up":               func(net.Conn) {},
		"never answers":          func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"speaks another":         func(c net.Conn) { fmt.Fprint(c, "220 mail.example ESMTP\r\n") },
		"breaks off in the head": func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-") },
		"never ends its head": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		},
		"never ends its beginning": func(c net.Conn) {
			for {
				if _, err := fmt.Fprint(c, "HTTP/1.1 103 Early Hints\r\n\r\n"); err != nil {
					return
				}
			}
		},
		"fails and never ends": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 500 no\r\nContent-Length: 999999999\r\n\r\n")
			for {
				if _, err := fmt.Fprint(c, strings.Repeat("\x1b[31m no\u202e ", 50)); err != nil {
					return
				}
			}
		},
		"fails without a word": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 500 no\r\nContent-Length: 9\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pushTo(t, raw(t, answer))
				defer p.Close()
				start := time.Now()
				var b began
				proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
				if got := verdict(proof, err, b.times() > 0); got != "doubt" {
					t.Errorf("%s: %v", got, err)
				}
				if err != nil && (len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\x1b\u202e\n")) {
					t.Errorf("error %q", err)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestATicketNeverFollowsARedirectToAnotherHost(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{"http://elsewhere.example/s3cret", "https://kds.example/", "//elsewhere.example/", ":", ""} {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				p := display(t, func(w http.ResponseWriter, r *http.Request) {
					asked++
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Location", to)
					w.WriteHeader(code)
				})
				var b began
				proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
				if got := verdict(proof, err, true); asked != 1 || (got != "again" && got != "doubt") {
					t.Errorf("%d to %q: asked %d times, %s: %v", code, to, asked, got, err)
				}
				noSecret(t, fmt.Sprint(err))
			})
		}
	}
}

func TestARedirectWithinTheHostTakesTheTicketAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		p := display(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key")+" "+string(b))
			if r.URL.Path != "/new" {
				http.Redirect(w, r, "/new", http.StatusPermanentRedirect)
			}
		})
		var b began
		if proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin); proof != ticket.Taken || err != nil || b.times() != 1 {
			t.Errorf("%s, %v after %d begins", proof, err, b.times())
		}
		if len(got) != 2 || strings.Replace(got[0], "/hook/s3cretpath", "/new", 1) != got[1] {
			t.Errorf("the display was asked %q", got)
		}
	})
}

func TestADisplayThatAsksForPatienceGetsIt(t *testing.T) {
	for _, c := range []struct {
		code  int
		after func() string
		want  time.Duration
	}{
		{429, func() string { return "30" }, 30 * time.Second},
		{503, func() string { return "3" }, 3 * time.Second},
		{429, func() string { return time.Now().Add(-time.Hour + 20*time.Second).UTC().Format(http.TimeFormat) }, 20 * time.Second}, // its clock is slow
		{429, func() string { return "999999" }, 5 * time.Minute},
		{429, func() string { return "-5" }, 0},
		{429, func() string { return "soon" }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []time.Time
			after := c.after()
			p := display(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if asked = append(asked, time.Now()); len(asked) == 1 {
					w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
					w.Header().Set("Retry-After", after)
					w.WriteHeader(c.code)
				}
			})
			for len(asked) < 2 {
				var b began
				_, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
				if ticket.IsNotReady(err) {
					if b.times() > 0 {
						t.Error("it was begun although the display wants to be left alone")
					}
					time.Sleep(time.Second)
				}
			}
			if got := asked[1].Sub(asked[0]); got < c.want || got > c.want+2*time.Second {
				t.Errorf("Retry-After %q: asked again after %v, want %v", after, got, c.want)
			}
		})
	}
}

func TestAnInterruptedTicketSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pushTo(t, raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }))
		cause := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		if _, err := p.Print(ctx, order(1, "Burger"), new(began).begin); !errors.Is(err, cause) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestTheStoragesTimeIsNotTheDisplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := display(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		proof, err := p.Print(t.Context(), order(1, "Burger"), func(context.Context) error { time.Sleep(20 * time.Second); return nil })
		if proof != ticket.Taken || err != nil {
			t.Errorf("%s, %v", proof, err)
		}
	})
}

const vectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestSignaturesAreThoseOfStandardWebhooks(t *testing.T) {
	s, err := readSecrets("\n " + vectorSecret + "\r\n")
	if err != nil {
		t.Fatal(err)
	}
	// The example that the libraries of Standard Webhooks share.
	got := s.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	two, err := readSecrets(vectorSecret + "\nwhsec_" + strings.Repeat("ab", 16))
	if err != nil || len(strings.Fields(two.sign("a", time.Unix(1, 0), nil))) != 2 {
		t.Errorf("two secrets give %q, %v", two.sign("a", time.Unix(1, 0), nil), err)
	}
	for _, bad := range []string{"", "\n", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_s3cret!!", "whsec_" + "YWJj"} {
		if _, err := readSecrets(bad); err == nil {
			t.Errorf("%q is taken for a secret", bad)
		} else {
			noSecret(t, err.Error())
		}
	}
}

func TestSecretsAreReadAnewAndNeverShown(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	token, secret := file("token", "s3cret-one\n"), file("secret", vectorSecret)
	var log bytes.Buffer
	code := http.StatusForbidden
	var auth []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		auth = append(auth, r.Header.Get("Authorization"))
		k, _ := readSecrets(vectorSecret)
		at := r.Header.Get("webhook-timestamp")
		var sec int64
		fmt.Sscan(at, &sec)
		if want := k.sign(r.Header.Get("webhook-id"), time.Unix(sec, 0), body); r.Header.Get("webhook-signature") != want || time.Since(time.Unix(sec, 0)).Abs() > time.Minute {
			t.Errorf("signed %q at %s, want %q", r.Header.Get("webhook-signature"), at, want)
		}
		if id := r.Header.Get("webhook-id"); id != r.Header.Get("Idempotency-Key") || id == "" {
			t.Errorf("webhook-id %q", id)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, "\n\x1b[1mwrong token %s for %s\nsecond line", r.Header.Get("Authorization"), vectorSecret)
	}))
	defer srv.Close()
	p, err := NewPush(PushOptions{
		Name: "fresh", URL: srv.URL + "/s3cret", TokenFile: token, SecretFile: secret,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.Print(t.Context(), order(1, "Burger"), new(began).begin)
	if !ticket.IsPermanent(err) || !strings.Contains(err.Error(), "403 Forbidden: \ufffd[1mwrong token Bearer [secret] for whsec_[secret]") || strings.Contains(err.Error(), "second") {
		t.Errorf("error %q", err)
	}
	noSecret(t, err.Error())
	file("token", "s3cret-two")
	code = http.StatusOK
	if _, err := p.Print(t.Context(), order(2, "Burger"), new(began).begin); err != nil {
		t.Error(err)
	}
	if got := strings.Join(auth, ","); got != "Bearer s3cret-one,Bearer s3cret-two" {
		t.Errorf("tokens %q", got)
	}
	for name, text := range map[string]string{"token": "s3cret a b", "secret": "s3cret"} {
		was, _ := os.ReadFile(filepath.Join(dir, name))
		file(name, text)
		var b began
		_, err = p.Print(t.Context(), order(3, "Burger"), b.begin)
		if !ticket.IsNotReady(err) || b.times() != 0 || !strings.Contains(err.Error(), name+"_file") {
			t.Errorf("a bad %s: %v", name, err)
		}
		noSecret(t, fmt.Sprint(err))
		file(name, string(was))
	}
	noSecret(t, log.String())
	if err := os.Remove(token); err != nil {
		t.Fatal(err)
	}
	if _, err = p.Print(t.Context(), order(4, "Burger"), new(began).begin); !ticket.IsNotReady(err) || !strings.Contains(err.Error(), token) {
		t.Errorf("without the file: %v", err)
	}
}

func TestAnOwnAuthorityIsTrustedAndNoOther(t *testing.T) {
	taken := 0
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken++ }))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	pemCert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(ca, pemCert, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := NewPush(PushOptions{Name: "fresh", URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	var b began
	if _, err := p.Print(t.Context(), order(1, "Burger"), b.begin); err == nil || b.times() != 0 || !strings.Contains(err.Error(), "ca_file") {
		t.Errorf("without its authority: %v", err)
	}
	if err := p.Check(t.Context()); err == nil {
		t.Error("without its authority the check finds nothing")
	}
	if p, err = NewPush(PushOptions{Name: "fresh", URL: srv.URL, CAFile: ca}); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Check(t.Context()); err != nil || taken != 0 {
		t.Errorf("check: %v, %d tickets", err, taken)
	}
	if proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin); proof != ticket.Taken || err != nil {
		t.Errorf("with its authority: %s, %v", proof, err)
	}
	if err := os.WriteFile(ca, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Print(t.Context(), order(2, "Burger"), b.begin); !ticket.IsNotReady(err) {
		t.Errorf("with a file that holds none: %v", err)
	}
}

func TestAnAddressThatCannotBeIsRefusedWithoutShowingIt(t *testing.T) {
	for _, u := range []string{"", "kds.example/s3cret", "ftp://kds.example/s3cret", "https:///s3cret", "https://me:s3cret@kds.example/", "http://%s3cret", "https://kds.example/\x7fs3cret"} {
		_, err := NewPush(PushOptions{Name: "fresh", URL: u})
		if err == nil {
			t.Errorf("%q is taken", u)
			continue
		}
		noSecret(t, err.Error())
	}
}
