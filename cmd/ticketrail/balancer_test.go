package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ticketrail/deploy"
	"ticketrail/deploy/slow"
	"ticketrail/receiver/source"
)

func TestTheLoadBalancerOfTheREADMEGivesUpNoRelayAndLogsNoSecret(t *testing.T) {
	slow.Test(t, "nginx")
	const secret = "not-for-any-log-0123456789"
	t.Parallel()
	a, b := newStandIn(t), newStandIn(t)
	readme, err := deploy.Files.ReadFile("relay/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, conf, _ := strings.Cut(string(readme), "`/etc/nginx/conf.d/relay.conf`:\n\n")
	conf, _, _ = strings.Cut(conf, "\n\n**5.")
	p := &frontProxy{t: t, dir: t.TempDir(), address: freeAddr(t)}
	p.serve(p.changed(conf, "10.0.0.11:8443", a.Listener.Addr().String(), "10.0.0.12:8443", b.Listener.Addr().String(),
		"listen 443 ssl;", "listen "+p.address+";", "ssl_certificate ", "#", "ssl_certificate_key ", "#",
		"/var/log/nginx", p.dir))
	client := &http.Client{Timeout: 30 * time.Second} // less than nginx waits by itself
	post := func(what string, size int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+p.address+"/webhooks/print/"+secret,
			bytes.NewReader(make([]byte, size)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", "203.0.113.9") // a stranger who pretends to be the service
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", what, resp.StatusCode)
		}
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
		if got := s.forwarded.Load(); got != "127.0.0.1" {
			t.Errorf("the relay thinks that %v sent the order", got)
		}
	}
	box, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+p.address+source.PathNext, nil)
	if err != nil {
		t.Fatal(err)
	}
	box.Header.Set("Authorization", "Bearer a-token")
	resp, err := client.Do(box)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !a.hasToken.Load() && !b.hasToken.Load() {
		t.Errorf("a box is answered %d; its token came: %v %v", resp.StatusCode, a.hasToken.Load(), b.hasToken.Load())
	}
	a.Close()
	post("the first has ended", 1)
	post("the first has ended", 1)
	if logs := p.logs(); strings.Contains(logs, secret) {
		t.Errorf("the secret is in a log:\n%s", logs)
	}
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
