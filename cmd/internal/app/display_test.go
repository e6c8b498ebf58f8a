package app_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

func TestATicketIsShownOnceAPageReportsIt(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		k.Accept("A1", at("hot-line", "Burger"), at("grill", "Steak"))
		k.Accept("A2", at("hot-line", "Soup"))
		p.want("A1 A2")
		k.wantOutcomes("hot-line", map[ticket.State]uint64{ticket.Shown: 2})
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1")
		if l := k.status("hot-line"); l.Kind != admin.KindScreen || l.Pages != 1 || !l.Device.Fine ||
			l.Address != "http://127.0.0.1:80/screen/hot-line" {
			t.Errorf("%+v", l)
		}
	}, "grill")
}

func TestAPageThatOpensEndsTheWaitOfItsQueue(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		k.Accept("A1", at("hot-line", "Burger"))
		k.Advance(3 * time.Second)
		p := k.openPage("hot-line")
		defer p.close()
		p.want("A1") // and not after a pause
		k.wantOutcomes("hot-line", map[ticket.State]uint64{ticket.Shown: 1})
		k.WantPrinted("grill", "")
	}, "grill")
}

func TestWhileNoPageIsOpenTicketsPrintAtTheBackupInOrder(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		k.Accept("A1", at("hot-line", "Burger"))
		k.Accept("A2", at("hot-line", "Soup"))
		k.Advance(15 * time.Second)
		k.WantPrinted("grill", "")
		k.Advance(15 * time.Second)
		k.Accept("A3", at("hot-line", "Fish"))
		k.Advance(time.Second)
		k.WantPrinted("grill", "A1@HOT LINE A2@HOT LINE A3@HOT LINE")
		l := k.status("hot-line")
		if l.Device.State != admin.ScreenUnset || l.ActiveBackup != "grill" {
			t.Errorf("%+v, %+v", l, l.Device)
		}
		p := k.openPage("hot-line")
		defer p.close()
		p.want("") // tickets on paper are not shown too
		k.Accept("A4", at("hot-line", "Pie"))
		p.want("A4")
		if l := k.status("hot-line"); l.ActiveBackup != "" || !l.Device.Fine {
			t.Errorf("%+v, %+v", l, l.Device)
		}
	}, "grill")
}

func TestTheTicketsOfAScreenThatDiedPrintMarked(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		k.Accept("A1", at("hot-line", "Burger"))
		k.Accept("A2", at("hot-line", "Soup"))
		k.Accept("A3", at("hot-line", "Fish"))
		p.want("A1 A2 A3")
		p.press(board.Bump, "A2")
		p.close()
		k.Advance(10 * time.Second)
		k.Accept("A4", at("hot-line", "Pie"))
		k.WantPrinted("grill", "")
		k.Advance(30 * time.Second)
		k.WantPrinted("grill", "A1w@HOT LINE A3w@HOT LINE A4@HOT LINE")
		if l := k.status("hot-line"); l.Device.State != admin.ScreenDark {
			t.Errorf("%+v", l.Device)
		}
	}, "grill")
}

func TestAScreenThatGoesDarkRepeatedlyPrintsEachTicketOnce(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		k.Accept("A1", at("hot-line", "Burger"))
		k.Accept("A2", at("hot-line", "Soup"))
		p.want("A1 A2")
		p.press(board.ItemDone, "A1")

		if err := k.Printers["grill"].Refuse(true); err != nil {
			t.Fatal(err)
		}
		p.close()
		k.Advance(time.Minute)
		k.wantOutcomes("grill", map[ticket.State]uint64{})
		k.Restart() // while the screen is dark
		k.Advance(time.Minute)
		p = k.openPage("hot-line")
		k.Advance(10 * time.Second)
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Cancelled: 2})
		if err := k.Printers["grill"].Refuse(false); err != nil {
			t.Fatal(err)
		}
		k.Advance(time.Minute)
		k.WantPrinted("grill", "")

		for range 3 {
			p.close()
			k.Advance(time.Minute)
			k.WantPrinted("grill", "A1w@HOT LINE A2w@HOT LINE")
			p = k.openPage("hot-line")
			p.want("A1- A2")
			for _, c := range p.orders {
				if c.Tickets[0].Paper != "grill" {
					t.Errorf("card %+v", c)
				}
			}
			k.Restart()
		}
		if text := k.Printers["grill"].Tickets()[0].Text; strings.Count(text, "done on the screen") != 1 {
			t.Errorf("the items that a cook marked done are not on the paper: %s", text)
		}
		k.wantOutcomes("hot-line", map[ticket.State]uint64{ticket.Shown: 2})
		k.CheckBooks()
	}, "grill")
}

func TestTheBackupOfABackupRescuesAScreenToo(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		withScreens(testScreen("hot-line"))(k)
		k.Printer("grill").Backup = "bar"
	}, func(k *testDaemon) {
		p := k.openPage("hot-line")
		k.Accept("A1", at("hot-line", "Burger"))
		p.want("A1")
		if err := k.Printers["grill"].Refuse(true); err != nil {
			t.Fatal(err)
		}
		p.close()
		k.Accept("A2", at("hot-line", "Soup"))
		k.Advance(5 * time.Minute)
		k.WantPrinted("grill", "")
		k.WantPrinted("bar", "A1w@HOT LINE A2!@HOT LINE") // begun before the screen counted as dark
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Sent: 1})
	}, "grill", "bar")
}

func TestAScreenCanBeTheBackupOfAPrinter(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		s := testScreen("hot-line")
		s.Backup = "bar"
		withScreens(s)(k)
		k.Printer("grill").Backup = "hot-line"
	}, func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		if err := k.Printers["grill"].Refuse(true); err != nil {
			t.Fatal(err)
		}
		k.Accept("A1", at("grill", "Steak"))
		k.Accept("A2", at("hot-line", "Burger"))
		k.Advance(5 * time.Minute)
		p.want("A2 A1@grill")
		k.wantOutcomes("grill", map[ticket.State]uint64{ticket.Shown: 1})
	}, "grill", "bar")
}

func TestACookCanPrintACard(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		k.Accept("A1", at("hot-line", "Burger"))
		p.want("A1")
		var job uint64
		for _, o := range p.orders {
			job = o.Tickets[0].Job
		}
		p.post("print", map[string]any{"job": job}, nil)
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1r")
		p.want("A1")
	}, "grill")
}

func TestTheFirstScreenOpensTheDisplayWithoutARestart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	d := startOnFile(t, grillOnly+"display: { listen: \"\" }\n")
	if d.DisplayAddr() != nil {
		t.Error("there is a listener")
	}

	cert, key := keyPair(t)
	withTLS := fmt.Sprintf(", tls: { cert_file: %q, key_file: %q }", cert, key)
	d.rewrite("display: { listen: \"\" }\n",
		fmt.Sprintf("screens: [ { name: hot-line } ]\ndisplay: { listen: %q%s }\n", taken.Addr(), withTLS))
	if _, err := d.Reload(); err == nil ||
		!strings.Contains(err.Error(), "display.listen: "+taken.Addr().String()+" is already used by another program") {
		t.Errorf("a port that is in use gave %v", err)
	}
	if lines := d.Stations().List(); len(lines) != 1 || d.DisplayAddr() != nil {
		t.Errorf("a refused reload left %+v", lines)
	}

	d.rewrite(taken.Addr().String(), "127.0.0.1:0")
	d.rewrite(withTLS, "") // nothing of the refused configuration may be left
	done, err := d.Reload()
	if err != nil || len(done.Restart) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	for path, want := range map[string]int{"/screen/hot-line": http.StatusOK, "/screen/cold": http.StatusNotFound} {
		if got, _ := d.get("http://" + d.DisplayAddr().String() + path); got != want {
			t.Errorf("%s got %d", path, got)
		}
	}

	// Another address needs a restart.
	d.rewrite("display: { listen: \"127.0.0.1:0\" }", "display: { listen: \"127.0.0.1:9322\" }")
	if done, err := d.Reload(); err != nil || !slices.Equal(done.Restart, []string{"display.listen"}) {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestWithoutScreensThePageForManagersNeedsItsPortAndTheKitchenDoesNot(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	d := startOnFile(t, grillOnly+fmt.Sprintf("display: { listen: %q }\n", taken.Addr()))
	if d.DisplayAddr() != nil {
		t.Error("there is a listener")
	}
	d.rewrite(taken.Addr().String(), "127.0.0.1:0")
	if _, err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/": `id="problems"`, "/manage/api/state": `"tickets":[]`} {
		got, body := d.get("http://" + d.DisplayAddr().String() + path)
		if got != 200 || !strings.Contains(body, want) {
			t.Errorf("%s got %d: %s", path, got, body)
		}
	}
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
