package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clearNewestRoot damages a database so that bbolt cannot read it: the page from which all others are found is zero.
func clearNewestRoot(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	host, page, newest := binary.NativeEndian, os.Getpagesize(), 0
	meta := func(n int) []byte { return b[n*page+16:] }
	if host.Uint64(meta(1)[48:]) > host.Uint64(meta(0)[48:]) {
		newest = 1
	}
	root := int(host.Uint64(meta(newest)[16:]))
	clear(b[root*page : (root+1)*page])
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAStartThatIsKilledWhileItSalvagesLosesNoTicket kills the real program again and again while it finds its
// database damaged.
func TestAStartThatIsKilledWhileItSalvagesLosesNoTicket(t *testing.T) {
	k := newDaemon(t, "", "grill", "bar")
	store := filepath.Join(k.dir, "t.db")
	k.start()
	var acked []order
	send := func(n int) {
		for range n {
			o := k.newOrder(fmt.Sprintf("K-a-%d-0000", len(acked)), k.stations...)
			if got := k.deliver(o); got.status != 200 {
				t.Fatalf("got %+v", got)
			}
			acked = append(acked, o)
		}
	}
	send(60)
	k.waitUntilPrinted()
	if err := k.printers["bar"].Refuse(true); err != nil {
		t.Fatal(err)
	}
	send(40)
	k.stop()
	clearNewestRoot(t, store)

	killed := 0
	for range 25 {
		cmd := exec.Command("ticketrail", "serve", "--config", k.conf)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(500 * time.Millisecond)) // a random moment, not a wait for anything
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		killed++
		if kept, _ := filepath.Glob(store + ".corrupt-*"); len(kept) > 0 && rand.IntN(3) == 0 {
			break
		}
	}
	k.start()
	kept, _ := filepath.Glob(store + ".corrupt-*")
	if len(kept) != 1 {
		t.Fatalf("quarantined: %v, want one file", kept)
	}
	for _, o := range acked {
		if got := k.deliver(o); got.status != 200 || !got.duplicate {
			t.Errorf("a retry of %s got %+v", o.number, got)
		}
	}
	if err := k.printers["bar"].Refuse(false); err != nil {
		t.Fatal(err)
	}
	k.waitUntilPrinted()
	k.checkPaper(acked, nil, nil)
	out, err := exec.Command("ticketrail", "status", "--config", k.conf).CombinedOutput()
	if !strings.Contains(string(out), ".corrupt-") {
		t.Errorf("status does not tell (%v):\n%s", err, out)
	}
	k.stop()
	t.Logf("killed %d times", killed)

	// By hand, from the file that was kept.
	saved := filepath.Join(k.dir, "saved.db")
	out, err = exec.Command("ticketrail", "db", "salvage", kept[0], saved).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " print marked POSSIBLE DUPLICATE, 0 held, 0 failed") {
		t.Errorf("db salvage: %v\n%s", err, out)
	}
	if out, err := exec.Command("ticketrail", "db", "check", saved).CombinedOutput(); err != nil {
		t.Errorf("the saved file: %v\n%s", err, out)
	}
}
