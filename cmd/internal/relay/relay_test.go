package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/config"
	"ticketrail/queue/logtest"
	store "ticketrail/receiver/relay"
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
	look     time.Duration
}

func newCloud(t *testing.T, nodes int) *cloud {
	t.Helper()
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
	c.servers = natstest.FilesForTest(t, files)
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
	log          *logtest.Log
	reload       chan os.Signal
	stop         func() error
}

// start returns when the relay has said that it is ready, or at once.
func (c *cloud) start(wait bool) *runningRelay {
	c.Helper()
	return c.startAt(wait, "127.0.0.1:0")
}

// startAt is start with the address of the metrics.
func (c *cloud) startAt(wait bool, address string) *runningRelay {
	c.Helper()
	secret, err := os.ReadFile(filepath.Join(c.dir, RelayFolder, "relay.secret"))
	if err != nil {
		c.Fatal(err)
	}
	listen := func(address string) net.Listener {
		l, err := net.Listen("tcp", address)
		if err != nil {
			c.Fatal(err)
		}
		return l
	}
	webhook, metrics := listen("127.0.0.1:0"), listen(address)
	r := &runningRelay{c: c, log: new(logtest.Log), reload: make(chan os.Signal),
		metrics: "http://" + metrics.Addr().String(),
		url:     "http://" + webhook.Addr().String() + "/webhooks/print/" + strings.TrimSpace(string(secret))}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{ConfigPath: c.conf, Webhook: webhook, Metrics: metrics, Reload: r.reload, Log: r.log,
			LookEvery: c.look, Notify: func(state string) {
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
func (r *runningRelay) settled(venue, id, item string) (status int, duplicate bool) {
	r.c.Helper()
	r.c.until("the answer is not 503", func() error {
		if status, duplicate = r.post(venue, id, item); status == http.StatusServiceUnavailable {
			return errors.New("it is")
		}
		return nil
	})
	return status, duplicate
}

func (r *runningRelay) post(venue, id, item string) (status int, duplicate bool) {
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
	defer resp.Body.Close()
	var answer struct{ Duplicate bool }
	_ = json.NewDecoder(resp.Body).Decode(&answer)
	return resp.StatusCode, answer.Duplicate
}

func (r *runningRelay) get(path string) (status int, header http.Header, text string) {
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
	return resp.StatusCode, resp.Header, string(b)
}

func TestWhatOneRelayHasStoredEveryRelayKnowsAndTheBoxGetsItOnce(t *testing.T) {
	c := newCloud(t, 3)
	one, two := c.start(true), c.start(true)
	if status, _ := one.settled(grill, "a", "Burger"); status != http.StatusForbidden {
		t.Fatalf("a venue that nobody added is answered %d", status)
	}
	a := c.admin()
	creds := filepath.Join(c.dir, "grill.creds")
	_, change, err := a.Add(t.Context(), c.operator, store.Venue{ID: grill, Name: "Grill"}, false, creds)
	if err != nil || len(change.Stored) != 3 || len(change.Missing) > 0 {
		t.Fatalf("adding a venue: %+v, %v", change, err)
	}
	for _, r := range []*runningRelay{one, two} { // each hears of it by itself
		c.until("a venue is known without a restart", func() error {
			if status, _ := r.post(grill, "a", "Burger"); status != http.StatusOK {
				return fmt.Errorf("answer %d", status)
			}
			return nil
		})
	}
	if status, duplicate := two.settled(grill, "a", "Burger"); status != http.StatusOK || !duplicate {
		t.Errorf("the retry at another relay is answered %d, duplicate %v", status, duplicate)
	}
	if status, _ := two.settled(grill, "b", "Fish"); status != http.StatusOK {
		t.Errorf("the second order is answered %d", status)
	}
	c.wantFetched(creds, "Burger", "Fish")
	a = c.admin() // it has the venues of when it was opened
	if o, err := a.Overview(t.Context()); err != nil || len(o.Sites) != 1 || o.Sites[0].Waiting != 0 ||
		o.Sites[0].Name != "Grill" || len(o.Stream.Replicas) != 2 {
		t.Errorf("the overview is %+v, %v", o, err)
	}
	v, err := a.Find(t.Context(), "grill")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Remove(t.Context(), c.operator, v.ID); err != nil {
		t.Fatal(err)
	}
	c.until("a removed venue is refused", func() error {
		if status, _ := two.post(grill, "c", "Soup"); status != http.StatusForbidden {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
	creds = filepath.Join(c.dir, "new.creds")
	a = c.admin()
	if _, _, err := a.Add(t.Context(), c.operator, store.Venue{ID: grill, Name: "Grill"}, false, creds); err != nil {
		t.Fatal(err)
	}
	c.until("a venue is known again", func() error {
		if status, _ := two.post(grill, "c", "Soup"); status != http.StatusOK {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
	c.wantFetched(creds, "Soup") // and not what the box before has printed
	if err := errors.Join(one.stop(), two.stop()); err != nil {
		t.Errorf("a stop ends with %v", err)
	}
}

func TestWithoutItsServersARelayAnswers503AlsoForAVenueItDoesNotKnow(t *testing.T) {
	c := newCloud(t, 1)
	c.edit("nats:", "venues: [{ id: "+grill+", name: Grill, timezone: UTC }]\nnats:")
	r := c.start(true)
	if status, _ := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Fatalf("an order is answered %d", status)
	}
	c.until("it is ready", func() error {
		if status, _, text := r.get("/readyz"); status != http.StatusOK {
			return errors.New(text)
		}
		return nil
	})
	c.servers.Kill(0)
	c.until("it is not ready", func() error {
		if status, _, _ := r.get("/readyz"); status != http.StatusServiceUnavailable {
			return fmt.Errorf("readyz says %d", status)
		}
		return nil
	})
	for _, venue := range []string{grill, bar} {
		if status, _ := r.post(venue, "b", "Fish"); status != http.StatusServiceUnavailable {
			t.Errorf("an order for %s is answered %d", venue, status)
		}
	}
	late := c.start(false) // it waits for the servers
	if status, _, text := late.get("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("before it has seen the servers it says %s", text)
	}
	if err := c.servers.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*runningRelay{r, late} {
		c.until("orders are accepted again", func() error {
			if status, _ := one.post(grill, "b", "Fish"); status != http.StatusOK {
				return fmt.Errorf("answer %d", status)
			}
			return nil
		})
		if status, _ := one.settled(bar, "b", "Fish"); status != http.StatusForbidden {
			t.Errorf("the unknown venue is answered %d", status)
		}
	}

	c.edit("Grill, timezone: UTC }", "Grill, timezone: UTC }, { id: "+bar+", name: Bar, timezone: UTC }")
	r.reload <- syscall.SIGHUP
	c.until("a reload adds a venue", func() error {
		if status, _ := r.post(bar, "b", "Fish"); status != http.StatusOK {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
	c.edit("replicas: 1", "replicas: 9")
	r.reload <- syscall.SIGHUP
	c.until("a wrong file is refused", func() error {
		if _, _, text := r.get("/metrics"); !strings.Contains(text, "ticketrail_config_last_reload_successful 0") {
			return errors.New("the metrics say that it was loaded")
		}
		return nil
	})
	if status, _ := r.settled(bar, "c", "Fish"); status != http.StatusOK {
		t.Errorf("after a wrong file an order is answered %d", status)
	}
}

func TestACommandWaitsForServersThatAreStarting(t *testing.T) {
	c := newCloud(t, 1)
	conf := c.admin().Conf
	var err error
	for range 3 { // a server that takes longer than a command waits proves nothing
		c.servers.Kill(0)
		opened := make(chan error, 1)
		go func() {
			a, err := OpenAdmin(t.Context(), conf)
			if err == nil {
				a.Close()
			}
			opened <- err
		}()
		if err := c.servers.Start(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err = <-opened; err == nil {
			return
		}
	}
	t.Error(err)
}

func TestAVenuesOwnSecretAndItsAddressAreForItAlone(t *testing.T) {
	c := newCloud(t, 1)
	a := c.admin()
	secret, _, err := a.Add(t.Context(), c.operator, store.Venue{ID: grill, Name: "Grill"}, true,
		filepath.Join(c.dir, "grill.creds"))
	if err != nil {
		t.Fatal(err)
	}
	a = c.admin()
	for _, wrong := range []store.Venue{{ID: "x", Name: "X"}, {ID: grill, Name: "Other"}, {ID: bar, Name: "GRILL"}} {
		if _, _, err := a.Add(t.Context(), c.operator, wrong, false, filepath.Join(c.dir, "x.creds")); err == nil {
			t.Errorf("%+v is added", wrong)
		}
	}
	r := c.start(true)
	if status, _ := r.settled(grill, "a", "Burger"); status != http.StatusForbidden && status != http.StatusNotFound {
		t.Errorf("with the shared secret its order is answered %d", status)
	}
	r.url = r.url[:strings.LastIndexByte(r.url, '/')+1] + secret
	if status, _ := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Errorf("with its own secret its order is answered %d", status)
	}
}
