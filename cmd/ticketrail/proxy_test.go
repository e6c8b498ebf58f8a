package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestBehindAProxyCallersKeepTheirAddressAndTheSecretIsInNoLog(t *testing.T) {
	slow.Test(t, "nginx", "caddy")
	t.Parallel()
	for _, tunnel := range []string{"cloudflared.yml", "tailscale.sh"} { // which need the internet
		(&program{t: t}).recipe("proxy/"+tunnel, "127.0.0.1:8443", "")
	}
	const service, stranger = "127.0.0.2", "127.0.0.3"
	for name, start := range map[string]func(p *program, daemon string){
		"nginx": nginxBefore, "caddy": caddyBefore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newDaemon(t, "", "grill")
			p := newProgram(t)
			more := fmt.Sprintf("receiver: { secret_file: %q, trusted_proxies: [127.0.0.1/32], allow_from: [%s/32], "+
				"external_url: \"https://%s\",", p.write("secret", proxySecret), service, p.address)
			edit(t, k.conf, "receiver: {", more)
			k.start()
			start(p, strings.TrimSuffix(strings.TrimPrefix(k.url, "http://"), "/webhooks/print"))
			one := newOrder("A1", "grill")
			for _, step := range []struct {
				what, from, forwardedFor string
				body                     []byte
				want                     int
			}{
				{"the service", service, "", one.body(0), http.StatusOK},
				{"a stranger", stranger, "", one.body(0), http.StatusForbidden},
				{"a stranger who pretends to be the service", stranger, service, one.body(0), http.StatusForbidden},
			} {
				assert.Equal(t, p.as(step.from, step.body, step.forwardedFor), step.want, step.what)
			}
			k.kill()
			two := newOrder("A2", "grill")
			answered := make(chan int, 1)
			go func() { answered <- p.as(service, two.body(0), "") }()
			k.start()
			assert.Equal(t, <-answered, http.StatusOK, "an order during a restart is answered")
			must(t, eventually(func() error {
				var paper string
				for _, tk := range k.printers["grill"].Tickets() {
					paper += tk.Text
				}
				// The daemon may have been killed while it printed: then there may be a second copy, marked.
				copies, marked := strings.Count(paper, "#A1"), strings.Count(paper, "POSSIBLE DUPLICATE")
				if copies < 1 || copies > 1+marked || strings.Count(paper, "#A2") != 1 {
					return fmt.Errorf("on paper:\n%s", paper)
				}
				return nil
			}))
			k.wantSaid("doctor", "FAIL webhook", "the service refuses this certificate too")
			k.env = []string{"SSL_CERT_FILE=" + filepath.Join(p.dir, "cert.pem")}
			k.wantSaid("doctor", "OK webhook https://"+p.address+" leads here")
			k.kill()
			k.kept.Close()
			k.kept = nil
			k.wantSaid("doctor", "FAIL webhook", "is answered by something else (https://")
			got := p.as(service, two.body(0), "")
			assert.True(t, got >= 500, "while the daemon is down the service is answered", got)
			assert.True(t, !strings.Contains(p.logs()+k.log.String(), proxySecret), "the secret is in a log", p.logs())
		})
	}
}

const proxySecret = "not-for-any-log-0123456789"

func nginxBefore(p *program, daemon string) {
	cert, key := p.certificate()
	p.serve(p.recipe("proxy/nginx.conf", "listen 443", "listen "+p.address, "127.0.0.1:8443", daemon,
		"/etc/ssl/kitchen.example.com.crt", cert, "/etc/ssl/private/kitchen.example.com.key", key,
		"/var/log/nginx", p.dir))
}

func caddyBefore(p *program, daemon string) {
	cert, key := p.certificate()
	p.serveCaddy(p.recipe("proxy/Caddyfile", "kitchen.example.com {", "https://"+p.address+" {\n\ttls "+cert+" "+key,
		"127.0.0.1:8443", daemon))
}

// as posts through the proxy from an address of this machine. A disk that is slow is answered 503 by the daemon, and
// the service tries again.
func (p *program) as(from string, body []byte, forwardedFor string) (status int) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: testTimeout}
	c := &http.Client{Timeout: testTimeout, Transport: &http.Transport{DialContext: d.DialContext,
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	must(p.t, eventually(func() error {
		req, err := webhookRequest("https://"+p.address+"/webhooks/print/"+proxySecret, body)
		if err != nil {
			return err
		}
		if forwardedFor != "" {
			req.Header.Set("X-Forwarded-For", forwardedFor)
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if status = resp.StatusCode; status == http.StatusServiceUnavailable {
			return errors.New(resp.Status)
		}
		return nil
	}))
	return status
}
