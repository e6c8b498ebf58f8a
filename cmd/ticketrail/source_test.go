package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ticketrail/deploy/slow"
)

func TestStatusAndDoctorSayWhatIsWrongWithTheRelay(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	k := newDaemon(t, "", "grill")
	_, conf := trialRelay(t)
	url := startRelay(t, conf)
	token, away := filepath.Join(k.dir, "relay.token"), filepath.Join(k.dir, "away")
	venues := func(args ...string) {
		t.Helper()
		args = append(append([]string{"relay", "venues"}, args...), "--config", conf)
		if code, out, errs := runCommand(t, args...); code != exitOK {
			t.Fatalf("%v ends with %d: %s%s", args, code, out, errs)
		}
	}
	give := func() {
		t.Helper()
		must(t, os.Rename(away, token))
	}
	edit(t, k.conf, "\nroutes:", fmt.Sprintf("\nsource: { url: %q, token_file: relay.token }\nroutes:", url))
	venues("add", venueID, "--name", "Harbour Grill", "--out", away)
	k.start()
	k.wantSaid("status", "FAIL relay no order can be fetched")
	k.wantSaid("doctor", "FAIL relay no order can be fetched")
	give() // the daemon reads it by itself
	k.wantSaid("status", "it heard of this box")
	k.wantSaid("doctor", "OK relay connected, orders that wait there: 0 ("+url)

	venues("renew", venueID, "--out", away)
	k.wantSaid("doctor", "FAIL relay no order can be fetched", "the relay refuses the token")
	k.wantSaid("status", "make a new token on the relay with ticketrail relay venues renew")
	give()
	k.wantSaid("status", "it heard of this box")
	venues("remove", venueID)
	k.wantSaid("doctor", "FAIL relay no order can be fetched", "the relay refuses the token")
	k.stop()
}
