package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/slow"
)

func TestAReceiverThatWasAwayIsToldEveryOutcomeInOrderAlsoOverKills(t *testing.T) {
	slow.Test(t, "python3")
	k := newDaemon(t, "", "grill", "bar")
	const secret = "whsec_QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD"
	address := freeAddr(t)
	_, port, _ := net.SplitHostPort(address)
	away, taken := filepath.Join(k.dir, "away"), filepath.Join(k.dir, "taken")
	writeFiles(t, map[string]string{filepath.Join(k.dir, "whsec"): secret + "\n", away: "", taken: ""})
	edit(t, k.conf, "\nroutes:", fmt.Sprintf("\noutcomes: { url: \"http://%s/in?token=t0psecret\", secret_file: %s }\n"+
		"routes:", address, filepath.Join(k.dir, "whsec")))
	receiver := exec.Command("python3", "testdata/outcomes/receiver.py", k.dir, port, secret)
	receiver.Stderr = os.Stderr
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = receiver.Process.Kill(); _ = receiver.Wait() }()
	k.start()
	const orders = 16
	for n := range orders {
		if n%8 == 5 {
			k.kill()
			k.start()
		}
		o := newOrder(fmt.Sprint("A", n), "grill", "bar")
		if err := eventually(func() error {
			if a := k.post(o, 0); a.status != http.StatusOK {
				return fmt.Errorf("%+v", a)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	k.waitUntilPrinted()
	k.kill()
	k.start()
	err := eventually(func() error {
		if !strings.Contains(k.log.String(), "could not be posted") {
			return fmt.Errorf("the log does not say that the receiver is away:\n%s", k.log)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(away); err != nil {
		t.Fatal(err)
	}
	read := func() (all []told) {
		b, err := os.ReadFile(taken)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var e told
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			all = append(all, e)
		}
		return all
	}
	restarts := 0
	err = untilNone(func() (int, error) {
		out := map[uint64]bool{}
		for _, e := range read() {
			if e.Type == "ticket.out" {
				out[e.Data.Job] = true
			}
		}
		if len(out)/10 > restarts && len(out) < 2*orders { // in the middle of telling
			restarts++
			k.kill()
			k.start()
		}
		return 2*orders - len(out), nil
	})
	if err != nil {
		t.Fatalf("of the tickets that are told to be out: %v", err)
	}
	ids := map[string]told{}
	var first []uint64
	jobs, accepted := map[uint64]bool{}, map[uint64]bool{}
	for _, e := range read() {
		if same, ok := ids[e.ID]; ok {
			if same != e {
				t.Errorf("%s came as\n%+v and as\n%+v", e.ID, same, e)
			}
			continue
		}
		ids[e.ID] = e
		first = append(first, e.Data.Seq)
		jobs[e.Data.Job] = true
		switch {
		case e.Type == "ticket.accepted":
			accepted[e.Data.Job] = true
		case e.Type != "ticket.out" || !accepted[e.Data.Job] || e.Data.Proof != "confirmed" || e.Data.Request == "" ||
			!strings.HasPrefix(e.Data.Number, "A"):
			t.Errorf("%+v", e)
		}
	}
	if !slices.IsSorted(first) || first[0] != 1 || first[len(first)-1] != uint64(len(first)) || len(jobs) != 2*orders {
		t.Errorf("%d jobs, the events came first in the order %v", len(jobs), first)
	}
	if strings.Contains(k.log.String(), "t0psecret") {
		t.Errorf("the secret is in the log:\n%s", k.log)
	}
	t.Logf("%d events, %d of them told again after a kill", len(ids), len(read())-len(ids))
}

// A told is one event as the receiver took it.
type told struct {
	ID, Type string
	Data     struct {
		Seq                             uint64
		Job                             uint64
		Station, Proof, Request, Number string
	}
}
