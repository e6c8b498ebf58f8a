package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/config"
	"ticketrail/deploy/slow"
	"ticketrail/queue/queuetest"
	"ticketrail/receiver/relay/natstest"
)

const (
	grill = "11111111-1111-4111-8111-111111111111"
	bar   = "22222222-2222-4222-8222-222222222222"
)

// A cloud is servers as `relay init` makes them.
type cloud struct {
	*testing.T
	dir      string
	operator *natsaccess.Operator
	servers  *natstest.Cluster
	conf     string // file of the relays
}

// newCloud starts servers. Only slow tests have them: go builds the server.
func newCloud(t *testing.T, nodes int) *cloud {
	t.Helper()
	slow.Test(t, "go")
	c := &cloud{T: t, dir: filepath.Join(t.TempDir(), "relay")}
	s := Setup{URL: "https://orders.example.com"}
	for range nodes {
		n := natsaccess.Node{Host: "127.0.0.1"}
		var err error
		if n.Port, err = natstest.FreePort(n.ClusterPort(), n.MonitorPort()); err != nil {
			t.Fatal(err)
		}
		s.Nodes = append(s.Nodes, n)
	}
	folders, err := s.Write(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []natstest.File
	for i, f := range folders {
		files = append(files, natstest.File{Path: filepath.Join(f, "nats-server.conf"),
			Client: strings.TrimPrefix(s.Nodes[i].URL(), "tls://"),
			Status: fmt.Sprintf("127.0.0.1:%d", s.Nodes[i].MonitorPort())})
	}
	c.servers = natstest.ForTest(t, natstest.Options{Files: files})
	if c.operator, err = natsaccess.ReadOperator(filepath.Join(c.dir, OperatorFile)); err != nil {
		t.Fatal(err)
	}
	c.conf = filepath.Join(c.dir, RelayFolder, "relay.yaml")
	return c
}

// edit changes the relays' file.
func (c *cloud) edit(old, now string) {
	c.Helper()
	text, err := os.ReadFile(c.conf)
	if err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(c.conf, []byte(strings.Replace(string(text), old, now, 1)), 0o600); err != nil {
		c.Fatal(err)
	}
}

func (c *cloud) admin() *Admin {
	c.Helper()
	conf, err := config.LoadRelay(c.conf)
	if err != nil {
		c.Fatal(err)
	}
	var a *Admin
	c.until("the servers let a command in", func() error { a, err = OpenAdmin(c.Context(), conf); return err })
	c.Cleanup(a.Close)
	return a
}

// until waits for what another process does.
func (c *cloud) until(what string, done func() error) {
	c.Helper()
	for end := time.Now().Add(testTime); ; time.Sleep(50 * time.Millisecond) { // between two questions
		err := done()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("not %s: %v", what, err)
		}
	}
}

// testTime is for a whole step of a test; it is only reached by a test that fails.
const testTime = 2 * time.Minute

// A runningRelay is one in this process.
type runningRelay struct {
	c            *cloud
	url, metrics string
	log          *queuetest.Log
	reload       chan os.Signal
	stop         func() error
}

// start returns when the relay has said that it is ready, or at once.
func (c *cloud) start(wait bool) *runningRelay {
	c.Helper()
	secret, err := os.ReadFile(filepath.Join(c.dir, RelayFolder, "relay.secret"))
	if err != nil {
		c.Fatal(err)
	}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			c.Fatal(err)
		}
		return l
	}
	webhook, metrics := listen(), listen()
	r := &runningRelay{c: c, log: new(queuetest.Log), reload: make(chan os.Signal),
		metrics: "http://" + metrics.Addr().String(),
		url:     "http://" + webhook.Addr().String() + "/webhooks/print/" + strings.TrimSpace(string(secret))}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{ConfigPath: c.conf, Webhook: webhook, Metrics: metrics, Reload: r.reload, Log: r.log,
			Notify: func(state string) {
				if strings.HasPrefix(state, "READY=1") {
					ready <- struct{}{}
				}
			}})
	}()
	r.stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	c.Cleanup(func() {
		_ = r.stop()
		if c.Failed() {
			c.Logf("a relay's log:\n%s", r.log)
		}
	})
	if wait {
		select {
		case <-ready:
		case err := <-ended:
			ended <- err
			c.Fatalf("the relay has ended: %v", err)
		}
	}
	return r
}

// theService gives up, so that a relay that hangs fails a test and does not hang it.
var theService = http.Client{Timeout: 30 * time.Second}

// settled is post until the answer is not 503: servers that are slow are answered so, and the service tries again.
func (r *runningRelay) settled(venue, id, item string) (status int) {
	r.c.Helper()
	r.c.until("the answer is not 503", func() error {
		if status = r.post(venue, id, item); status == http.StatusServiceUnavailable {
			return errors.New("it is")
		}
		return nil
	})
	return status
}

func (r *runningRelay) post(venue, id, item string) (status int) {
	r.c.Helper()
	body := fmt.Sprintf(`{"status":"SUCCESS","count":1,"records":[{"id":%q,"retryCount":0,`+
		`"items":[{"id":"1","name":%q}]}]}`, id, item)
	req, err := http.NewRequest("POST", r.url, strings.NewReader(body))
	if err != nil {
		r.c.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "x-svc-venueid": venue,
		"x-svc-device-id": "T1"} {
		req.Header.Set(k, v)
	}
	resp, err := theService.Do(req)
	if err != nil {
		r.c.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (r *runningRelay) get(path string) (status int, text string) {
	r.c.Helper()
	resp, err := theService.Get(r.metrics + path)
	if err != nil {
		r.c.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.c.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
