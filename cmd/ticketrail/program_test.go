package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
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

	"ticketrail/receiver/relay/natstest"
)

// A program is another program that runs beside the daemon, in a folder that has its logs: a proxy, a server.
type program struct {
	t            *testing.T
	dir, address string // where it listens
	command      []string
	process      *exec.Cmd // nil: it does not run
}

func newProgram(t *testing.T) *program {
	t.Helper()
	return &program{t: t, dir: t.TempDir(), address: freeAddr(t)}
}

// recipe is the file of that name, in which each first of two words is the second one: it gets the addresses and the
// certificate of this test.
func (p *program) recipe(name string, change ...string) string {
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

func (p *program) write(name, text string) string {
	p.t.Helper()
	name = filepath.Join(p.dir, name)
	must(p.t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// run starts the real program until the test ends.
func (p *program) run(command ...string) {
	p.t.Helper()
	p.command = command
	p.t.Cleanup(func() {
		p.end(syscall.SIGKILL)
		if p.t.Failed() {
			p.t.Logf("the log of %s:\n%s", command[0], p.logs())
		}
	})
	p.start()
}

// start returns when the program takes connections.
func (p *program) start() {
	p.t.Helper()
	out, err := os.OpenFile(filepath.Join(p.dir, "output.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(p.t, err)
	defer out.Close()
	c := exec.Command(p.command[0], p.command[1:]...)
	c.Stdout, c.Stderr, c.Dir = out, out, p.dir
	// A test that panics runs no cleanup, and its programs must not stay.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Env = append(os.Environ(), "HOME="+p.dir, "XDG_DATA_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir)
	must(p.t, c.Start())
	p.process = c
	must(p.t, eventually(func() error {
		conn, err := net.Dial("tcp", p.address)
		if err == nil {
			conn.Close()
		}
		return err
	}))
}

// end ends the program and its workers without warning, or as systemd does, which waits for as long.
func (p *program) end(signal syscall.Signal) {
	if p.process == nil {
		return
	}
	_ = syscall.Kill(-p.process.Process.Pid, signal) // the only error is that it has ended
	kill := time.AfterFunc(30*time.Second, func() { _ = p.process.Process.Kill() })
	_ = p.process.Wait() // its log says how it ended
	kill.Stop()
	p.process = nil
}

// logs is everything that the proxy wrote into its folder.
func (p *program) logs() (all string) {
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

// serve runs nginx with one file of its conf.d.
func (p *program) serve(site string) {
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

// serveCaddy runs Caddy without its admin port and without port 80.
func (p *program) serveCaddy(conf string) {
	conf = strings.Replace(conf, "log {", "admin off\n\tauto_https disable_redirects\n\tlog {", 1)
	p.run("caddy", "run", "--adapter", "caddyfile", "--config", p.write("Caddyfile", conf))
}

// certificate makes a certificate of no known authority.
func (p *program) certificate() (cert, key string) {
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

// freeAddr is an address at which nothing listens, also while the daemon is down.
func freeAddr(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", natstest.FreePort())
}

// A natsNode is a nats-server as a process: the relay's promises to a kitchen depend on servers that are killed.
type natsNode struct {
	*program
	status string // the address of its own pages
}

// startNodes starts the nodes of a cloud, which end with the test, and waits until JetStream works.
func (c *cloud) startNodes() {
	c.t.Helper()
	// The server of go.mod. The first call on a machine builds it, others find it in the build cache.
	server, err := exec.CommandContext(c.t.Context(), "go", "tool", "-n", "nats-server").CombinedOutput()
	if err != nil {
		c.t.Fatalf("build nats-server: go tool -n nats-server: %v: %s", err, server)
	}
	for _, n := range c.nodes {
		n.run(strings.TrimSpace(string(server)), "-c", filepath.Join(n.dir, "nats.conf"))
	}
	c.ready()
}

// ready waits until the nodes that run say that JetStream works there and their streams are up to date.
func (c *cloud) ready() {
	c.t.Helper()
	for _, n := range c.nodes {
		if n.process == nil {
			continue
		}
		must(c.t, eventually(func() error {
			status, body, err := n.page("/healthz")
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("%s: %d %s", n.dir, status, body)
			}
			return err
		}))
	}
}

// page is one of the node's own pages.
func (n *natsNode) page(path string) (status int, body []byte, err error) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + n.status + path)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}
