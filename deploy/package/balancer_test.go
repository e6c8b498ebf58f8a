package deploypackage

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ticketrail/deploy"
	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay/natstest"
	"ticketrail/receiver/source"
)

func TestTheLoadBalancerOfTheREADMEGivesUpNoRelayAndLogsNoSecret(t *testing.T) {
	slow.Test(t, "nginx")
	const secret = "not-for-any-log-0123456789"
	a, b := newStandIn(t), newStandIn(t)
	address, dir := nginx(t, a, b)
	client := &http.Client{Timeout: 30 * time.Second} // less than nginx waits by itself
	post := func(what string, size int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+address+"/webhooks/print/"+secret,
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
	for deadline := time.Now().Add(bootTimeout); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
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
	box, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+source.PathNext, nil)
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
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, name := range logs {
		if text, err := os.ReadFile(name); err != nil || bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// A standIn is what a load balancer sees of a relay.
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

// nginx runs with the configuration of deploy/relay/README.md, in front of relays, and returns its address and the
// folder of its logs.
func nginx(t *testing.T, relays ...*standIn) (address, dir string) {
	t.Helper()
	dir = t.TempDir()
	readme, err := deploy.Files.ReadFile("relay/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, conf, _ := strings.Cut(string(readme), "`/etc/nginx/conf.d/relay.conf`:\n\n")
	conf, _, _ = strings.Cut(conf, "\n\n**5.")
	port, err := natstest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", port)
	for _, change := range [][2]string{
		{"10.0.0.11:8443", relays[0].Listener.Addr().String()}, {"10.0.0.12:8443", relays[1].Listener.Addr().String()},
		{"listen 443 ssl;", "listen " + address + ";"}, {"ssl_certificate ", "#"}, {"ssl_certificate_key ", "#"},
		{"/var/log/nginx", dir},
	} {
		if !strings.Contains(conf, change[0]) {
			t.Fatalf("%q is not in the configuration:\n%s", change[0], conf)
		}
		conf = strings.ReplaceAll(conf, change[0], change[1])
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n"
	}
	folders := ""
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		folders += of + "_temp_path " + filepath.Join(dir, of) + ";\n"
	}
	// One worker, because each has its own opinion of the relays.
	conf = user + "daemon off;\nworker_processes 1;\npid " + dir + "/pid;\nevents {}\nhttp {\n" + folders +
		"access_log " + dir + "/access.log;\n" + conf + "\n}\n"
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	out := new(bytes.Buffer)
	c := exec.Command("nginx", "-e", filepath.Join(dir, "main.log"), "-c", file)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(os.Interrupt) // nginx ends its workers
		c.Wait()
		if t.Failed() {
			t.Logf("%s\n%s", conf, out)
		}
	})
	return address, dir
}
