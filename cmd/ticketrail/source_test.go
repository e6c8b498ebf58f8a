package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay"
	"ticketrail/receiver/relay/natstest"
)

func TestStatusAndDoctorSayWhatIsWrongWithTheRelay(t *testing.T) {
	slow.Test(t, "go")
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
	k.wantSaid("status", "FAIL relay no order can be fetched since")
	k.wantSaid("doctor", "FAIL relay no order can be fetched: stat "+creds)
	move(away, creds) // the daemon reads it by itself
	k.wantSaid("status", "nothing waits there; it heard of this box")
	k.wantSaid("doctor", "OK relay "+cloud.url+" answers; orders of this box that wait there: 0")
	cloud.open(false)
	k.wantSaid("doctor", "FAIL relay "+cloud.url+" refuses the credentials")
	k.wantSaid("status", "the relay refuses the credentials: make new ones there")
	cloud.open(true)
	if err := cloud.RemoveVenue(t.Context(), venueID); err != nil {
		t.Fatal(err)
	}
	k.wantSaid("doctor", "FAIL relay "+cloud.url+": the relay does not know venue "+venueID)
	k.stop()
}

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
	edit(k.t, k.conf, "\nroutes:",
		fmt.Sprintf("\nsource: { nats: [%q], creds_file: relay.creds }\nroutes:", node.URL()))
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
