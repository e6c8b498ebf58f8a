package doctor

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
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
		assert.Contains(t, said, want)
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
		"ok unasked: is reachable (tcp://" + unasked + ")\n",
	} {
		assert.Contains(t, said, want)
	}
}

func TestTheOnlineCheckRefusesWhatIsNoPrinter(t *testing.T) {
	mail := answering(t, func(c net.Conn) {
		io.WriteString(c, "\x1b]0;owned\x07\x1b[2Jquite\x9bharmless\u202e\n")
		io.Copy(io.Discard, c)
	})
	for _, confirm := range []string{"auto", "none"} {
		conf := filepath.Join(t.TempDir(), "t.yaml")
		writeFile(t, conf, fmt.Sprintf(`
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
fonts: [ none.ttf ]
printers: [ { name: grill, address: "tcp://%s", confirm: %s } ]
fallback: grill
`, venueID, mail, confirm))
		const want = "fail grill: not a printer (a program that sends text (]0;owned[2Jquiteharmless) answers there"
		assert.Contains(t, online(t, conf), want)
	}
}

// online are the findings, a line each.
func online(t *testing.T, conf string) string {
	t.Helper()
	found, err := CheckOnline(t.Context(), conf)
	assert.NoError(t, err)
	var lines strings.Builder
	for _, f := range found {
		fmt.Fprintf(&lines, "%s %s: %s\n", f.Level, f.Subject, f)
	}
	return lines.String()
}
