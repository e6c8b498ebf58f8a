package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay/natstest"
)

func TestBehindAProxyCallersKeepTheirAddressAndTheSecretIsInNoLog(t *testing.T) {
	slow.Test(t, "nginx", "caddy")
	t.Parallel()
	for _, tunnel := range []string{"cloudflared.yml", "tailscale.sh"} { // which need the internet
		(&frontProxy{t: t}).recipe("proxy/"+tunnel, "127.0.0.1:8443", "")
	}
	const service, stranger = "127.0.0.2", "127.0.0.3"
	for name, start := range map[string]func(*frontProxy){
		"nginx": (*frontProxy).nginx, "caddy": (*frontProxy).caddy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newDaemon(t, "", "grill")
			p := &frontProxy{t: t, dir: t.TempDir(), address: freeAddr(t)}
			more := fmt.Sprintf("receiver: { secret_file: %q, trusted_proxies: [127.0.0.1/32], allow_from: [%s/32], "+
				"external_url: \"https://%s\",", p.write("secret", proxySecret), service, p.address)
			edit(t, k.conf, "receiver: {", more)
			k.start()
			p.daemon = strings.TrimSuffix(strings.TrimPrefix(k.url, "http://"), "/webhooks/print")
			start(p)
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
				if got := p.as(step.from, step.body, step.forwardedFor); got != step.want {
					t.Errorf("%s is answered %d, want %d", step.what, got, step.want)
				}
			}
			k.kill()
			two := newOrder("A2", "grill")
			answered := make(chan int, 1)
			go func() { answered <- p.as(service, two.body(0), "") }()
			k.start()
			if got := <-answered; got != http.StatusOK {
				t.Errorf("an order during a restart is answered %d", got)
			}
			err := eventually(func() error {
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
			})
			if err != nil {
				t.Error(err)
			}
			k.wantSaid("doctor", "FAIL webhook", "the service refuses this certificate too")
			k.env = []string{"SSL_CERT_FILE=" + filepath.Join(p.dir, "cert.pem")}
			k.wantSaid("doctor", "OK webhook https://"+p.address+" leads here")
			k.kill()
			k.kept.Close()
			k.kept = nil
			k.wantSaid("doctor", "FAIL webhook", "is answered by something else (https://")
			if got := p.as(service, two.body(0), ""); got < 500 {
				t.Errorf("while the daemon is down the service is answered %d, and does not try again", got)
			}
			if strings.Contains(p.logs()+k.log.String(), proxySecret) {
				t.Errorf("the secret is in a log:\n%s", p.logs())
			}
		})
	}
}

const proxySecret = "not-for-any-log-0123456789"

// A frontProxy is a proxy with a recipe of deploy, in a folder that has its logs.
type frontProxy struct {
	t            *testing.T
	dir, address string // where it listens
	daemon       string // where it forwards to
	command      []string
	process      *exec.Cmd
}

// recipe is the file of that name, in which each first of two words is the second one: it gets the addresses and the
// certificate of this test.
func (p *frontProxy) recipe(name string, change ...string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(repository, "deploy", name))
	must(p.t, err)
	text := string(b)
	for i := 0; i < len(change); i += 2 {
		next := strings.ReplaceAll(text, change[i], change[i+1])
		if next == text {
			p.t.Fatalf("there is no %q in\n%s", change[i], text)
		}
		text = next
	}
	return text
}

func (p *frontProxy) write(name, text string) string {
	p.t.Helper()
	name = filepath.Join(p.dir, name)
	must(p.t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// run starts the real program until the test ends.
func (p *frontProxy) run(command ...string) {
	p.t.Helper()
	p.command = command
	p.t.Cleanup(func() { p.end(syscall.SIGKILL) })
	p.start()
}

// start returns when the program takes connections.
func (p *frontProxy) start() {
	p.t.Helper()
	out, err := os.OpenFile(filepath.Join(p.dir, "output.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(p.t, err)
	defer out.Close()
	c := exec.Command(p.command[0], p.command[1:]...)
	c.Stdout, c.Stderr, c.Dir, c.SysProcAttr = out, out, p.dir, &syscall.SysProcAttr{Setpgid: true}
	c.Env = append(os.Environ(), "HOME="+p.dir, "XDG_DATA_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir)
	must(p.t, c.Start())
	p.process = c
	err = eventually(func() error {
		conn, err := net.Dial("tcp", p.address)
		if err == nil {
			conn.Close()
		}
		return err
	})
	if err != nil {
		text, _ := os.ReadFile(out.Name())
		p.t.Fatalf("%v\n%s", err, text)
	}
}

// end ends the program and its workers, as systemd does.
func (p *frontProxy) end(signal syscall.Signal) {
	_ = syscall.Kill(-p.process.Process.Pid, signal) // the only error is that it has ended
	_ = p.process.Wait()
}

func (p *frontProxy) nginx() {
	cert, key := p.certificate()
	p.serve(p.recipe("proxy/nginx.conf", "listen 443", "listen "+p.address, "127.0.0.1:8443", p.daemon,
		"/etc/ssl/kitchen.example.com.crt", cert, "/etc/ssl/private/kitchen.example.com.key", key,
		"/var/log/nginx", p.dir))
}

// serve runs nginx with one file of its conf.d.
func (p *frontProxy) serve(site string) {
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n"
	}
	temp := ""
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += of + "_temp_path " + filepath.Join(p.dir, of) + ";\n"
	}
	p.run("nginx", "-e", filepath.Join(p.dir, "main.log"), "-c", p.write("nginx.conf", fmt.Sprintf(
		"%sdaemon off;\npid %s/pid;\nevents {}\nhttp {\n%saccess_log %s/access.log;\ninclude %s;\n}\n",
		user, p.dir, temp, p.dir, p.write("site.conf", site))))
}

func (p *frontProxy) caddy() {
	cert, key := p.certificate()
	p.serveCaddy(p.recipe("proxy/Caddyfile", "kitchen.example.com {", "https://"+p.address+" {\n\ttls "+cert+" "+key,
		"127.0.0.1:8443", p.daemon))
}

// serveCaddy runs Caddy without its admin port and without port 80.
func (p *frontProxy) serveCaddy(conf string) {
	conf = strings.Replace(conf, "log {", "admin off\n\tauto_https disable_redirects\n\tlog {", 1)
	p.run("caddy", "run", "--adapter", "caddyfile", "--config", p.write("Caddyfile", conf))
}

// certificate makes a certificate of no known authority.
func (p *frontProxy) certificate() (cert, key string) {
	p.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(p.t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	must(p.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(p.t, err)
	pair := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return p.write("cert.pem", pair("CERTIFICATE", der)), p.write("key.pem", pair("PRIVATE KEY", secret))
}

// logs is everything that the proxy wrote into its folder.
func (p *frontProxy) logs() (all string) {
	p.t.Helper()
	err := filepath.WalkDir(p.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".log") {
			return err
		}
		b, err := os.ReadFile(name)
		all += string(b)
		return err
	})
	must(p.t, err)
	return all
}

// as posts through the proxy from an address of this machine. A disk that is slow is answered 503 by the daemon, and
// the service tries again.
func (p *frontProxy) as(from string, body []byte, forwardedFor string) (status int) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: testTimeout}
	c := &http.Client{Timeout: testTimeout, Transport: &http.Transport{DialContext: d.DialContext,
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	err := eventually(func() error {
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
	})
	if err != nil {
		p.t.Error(err)
	}
	return status
}

// freeAddr is an address at which nothing listens, also while the daemon is down.
func freeAddr(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", natstest.FreePort(t))
}
