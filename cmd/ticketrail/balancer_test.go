package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay/natstest"
	"ticketrail/receiver/source"
)

func TestNginxBeforeTheRelaysGivesUpNoneAndLogsNoSecret(t *testing.T) {
	slow.Test(t, "nginx")
	const secret = "not-for-any-log-0123456789"
	t.Parallel()
	a, b := newStandIn(t), newStandIn(t)
	p := newProgram(t)
	p.serve(p.recipe("relay/nginx.conf", "10.0.0.11:8443", a.Listener.Addr().String(), "10.0.0.12:8443",
		b.Listener.Addr().String(), "listen 443 ssl;", "listen "+p.address+";", "ssl_certificate ", "#",
		"ssl_certificate_key ", "#", "/var/log/nginx", p.dir))
	client := &http.Client{Timeout: 30 * time.Second} // less than nginx waits by itself
	post := func(what string, size int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+p.address+"/webhooks/print/"+secret,
			bytes.NewReader(make([]byte, size)))
		must(t, err)
		req.Header.Set("X-Forwarded-For", "203.0.113.9") // a stranger who pretends to be the service
		resp, err := client.Do(req)
		must(t, err)
		resp.Body.Close()
		assert.Equal(t, resp.StatusCode, http.StatusOK, what)
	}
	set := func(x, y int64) { a.status.Store(x); b.status.Store(y) }
	// A worker asks the relays in turn, so two orders ask each of them first.
	for _, one := range []struct {
		what string
		a, b int64
	}{
		{"both are well", 200, 200}, {"the first has no servers", 503, 200}, {"then only the second", 200, 503},
		{"the first hangs", 0, 200}, {"then only the second", 200, 0}, {"both are well again", 200, 200},
	} {
		set(one.a, one.b)
		post(one.what, 1)
		post(one.what, 1)
	}
	post("a large order", 8<<20)
	for _, s := range []*standIn{a, b} {
		got := s.forwarded.Load()
		assert.True(t, got == "127.0.0.1", "the relay thinks that", got)
	}
	box, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+p.address+source.PathNext, nil)
	must(t, err)
	box.Header.Set("Authorization", "Bearer a-token")
	resp, err := client.Do(box)
	must(t, err)
	resp.Body.Close()
	assert.True(t, resp.StatusCode == http.StatusOK && (a.hasToken.Load() || b.hasToken.Load()), "a box is answered",
		resp.StatusCode, a.hasToken.Load(), b.hasToken.Load())
	a.Close()
	post("the first has ended", 1)
	post("the first has ended", 1)
	logs := p.logs()
	assert.True(t, !strings.Contains(logs, secret), "the secret is in a log", logs)
}

// TestAProxyThatIsRestartedLosesNoOrderOfTheCloudAndPrintsNoneTwice: nor does a relay behind it, whatever HTTP the
// service speaks. The box keeps its long poll through the same proxy.
func TestAProxyThatIsRestartedLosesNoOrderOfTheCloudAndPrintsNoneTwice(t *testing.T) {
	slow.Test(t, "nginx", "caddy")
	t.Parallel()
	for name, startBefore := range map[string]func(p *program, a, b string){
		"nginx": (*program).nginxOfRelays, "caddy": (*program).caddyOfRelays,
	} {
		t.Run(name, func(t *testing.T) {
			c := &cloud{t: t, dir: shortDir(t)}
			c.servers = []string{strings.TrimPrefix(natstest.Start(t, cloudPassword).URL(), "nats://")}
			addresses := c.startRelays("replicas: 1")
			p := newProgram(t)
			startBefore(p, addresses[0], addresses[1])
			c.url = "https://" + p.address
			v := &venueUnderLoad{box: c.box()}
			v.box.env = []string{"SSL_CERT_FILE=" + filepath.Join(p.dir, "cert.pem")}
			v.box.start()
			one, two := &protocol{major: 1}, &protocol{major: 2}
			v.senders = startSenders(one.sends(c, v.box), "p", 2)
			overTwo := startSenders(two.sends(c, v.box), "q", 2)
			waitForMore := func(n int64) {
				v.senders.waitForMore(n)
				overTwo.waitForMore(n)
			}

			for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
				waitForMore(1 + rand.Int64N(10))
				p.end(signal)
				p.start()
			}
			for _, r := range c.relays {
				waitForMore(1 + rand.Int64N(10))
				r.kill()
				waitForMore(rand.Int64N(5)) // through the other
				r.start()
			}
			waitForMore(10)
			overTwo.stopAndWait()
			c.check(v, overTwo.acked...)
			v.box.checkPaper(overTwo.acked, overTwo.lost, overTwo.perSender)
			v.box.wantEachOnce()
			for _, spoken := range []*protocol{one, two} {
				assert.Equal(t, spoken.others.Load(), 0, "answers of another version than", spoken.major)
			}
			logs := p.logs()
			assert.True(t, !strings.Contains(logs, cloudSecret), "the secret is in a log", logs)
		})
	}
}

func (p *program) nginxOfRelays(a, b string) {
	cert, key := p.certificate()
	p.serve(p.recipe("relay/nginx.conf", "10.0.0.11:8443", a, "10.0.0.12:8443", b, "listen 443 ssl",
		"listen "+p.address+" ssl http2", "/etc/ssl/orders.example.com.crt", cert,
		"/etc/ssl/private/orders.example.com.key", key, "/var/log/nginx", p.dir))
}

func (p *program) caddyOfRelays(a, b string) {
	cert, key := p.certificate()
	p.serveCaddy(p.recipe("relay/Caddyfile", "10.0.0.11:8443", a, "10.0.0.12:8443", b, "orders.example.com {",
		"https://"+p.address+" {\n\ttls "+cert+" "+key))
}

// A protocol counts answers of another version of HTTP.
type protocol struct {
	http.RoundTripper
	major  int
	others atomic.Int64
}

// sends is a box whose orders go to the relay in this version.
func (p *protocol) sends(c *cloud, box *daemonProcess) *daemonProcess {
	p.RoundTripper = &http.Transport{ForceAttemptHTTP2: p.major == 2,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	through := c.sends(box)
	through.client.Transport = paced{p, rate.NewLimiter(10, 1)}
	return through
}

func (p *protocol) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err == nil && resp.ProtoMajor != p.major {
		p.others.Add(1)
	}
	return resp, err
}

// A standIn is a relay as a load balancer sees it.
type standIn struct {
	*httptest.Server
	status    atomic.Int64 // of its answers; 0: it hangs
	forwarded atomic.Value // X-Forwarded-For of the last request
	hasToken  atomic.Bool  // a box has shown its token
}

func newStandIn(t *testing.T) *standIn {
	s := new(standIn)
	s.status.Store(http.StatusOK)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		s.forwarded.Store(r.Header.Get("X-Forwarded-For"))
		if r.URL.Path == source.PathNext && r.Header.Get("Authorization") == "Bearer a-token" {
			s.hasToken.Store(true)
		}
		status := int(s.status.Load())
		if status == 0 {
			<-r.Context().Done() // until the load balancer gives up
			return
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s
}
