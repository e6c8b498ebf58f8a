package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/relay"
	"ticketrail/receiver/relay/natstest"
)

// A testRelay is a nats-server with accounts and certificates, as on site, and the stream of the relays.
type testRelay struct {
	*relay.Stream
	k        *daemonProcess
	operator *natsaccess.Operator
	url      string
	since    time.Time // of the credentials
}

// newRelay starts one, and adds it to the daemon's configuration.
func newRelay(k *daemonProcess) *testRelay {
	k.t.Helper()
	must := func(err error) {
		k.t.Helper()
		if err != nil {
			k.t.Fatal(err)
		}
	}
	program, err := natstest.Build(k.t.Context())
	must(err)
	o, err := natsaccess.NewOperator()
	must(err)
	etc := filepath.Join(k.dir, "node")
	node := natsaccess.Node{Host: "127.0.0.1", Etc: etc, Data: etc}
	node.Port, err = natstest.FreePort(node.MonitorPort())
	must(err)
	folders, err := o.WriteNodes(k.dir, []natsaccess.Node{node})
	must(err)
	must(os.Rename(folders[0], etc))
	server := exec.Command(program, "-c", filepath.Join(etc, "nats-server.conf"))
	must(server.Start())
	k.t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	must(eventually(func() error {
		r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz", node.MonitorPort()))
		if err != nil {
			return err
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("the server says %s", r.Status)
		}
		return nil
	}))
	creds, err := o.Relay("relay")
	must(err)
	file := filepath.Join(k.dir, "relays.creds")
	must(natsaccess.WriteSecret(file, creds, true))
	var s *relay.Stream
	must(eventually(func() error {
		nc, err := natsaccess.Connect(k.t.Context(),
			natsaccess.Options{URLs: []string{node.URL()}, CredentialsFile: file})
		if err != nil {
			return err
		}
		s, err = relay.Open(k.t.Context(), nc, relay.Options{Replicas: 1, MaxAge: time.Hour, MaxBody: 1 << 20})
		if err != nil {
			nc.Close()
			return err
		}
		k.t.Cleanup(nc.Close)
		return nil
	}))
	must(eventually(func() error { return s.PutVenue(k.t.Context(), relay.Venue{ID: venueID}) }))
	r := &testRelay{s, k, o, node.URL(), time.Now()}
	r.open(true)
	creds, _, err = o.Box(venueID)
	must(err)
	must(natsaccess.WriteSecret(filepath.Join(k.dir, "relay.creds"), creds, true))
	conf, err := os.ReadFile(k.conf)
	must(err)
	conf = fmt.Appendf(conf, "source: { nats: [%q], creds_file: relay.creds }\n", node.URL())
	must(os.WriteFile(k.conf, conf, 0o600))
	return r
}

// open lets the box in, or not.
func (r *testRelay) open(is bool) {
	r.k.t.Helper()
	account, err := r.operator.VenueAccount(venueID, r.since, is)
	if err == nil {
		err = eventually(func() error {
			_, _, err := r.operator.Push(r.k.t.Context(), []string{r.url}, account)
			return err
		})
	}
	if err != nil {
		r.k.t.Fatal(err)
	}
}

// wantText waits until a command says something.
func (k *daemonProcess) wantText(command, want string) {
	k.t.Helper()
	if err := eventually(func() error {
		out, _ := exec.Command("ticketrail", command, "--config", k.conf).CombinedOutput()
		if text := strings.Join(strings.Fields(string(out)), " "); !strings.Contains(text, want) {
			return fmt.Errorf("%s does not say %q but\n%s", command, want, out)
		}
		return nil
	}); err != nil {
		k.t.Error(err)
	}
}

func TestStatusAndDoctorSayWhatIsWrongWithTheRelay(t *testing.T) {
	k := newDaemon(t, "", "grill")
	cloud := newRelay(k)
	creds := filepath.Join(k.dir, "relay.creds")
	away := filepath.Join(k.dir, "away")
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(creds, away)
	k.start()
	k.wantText("status", "FAIL relay no order can be fetched since")
	k.wantText("doctor", "FAIL relay no order can be fetched: stat "+creds)
	move(away, creds) // the daemon reads it by itself
	k.wantText("status", "nothing waits there; it heard of this box")
	k.wantText("doctor", "OK relay "+cloud.url+" answers; orders of this box that wait there: 0")
	cloud.open(false)
	k.wantText("doctor", "FAIL relay "+cloud.url+" refuses the credentials")
	k.wantText("status", "the relay refuses the credentials: make new ones there")
	cloud.open(true)
	if err := cloud.RemoveVenue(t.Context(), venueID); err != nil {
		t.Fatal(err)
	}
	k.wantText("doctor", "FAIL relay "+cloud.url+": the relay does not know venue "+venueID)
	k.stop()
}

// TestWhatARelayHasTakenComesOutWhateverKillsTheBox kills the real program while it fetches, at moments of chance's
// choosing: mostly between the commit of an order and the answer to the relay.
func TestWhatARelayHasTakenComesOutWhateverKillsTheBox(t *testing.T) {
	const kills = 3 // the relay sends an order again seconds after a box was killed with it
	k := newDaemon(t, "", "grill", "bar")
	cloud := newRelay(k)
	k.start()
	var acked []order
	var stored atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	sending := make(chan struct{})
	go func() {
		defer close(sending)
		for n := 0; ctx.Err() == nil; n++ {
			o := k.newOrder(fmt.Sprintf("K-s%d-0-%04x", n, rand.IntN(1<<16)), k.stations[:1+rand.IntN(2)]...)
			body := o.body(0)
			_, err := cloud.Accept(context.WithoutCancel(ctx), ticket.Request{Venue: venueID, ID: o.id, Device: "till",
				Received: time.Now().UTC(), Body: body, Digest: sha256.Sum256([]byte(o.number))})
			if err != nil {
				t.Errorf("the relay does not take %s: %v", o.number, err)
				return
			}
			acked = append(acked, o)
			stored.Add(1)
			time.Sleep(5 * time.Millisecond) // the rate of a very busy venue
		}
	}()
	for range kills {
		had := stored.Load()
		if err := eventually(func() error {
			if stored.Load() < had+20 {
				return fmt.Errorf("%d are stored", stored.Load())
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(15 * time.Millisecond)) // a random moment, not a wait for anything
		k.kill()
		k.start()
		k.wantNoLoss()
	}
	stop()
	<-sending
	if err := untilNone(cloud.waiting); err != nil {
		t.Fatalf("requests that wait at the relay: %v", err)
	}
	k.waitUntilPrinted()
	k.checkPaper(acked, nil, [][]order{acked})
	k.wantText("status", "nothing waits there; it heard of this box")
	t.Logf("%d kills, %d orders", kills, len(acked))
	k.stop()
}
