package doctor

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ticketrail/deploy/slow"
	"ticketrail/printer/virtual"
)

func TestTheOnlineCheckReportsTheStatusOfEachPrinter(t *testing.T) {
	dir := t.TempDir()
	ready := onSocket(t, virtual.Options{Name: "ready", Can: virtual.Everything})
	low := onSocket(t, virtual.Options{Name: "low", Can: virtual.Everything, Condition: virtual.PaperLow})
	out := onSocket(t, virtual.Options{Name: "out", Can: virtual.Everything, Condition: virtual.PaperOut})
	file := filepath.Join(dir, "paper.bin")
	conf := filepath.Join(dir, "t.yaml")
	text := fmt.Sprintf(`
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
fonts: [ none.ttf ]
printers:
  - { name: ready, address: "tcp://%s" }
  - { name: again, address: "tcp://%[2]s" }
  - { name: low, address: "tcp://%[3]s" }
  - { name: out, address: "tcp://%[4]s" }
  - { name: gone, address: "tcp://127.0.0.1:1" }
  - { name: file, address: "file://%[5]s" }
fallback: ready
`, venueID, ready, low, out, file)
	writeFile(t, conf, text)
	said := online(t, conf)
	for _, want := range []string{
		"ok ready: answers: ready; best proof confirmed (tcp://" + ready + ")\n",
		"ok again: answers: ready; best proof confirmed (tcp://" + ready + ")\n",
		"warn low: paper low: have a new roll of paper ready\n",
		"fail out: paper out (offline): put in a new roll of paper and close the cover",
		"fail gone: unreachable (connect tcp 127.0.0.1:1: connection refused): is the printer on and is 1 its port?",
		"ok file: is reachable: tickets are only sent (file://" + file + ")\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

func TestTheOnlineCheckSaysWhatAPrinterThatSaysNothingCannotDo(t *testing.T) {
	slow.Test(t) // it waits for an answer
	mute := onSocket(t, virtual.Options{Name: "mute"})
	unasked := onSocket(t, virtual.Options{Name: "unasked", Can: virtual.Everything, Condition: virtual.PaperOut})
	conf := filepath.Join(t.TempDir(), "t.yaml")
	writeFile(t, conf, fmt.Sprintf(`
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
fonts: [ none.ttf ]
printers:
  - { name: mute, address: "tcp://%s" }
  - { name: unasked, address: "tcp://%s", confirm: none, mac: "00:26:ab:12:34:56" }
fallback: mute
`, venueID, mute, unasked))
	said := online(t, conf)
	for _, want := range []string{
		"ok mute: is reachable, and answers nothing: tickets are only sent (tcp://" + mute + ")\n",
		"warn unasked: mac is of no use: this box does not see the MAC address: remove mac: tcp://" + unasked +
			" is behind a router, on this box or IPv6\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

func TestTheOnlineCheckRefusesWhatIsNoPrinter(t *testing.T) {
	metrics := httptest.NewServer(promhttp.Handler())
	t.Cleanup(metrics.Close)
	for name, c := range map[string]struct {
		address, want string
		asked, waits  bool
	}{
		"web": {metrics.Listener.Addr().String(), "a web server (HTTP/1.1 400 Bad Request) answers there", true, true},
		// It answers the first byte that is no letter, as nginx does, and closes.
		"proxy": {answering(t, func(c net.Conn) {
			if n, _ := c.Read(make([]byte, 1)); n > 0 {
				io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n\r\n<html></html>")
			}
		}), "a web server (HTTP/1.1 400 Bad Request) answers there", true, false},
		"ssh": {answering(t, func(c net.Conn) {
			io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n")
			io.Copy(io.Discard, c)
		}), "an SSH daemon (SSH-2.0-OpenSSH_9.2) answers there", false, false},
		"endless": {answering(t, func(c net.Conn) {
			for err := error(nil); err == nil; {
				_, err = io.WriteString(c, "are you still there? ")
			}
		}), "a program that sends text (are you still there? ", false, true},
		"hostile": {answering(t, func(c net.Conn) {
			io.WriteString(c, "\x1b]0;owned\x07\x1b[2Jquite\x9bharmless\u202e\n")
			io.Copy(io.Discard, c)
		}), "a program that sends text (]0;owned[2Jquiteharmless) answers there", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.waits { // for a second
				slow.Test(t)
			}
			for _, confirm := range []string{"auto", "none"} {
				conf := filepath.Join(t.TempDir(), "t.yaml")
				writeFile(t, conf, fmt.Sprintf(`
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
fonts: [ none.ttf ]
printers: [ { name: grill, address: "tcp://%s", confirm: %s } ]
fallback: grill
`, venueID, c.address, confirm))
				if c.asked && confirm == "none" { // it says nothing unasked
					continue
				}
				want := "fail grill: not a printer (" + c.want
				if said := online(t, conf); !strings.Contains(said, want) {
					t.Errorf("confirm %s: got %q", confirm, said)
				}
			}
		})
	}
}

// online is what is found, a line each.
func online(t *testing.T, conf string) string {
	t.Helper()
	found, err := CheckOnline(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, f := range found {
		fmt.Fprintf(&lines, "%s %s: %s\n", f.Level, f.Subject, f)
	}
	return lines.String()
}
