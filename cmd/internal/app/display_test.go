package app

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

func (k *testDaemon) wantOutcomes(station string, want map[ticket.State]uint64) {
	k.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, k.outcomes(station)); diff != "" {
		k.t.Errorf("%s: %s", station, diff)
	}
}

func TestATicketIsShownOnceAPageReportsIt(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		k.accept("A1", at("hot-line", "Burger"), at("grill", "Steak"))
		k.accept("A2", at("hot-line", "Soup"))
		p.want("A1 A2")
		k.wantOutcomes("hot-line", map[ticket.State]uint64{ticket.Shown: 2})
		k.advance(time.Minute)
		k.wantPrinted("grill", "A1")
		if l := k.status("hot-line"); l.Kind != admin.KindScreen || l.Pages != 1 || !l.Device.Fine ||
			l.Address != "http://127.0.0.1:80/screen/hot-line" {
			t.Errorf("%+v", l)
		}
	}, "grill")
}

func TestAPageThatOpensEndsTheWaitOfItsQueue(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		k.accept("A1", at("hot-line", "Burger"))
		k.advance(3 * time.Second)
		p := k.openPage("hot-line")
		defer p.close()
		p.want("A1") // and not after a pause
		k.wantOutcomes("hot-line", map[ticket.State]uint64{ticket.Shown: 1})
		k.wantPrinted("grill", "")
	}, "grill")
}

func TestWhileNoPageIsOpenTicketsPrintAtTheBackupInOrder(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		k.accept("A1", at("hot-line", "Burger"))
		k.accept("A2", at("hot-line", "Soup"))
		k.advance(15 * time.Second)
		k.wantPrinted("grill", "")
		k.advance(15 * time.Second)
		k.accept("A3", at("hot-line", "Fish"))
		k.advance(time.Second)
		k.wantPrinted("grill", "A1@HOT LINE A2@HOT LINE A3@HOT LINE")
		l := k.status("hot-line")
		if l.Device.State != admin.ScreenUnset || l.ActiveBackup != "grill" {
			t.Errorf("%+v, %+v", l, l.Device)
		}
		p := k.openPage("hot-line")
		defer p.close()
		p.want("") // tickets on paper are not shown too
		k.accept("A4", at("hot-line", "Pie"))
		p.want("A4")
		if l := k.status("hot-line"); l.ActiveBackup != "" || !l.Device.Fine {
			t.Errorf("%+v, %+v", l, l.Device)
		}
	}, "grill")
}

func TestTheTicketsOfAScreenThatDiedPrintMarked(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		k.accept("A1", at("hot-line", "Burger"))
		k.accept("A2", at("hot-line", "Soup"))
		k.accept("A3", at("hot-line", "Fish"))
		p.want("A1 A2 A3")
		p.press(board.Bump, "A2")
		p.close()
		k.advance(10 * time.Second)
		k.accept("A4", at("hot-line", "Pie"))
		k.wantPrinted("grill", "")
		k.advance(30 * time.Second)
		k.wantPrinted("grill", "A1w@HOT LINE A3w@HOT LINE A4@HOT LINE")
		if l := k.status("hot-line"); l.Device.State != admin.ScreenDark {
			t.Errorf("%+v", l.Device)
		}
	}, "grill")
}

func TestAScreenThatGoesDarkRepeatedlyPrintsEachTicketOnce(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		k.accept("A1", at("hot-line", "Burger"))
		k.accept("A2", at("hot-line", "Soup"))
		p.want("A1 A2")
		p.press(board.ItemDone, "A1")

		if err := k.printers["grill"].Refuse(true); err != nil {
			t.Fatal(err)
		}
		p.close()
		k.advance(time.Minute)
		k.wantOutcomes("grill", map[ticket.State]uint64{})
		k.restart() // while the screen is dark
		k.advance(time.Minute)
		p = k.openPage("hot-line")
		k.advance(10 * time.Second)
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Cancelled: 2})
		if err := k.printers["grill"].Refuse(false); err != nil {
			t.Fatal(err)
		}
		k.advance(time.Minute)
		k.wantPrinted("grill", "")

		for range 3 {
			p.close()
			k.advance(time.Minute)
			k.wantPrinted("grill", "A1w@HOT LINE A2w@HOT LINE")
			p = k.openPage("hot-line")
			p.want("A1- A2")
			for _, c := range p.orders {
				if c.Tickets[0].Paper != "grill" {
					t.Errorf("card %+v", c)
				}
			}
			k.restart()
		}
		if text := k.printers["grill"].Tickets()[0].Text; strings.Count(text, "done on the screen") != 1 {
			t.Errorf("the items that a cook marked done are not on the paper: %s", text)
		}
		k.wantOutcomes("hot-line", map[ticket.State]uint64{ticket.Shown: 2})
		k.checkBooks()
	}, "grill")
}

func TestTheBackupOfABackupRescuesAScreenToo(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		withScreens(testScreen("hot-line"))(k)
		k.printer("grill").Backup = "bar"
	}, func(k *testDaemon) {
		p := k.openPage("hot-line")
		k.accept("A1", at("hot-line", "Burger"))
		p.want("A1")
		if err := k.printers["grill"].Refuse(true); err != nil {
			t.Fatal(err)
		}
		p.close()
		k.accept("A2", at("hot-line", "Soup"))
		k.advance(5 * time.Minute)
		k.wantPrinted("grill", "")
		k.wantPrinted("bar", "A1w@HOT LINE A2!@HOT LINE") // begun before the screen counted as dark
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Sent: 1})
	}, "grill", "bar")
}

func TestAScreenCanBeTheBackupOfAPrinter(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		s := testScreen("hot-line")
		s.Backup = "bar"
		withScreens(s)(k)
		k.printer("grill").Backup = "hot-line"
	}, func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		if err := k.printers["grill"].Refuse(true); err != nil {
			t.Fatal(err)
		}
		k.accept("A1", at("grill", "Steak"))
		k.accept("A2", at("hot-line", "Burger"))
		k.advance(5 * time.Minute)
		p.want("A2 A1@grill")
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Shown: 1})
	}, "grill", "bar")
}

func TestACookCanPrintACard(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		k.accept("A1", at("hot-line", "Burger"))
		p.want("A1")
		var job uint64
		for _, o := range p.orders {
			job = o.Tickets[0].Job
		}
		p.post("print", map[string]any{"job": job}, nil)
		k.advance(time.Minute)
		k.wantPrinted("grill", "A1r")
		p.want("A1")
	}, "grill")
}

// keyPair writes a certificate and its key to files.
func keyPair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	pair := srv.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for name, b := range map[string]pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(&b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestTheFirstScreenOpensTheDisplayWithoutARestart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	a, rewrite := startOnFile(t, grillOnly+"display: { listen: \"\" }\n")
	if a.DisplayAddr() != nil {
		t.Error("there is a listener")
	}

	cert, key := keyPair(t)
	withTLS := fmt.Sprintf(", tls: { cert_file: %q, key_file: %q }", cert, key)
	rewrite("display: { listen: \"\" }\n",
		fmt.Sprintf("screens: [ { name: hot-line } ]\ndisplay: { listen: %q%s }\n", taken.Addr(), withTLS))
	if _, err := a.Reload(); err == nil ||
		!strings.Contains(err.Error(), "display.listen: "+taken.Addr().String()+" is already used by another program") {
		t.Errorf("a port that is in use gave %v", err)
	}
	if lines := a.stations.List(); len(lines) != 1 || a.DisplayAddr() != nil {
		t.Errorf("a refused reload left %+v", lines)
	}

	rewrite(taken.Addr().String(), "127.0.0.1:0")
	rewrite(withTLS, "") // nothing of the refused configuration may be left
	done, err := a.Reload()
	if err != nil || len(done.Restart) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	for path, want := range map[string]int{"/screen/hot-line": http.StatusOK, "/screen/cold": http.StatusNotFound} {
		resp, err := http.Get("http://" + a.DisplayAddr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s got %s", path, resp.Status)
		}
	}

	// Another address needs a restart.
	rewrite("display: { listen: \"127.0.0.1:0\" }", "display: { listen: \"127.0.0.1:9322\" }")
	if done, err := a.Reload(); err != nil || !slices.Equal(done.Restart, []string{"display.listen"}) {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestWithoutScreensThePageForManagersNeedsItsPortAndTheKitchenDoesNot(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	a, rewrite := startOnFile(t, grillOnly+fmt.Sprintf("display: { listen: %q }\n", taken.Addr()))
	if a.DisplayAddr() != nil {
		t.Error("there is a listener")
	}
	rewrite(taken.Addr().String(), "127.0.0.1:0")
	if _, err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/": `id="problems"`, "/manage/api/state": `"tickets":[]`} {
		resp, err := http.Get("http://" + a.DisplayAddr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s got %s, %v: %s", path, resp.Status, err, body)
		}
	}
}
