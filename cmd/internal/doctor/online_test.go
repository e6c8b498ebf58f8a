package doctor

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ticketrail/printer/virtual"
)

const (
	venueID      = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	clientSecret = "s3cr3t-of-the-integrator"
)

// onSocket is the address of a virtual printer that listens until the test ends.
func onSocket(t *testing.T, o virtual.Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := virtual.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { p.Serve(ctx, l) })
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		if n := p.TicketCount(); n > 0 {
			t.Errorf("%s printed %d tickets", o.Name, n)
		}
	})
	return l.Addr().String()
}

func TestTheOnlineCheckReportsTheStatusOfEachPrinter(t *testing.T) {
	dir := t.TempDir()
	ready := onSocket(t, virtual.Options{Name: "ready", Can: virtual.Everything})
	low := onSocket(t, virtual.Options{Name: "low", Can: virtual.Everything, Condition: virtual.PaperLow})
	out := onSocket(t, virtual.Options{Name: "out", Can: virtual.Everything, Condition: virtual.PaperOut})
	mute, unasked := onSocket(t, virtual.Options{Name: "mute"}),
		onSocket(t, virtual.Options{Name: "unasked", Can: virtual.Everything, Condition: virtual.PaperOut})
	file := filepath.Join(dir, "paper.bin")
	conf := filepath.Join(dir, "t.yaml")
	text := fmt.Sprintf(`
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
printers:
  - { name: ready, address: "tcp://%s" }
  - { name: again, address: "tcp://%[2]s" }
  - { name: low, address: "tcp://%[3]s" }
  - { name: out, address: "tcp://%[4]s" }
  - { name: mute, address: "tcp://%[5]s" }
  - { name: unasked, address: "tcp://%[6]s", confirm: none }
  - { name: gone, address: "tcp://127.0.0.1:1" }
  - { name: file, address: "file://%[7]s" }
fallback: ready
`, venueID, ready, low, out, mute, unasked, file)
	writeFile(t, conf, text)
	var said strings.Builder
	err := CheckOnline(t.Context(), conf, &said)
	if err == nil || err.Error() != "no answer from gone\nnot ready: out" {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{
		"OK    printer ready  tcp://" + ready + " answers: ready; best proof confirmed\n",
		"OK    printer again  tcp://" + ready + " answers: ready; best proof confirmed\n",
		"OK    printer low  tcp://" + low + " answers: ready; best proof confirmed; have a new roll of paper ready\n",
		"FAIL  printer out  tcp://" + out + ": paper out; to fix: put in a new roll of paper and close the cover\n",
		"OK    printer mute  tcp://" + mute + " answers: it cannot say whether a ticket was printed\n",
		"OK    printer unasked  tcp://" + unasked + " answers\n",
		"FAIL  printer gone  ",
		"OK    printer file  file://" + file + " answers",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said.String())
		}
	}
}
