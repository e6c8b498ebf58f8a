package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	store "ticketrail/receiver/relay"
	"ticketrail/receiver/relay/natstest"
)

const (
	grill = "11111111-1111-4111-8111-111111111111"
	bar   = "22222222-2222-4222-8222-222222222222"
)

// A cloud is a server, and the files of the relays.
type cloud struct {
	*testing.T
	dir    string
	server *natstest.Server
	conf   string // file of the relays
}

const (
	password = "the-only-user-of-the-servers-0123456789"
	secret   = "the-end-of-the-address-0123456789"
)

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{T: t, dir: t.TempDir(), server: natstest.Start(t, password)}
	c.conf = filepath.Join(c.dir, "relay.yaml")
	for name, text := range map[string]string{"nats.password": password, "relay.secret": secret, "relay.yaml": `
receiver: { secret_file: relay.secret, external_url: "https://orders.example.com" }
nats: { urls: [ "` + c.server.URL() + `" ], password_file: nats.password, replicas: 1, max_bytes: 64MiB }
`} {
		assert.NoError(t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600))
	}
	return c
}

// opened is a cloud whose stream is there, as after the first start of a relay, with a command that looks at it.
func opened(t *testing.T) (*cloud, *Admin) {
	t.Helper()
	c := newCloud(t)
	c.open()
	return c, c.admin()
}

// open makes the stream.
func (c *cloud) open() (stream *store.Stream) {
	c.Helper()
	nc, err := connect(c.load().NATS, slog.New(slog.DiscardHandler))
	assert.NoError(c, err)
	c.Cleanup(nc.Close)
	stream = store.New(nc, storeOptions(c.load(), false, slog.New(slog.DiscardHandler)))
	c.until("the stream is there", func() error { return stream.Open(c.Context()) })
	return stream
}

func (c *cloud) load() *config.Relay {
	c.Helper()
	conf, err := config.LoadRelay(c.conf)
	assert.NoError(c, err)
	return conf
}

// edit changes the relays' file.
func (c *cloud) edit(old, now string) {
	c.Helper()
	text, err := os.ReadFile(c.conf)
	assert.NoError(c, err)
	assert.NoError(c, os.WriteFile(c.conf, []byte(strings.Replace(string(text), old, now, 1)), 0o600))
}

func (c *cloud) admin() *Admin {
	c.Helper()
	var a *Admin
	c.until("the servers let a command in", func() (err error) {
		a, err = OpenAdmin(c.Context(), c.load())
		return err
	})
	c.Cleanup(a.Close)
	return a
}

// until waits for another process.
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
	boxes        string // the address for boxes
	log          *queuetest.Log
	reload       chan os.Signal
	stop         func() error
}

// start returns when the relay has said that it is ready, or at once.
func (c *cloud) start(wait bool) *runningRelay {
	c.Helper()
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		assert.NoError(c, err)
		return l
	}
	webhook, metrics := listen(), listen()
	r := &runningRelay{c: c, log: new(queuetest.Log), reload: make(chan os.Signal),
		metrics: "http://" + metrics.Addr().String(),
		boxes:   "http://" + webhook.Addr().String(),
		url:     "http://" + webhook.Addr().String() + "/webhooks/print/" + secret}
	ctx, cancel := context.WithCancel(context.Background())
	conf := c.load()
	ready, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{Config: conf, ConfigPath: c.conf, Webhook: webhook, Metrics: metrics,
			Reload: r.reload, Log: r.log,
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

// accepts waits until an order is answered 200.
func (r *runningRelay) accepts(venue, id string) {
	r.c.Helper()
	r.c.until("an order is accepted", func() error {
		if status := r.post(venue, id, "Burger"); status != http.StatusOK {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
}

func (r *runningRelay) post(venue, id, item string) (status int) {
	r.c.Helper()
	body := fmt.Sprintf(`{"status":"SUCCESS","count":1,"records":[{"id":%q,"retryCount":0,`+
		`"items":[{"id":"1","name":%q}]}]}`, id, item)
	req, err := http.NewRequest("POST", r.url, strings.NewReader(body))
	assert.NoError(r.c, err)
	for k, v := range map[string]string{"Content-Type": "application/json", "x-svc-venueid": venue,
		"x-svc-device-id": "T1"} {
		req.Header.Set(k, v)
	}
	resp, err := theService.Do(req)
	assert.NoError(r.c, err)
	resp.Body.Close()
	return resp.StatusCode
}

func (r *runningRelay) get(path string) (status int, text string) {
	r.c.Helper()
	resp, err := theService.Get(r.metrics + path)
	assert.NoError(r.c, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	assert.NoError(r.c, err)
	return resp.StatusCode, string(b)
}
