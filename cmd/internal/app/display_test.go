package app

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/deploy/assert"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

func TestATicketIsShownOnceAPageReportsItAndACookCanPrintIt(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		k.Accept("A1", at("hot-line", "Burger"))
		k.Advance(3 * time.Second)
		p := k.openPage("hot-line")
		defer p.close()
		p.want("A1") // and not after a pause
		k.Accept("A2", at("hot-line", "Soup"), at("grill", "Steak"))
		p.want("A1 A2")
		k.wantOutcomes("hot-line", map[ticket.State]uint64{ticket.Shown: 2})
		l := k.status("hot-line")
		assert.True(t, l.Kind == finding.KindScreen && l.Pages == 1 && l.Device.Fine &&
			l.Address == "http://127.0.0.1:80/screen/hot-line", l)

		p.post("print", map[string]any{"job": 1}, nil)
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A2 A1r")
		p.want("A1 A2")
	}, "grill")
}

func TestAReloadOpensTheDisplayIfItCan(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	defer taken.Close()
	d := startOnFile(t, grillOnly+fmt.Sprintf("display: { listen: %q }\n", taken.Addr()))
	get := func(path string, status int, part string) {
		t.Helper()
		got, body := d.get("http://" + d.DisplayAddr().String() + path)
		assert.True(t, got == status && strings.Contains(body, part), path, got, body)
	}
	reload := func() {
		t.Helper()
		if done, err := d.Reload(); err != nil || len(done.Restart) > 0 {
			t.Fatalf("%+v, %v", done, err)
		}
	}

	// The kitchen does without the page for managers, but not without a screen. Nothing of a refused file is left.
	assert.True(t, d.DisplayAddr() == nil, "there is a listener")
	cert, key := keyPair(t, time.Now().AddDate(1, 0, 0))
	screen := "screens: [ { name: hot-line } ]\n"
	withTLS := fmt.Sprintf("listen: %q, tls: { cert_file: %q, key_file: %q }", taken.Addr(), cert, key)
	d.rewrite("fallback: grill\n", "fallback: grill\n"+screen)
	d.rewrite(fmt.Sprintf("listen: %q", taken.Addr()), withTLS)
	_, err = d.Reload()
	inUse := "the port of display.listen is taken (" + taken.Addr().String() + ")"
	assert.True(t, err != nil && strings.Contains(err.Error(), inUse), err)
	lines := d.stations.List()
	assert.True(t, len(lines) == 1 && d.DisplayAddr() == nil, "a refused reload left", lines)

	d.rewrite(withTLS, `listen: "127.0.0.1:0"`)
	d.rewrite(screen, "")
	reload()
	get("/", http.StatusOK, `id="problems"`)
	get("/manage/api/state", http.StatusOK, `"tickets":[]`)
	get("/screen/hot-line", http.StatusNotFound, "")
	d.rewrite("fallback: grill\n", "fallback: grill\n"+screen)
	reload()
	get("/screen/hot-line", http.StatusOK, "")

	d.rewrite(`display: { listen: "127.0.0.1:0"`, `display: { listen: "127.0.0.1:9322"`)
	done, err := d.Reload()
	assert.True(t, err == nil && slices.Equal(done.Restart, []string{"display.listen"}), "another address", done, err)
}

func TestAScreenThatGoesDarkRepeatedlyPrintsEachTicketOnce(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		k.Accept("A1", at("hot-line", "Burger"))
		k.Accept("A2", at("hot-line", "Soup"))
		p.want("A1 A2")
		p.press(board.ItemDone, "A1")
		wantUnseen := func(want int) {
			k.T.Helper()
			s := k.App.stations.Displays().Screens().Screens[0]
			assert.True(k.T, s.Open == 2 && s.Unseen == want, s.Open, s.Unseen, want)
		}
		wantUnseen(0)

		k.must(k.Printers["grill"].Refuse(true))
		p.close()
		k.Advance(time.Minute)
		k.wantOutcomes("grill", map[ticket.State]uint64{})
		k.Restart() // while the screen is dark
		k.Advance(time.Minute)
		k.must(k.Printers["grill"].Refuse(false))
		k.Advance(time.Minute)
		p = k.openPage("hot-line")

		for range 3 {
			p.close()
			k.Advance(time.Minute)
			assert.Equal(k.T, len(k.Printers["grill"].Tickets()), 1)
			p = k.openPage("hot-line")
			p.want("A1- A2")
			wantUnseen(2) // this page never says which cards are visible
			k.Restart()
		}
		text := k.Printers["grill"].Tickets()[0].Text
		assert.Equal(t, strings.Count(text, "done on the screen"), 1,
			"the items that a cook marked done are not on the paper", text)
		k.wantOutcomes("hot-line", map[ticket.State]uint64{ticket.Shown: 2})
	}, "grill")
}

// keyPair writes a certificate and its key to files.
func keyPair(t *testing.T, ends time.Time) (certFile, keyFile string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	assert.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
	cert, err := x509.CreateCertificate(nil, c, c, private.Public(), private)
	assert.NoError(t, err)
	key, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NoError(t, err)
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for name, b := range map[string]pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: key},
	} {
		assert.NoError(t, os.WriteFile(name, pem.EncodeToMemory(&b), 0o600))
	}
	return certFile, keyFile
}
