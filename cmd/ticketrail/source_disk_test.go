package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// accept has the relay take an order with some body.
func (r *testRelay) accept(o order, body []byte) {
	r.k.t.Helper()
	_, err := r.Accept(r.k.t.Context(), ticket.Request{Venue: venueID, ID: o.id, Device: "till",
		Received: time.Now().UTC(), Body: body, Digest: sha256.Sum256([]byte(o.number))})
	if err != nil {
		r.k.t.Fatalf("the relay does not take %s: %v", o.number, err)
	}
}

// waiting is how many orders the box has not taken, as the relay knows.
func (r *testRelay) waiting() (int, error) {
	sites, err := r.Sites(r.k.t.Context())
	if err == nil && len(sites) != 1 {
		err = fmt.Errorf("at the relay: %+v", sites)
	}
	if err != nil {
		return 0, err
	}
	return int(sites[0].Waiting), nil
}

// TestABoxWithAFullDiskLeavesOrdersAtTheRelayUntilThereIsRoom. The first of them can never be printed, and is too large
// for the space that is left for printing.
func TestABoxWithAFullDiskLeavesOrdersAtTheRelayUntilThereIsRoom(t *testing.T) {
	_, mount := mountDisk(t, "64M")
	k := newDaemon(t, filepath.Join(mount, "t.db"), "grill", "bar")
	cloud := newRelay(k)
	metrics := freeAddr(t)
	edit(t, k.conf, `metrics: { listen: "" }`, fmt.Sprintf("metrics: { listen: %q }", metrics))
	k.start()
	var sent []order
	send := func(tag string, n int) {
		t.Helper()
		for i := range n {
			o := k.newOrder(fmt.Sprintf("K-%s-%d-0000", tag, i), k.stations...)
			cloud.accept(o, o.body(0))
			sent = append(sent, o)
		}
	}
	send("a", 5)
	if err := untilNone(cloud.waiting); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(mount, "filler")
	exec.Command("sh", "-c", "cat /dev/zero > "+filler).Run() // ends when nothing fits any more
	broken := []byte(`{"records": [` + strings.Repeat("x", 900<<10))
	cloud.accept(k.newOrder("K-x-0-0000", "grill"), broken)
	send("b", 30)

	k.wantText("status", "wait there, because this box cannot take them")
	k.wantText("status", "the disk is full: ")
	k.wantText("status", " MB are needed ("+mount+")")
	k.wantText("doctor", " MB are needed ("+mount+") to fix: delete something there")
	k.wantText("doctor", "orders of this box that wait there: 31")
	for _, want := range []string{"\nticketrail_source_up 0\n", "\nticketrail_queue_storage_full 1\n"} {
		if err := eventually(func() error { return hasMetric(metrics, want) }); err != nil {
			t.Error(err)
		}
	}
	rejects := func() []admin.Reject {
		t.Helper()
		all, err := admin.NewClient(filepath.Join(k.dir, "s")).Rejects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if n, err := cloud.waiting(); n != 31 || err != nil || len(rejects()) > 0 {
		t.Errorf("%d orders wait at the relay, want 31, %v; refused: %+v", n, err, rejects())
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := untilNone(cloud.waiting); err != nil {
		t.Fatalf("orders that wait at the relay: %v", err)
	}
	k.waitUntilPrinted()
	k.checkPaper(sent, nil, [][]order{sent})
	for _, s := range k.stations {
		if n := len(k.printers[s].Tickets()); n != len(sent) {
			t.Errorf("%s printed %d pieces, want %d", s, n, len(sent))
		}
	}
	if all := rejects(); len(all) != 1 {
		t.Errorf("kept of the refused ones: %+v, want one", all)
	} else if one, err := admin.NewClient(filepath.Join(k.dir, "s")).Reject(t.Context(), all[0].ID); err != nil ||
		!bytes.Equal(one.Body, broken) {
		t.Errorf("kept of its body: %d bytes, want %d, %v", len(one.Body), len(broken), err)
	}
	k.wantText("status", "nothing waits there; it heard of this box")
	k.stop()
}

// hasMetric is an error if a daemon's metrics lack some text.
func hasMetric(address, want string) error {
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && !bytes.Contains(text, []byte(want)) {
		err = errors.New("the metrics lack " + strings.TrimSpace(want))
	}
	return err
}
