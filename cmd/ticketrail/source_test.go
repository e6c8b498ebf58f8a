package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay"
)

func TestStatusAndDoctorSayWhatIsWrongWithTheRelay(t *testing.T) {
	slow.Test(t, "go")
	k := newDaemon(t, "", "grill")
	dir, conf, node := trialRelay(t)
	creds, away := filepath.Join(k.dir, "relay.creds"), filepath.Join(k.dir, "away")
	venues := func(args ...string) {
		t.Helper()
		args = append([]string{"relay", "venues"}, args...)
		args = append(args, "--config", conf, "--operator", filepath.Join(dir, "operator.secret"), "--out", away)
		if code, out, errs := runCommand(t, args...); code != exitOK {
			t.Fatalf("%v ends with %d: %s%s", args, code, out, errs)
		}
	}
	give := func() {
		t.Helper()
		if err := os.Rename(away, creds); err != nil {
			t.Fatal(err)
		}
	}
	edit(t, k.conf, "\nroutes:",
		fmt.Sprintf("\nsource: { nats: [%q], creds_file: relay.creds }\nroutes:", node.URL()))
	venues("add", venueID, "--name", "Harbour Grill")
	k.start()
	k.wantSaid("status", "FAIL relay no order can be fetched since")
	k.wantSaid("doctor", "FAIL relay no order can be fetched: stat "+creds)
	give() // the daemon reads it by itself
	k.wantSaid("status", "nothing waits there; it heard of this box")
	k.wantSaid("doctor", "OK relay "+node.URL()+" answers; orders of this box that wait there: 0")

	venues("renew", venueID)
	k.wantSaid("doctor", "FAIL relay "+node.URL()+" refuses the credentials")
	k.wantSaid("status", "the relay refuses the credentials: make new ones there")
	give()
	k.wantSaid("status", "nothing waits there; it heard of this box")

	nc, err := natsaccess.Connect(t.Context(), natsaccess.Options{URLs: []string{node.URL()},
		CredentialsFile: filepath.Join(filepath.Dir(conf), "relay.creds")})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	stream, err := relay.Open(t.Context(), nc, relay.Options{Replicas: 1, MaxAge: 72 * time.Hour, MaxBody: 1 << 20})
	if err == nil {
		err = stream.RemoveVenue(t.Context(), venueID)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.wantSaid("doctor", "FAIL relay "+node.URL()+": the relay does not know venue "+venueID)
	k.stop()
}
