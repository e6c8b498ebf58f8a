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
	slow.Test(t) // it waits for answers
	ready := onSocket(t, virtual.Options{Name: "ready", Can: virtual.Everything})
	low := onSocket(t, virtual.Options{Name: "low", Can: virtual.Everything, Condition: virtual.PaperLow})
	out := onSocket(t, virtual.Options{Name: "out", Can: virtual.Everything, Condition: virtual.PaperOut})
	file := filepath.Join(t.TempDir(), "paper.bin")
	said := online(t, `
  - { name: grill, address: "tcp://%s" }
  - { name: again, address: "tcp://%[1]s" }
  - { name: low, address: "tcp://%[2]s" }
  - { name: out, address: "tcp://%[3]s" }
  - { name: gone, address: "tcp://127.0.0.1:1" }
  - { name: file, address: "file://%[4]s" }
`, ready, low, out, file)
	for _, want := range []string{
		"ok grill: answers: ready; best proof confirmed (tcp://" + ready + ")\n",
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
	said := online(t, `
  - { name: grill, address: "tcp://%s" }
  - { name: unasked, address: "tcp://%s", confirm: none, mac: "00:26:ab:12:34:56" }
`, mute, unasked)
	for _, want := range []string{
		"ok grill: is reachable, and answers nothing: tickets are only sent (tcp://" + mute + ")\n",
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
		const want = "fail grill: not a printer (a program that sends text (]0;owned[2Jquiteharmless) answers there"
		assert.Contains(t, online(t, `[ { name: grill, address: "tcp://%s", confirm: %s } ]`, mail, confirm), want)
	}
}

// online are the findings about these printers, of which grill is the fallback, a line each.
func online(t *testing.T, printers string, of ...any) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "t.yaml")
	writeFile(t, conf, fmt.Sprintf("venues: [ { id: "+venueID+", name: Harbour Grill, timezone: UTC } ]\n"+
		"fonts: [ none.ttf ]\nfallback: grill\nprinters: "+printers, of...))
	found, err := CheckOnline(t.Context(), conf)
	assert.NoError(t, err)
	var lines strings.Builder
	for _, f := range found {
		fmt.Fprintf(&lines, "%s %s: %s\n", f.Level, f.Subject, f)
	}
	return lines.String()
}
