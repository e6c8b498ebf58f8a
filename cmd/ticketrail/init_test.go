package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ticketrail/cmd/internal/doctor"
)

func TestInitWithAllFlagsAsksNothingAndTheFirstOrderPrints(t *testing.T) {
	k := newDaemon(t, "", "unused")
	paper, address := virtualPrinter(t)
	second, address2 := virtualPrinter(t)
	t.Setenv("TICKETRAIL_RECEIVER_LISTEN", "127.0.0.1:0") // others may have the usual ports
	t.Setenv("TICKETRAIL_METRICS_LISTEN", "127.0.0.1:0")
	code, out, errs := runInit(t, k.dir, "", "--venue", `Zoë's "Grill"`, "--venue-id", venueID,
		"--timezone", "Europe/Paris", "--printer", "grill="+address, "--printer", "bar="+address2,
		"--reach", "proxy", "--host", "kitchen.example.com")
	if code != 0 || errs != "" {
		t.Fatalf("ends with %d\n%s%s", code, out, errs)
	}
	if err := eventually(func() error { // the cut comes after the answer that proves the ticket
		if n, m := paper.TicketCount(), second.TicketCount(); n != 1 || m != 1 {
			return fmt.Errorf("%d and %d test tickets, want one for each station", n, m)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	said := regexp.MustCompile(`https://kitchen\.example\.com/webhooks/print(/[\w-]{32})\n`).FindStringSubmatch(out)
	if said == nil {
		t.Fatalf("no address for the service in\n%s", out)
	}
	for name, mode := range map[string]os.FileMode{"kitchen.yaml": 0o600, "secrets/webhook": 0o600, "secrets": 0o700} {
		if i, err := os.Stat(filepath.Join(k.dir, name)); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, i, err)
		}
	}
	k.conf = filepath.Join(k.dir, "kitchen.yaml")
	code, out, errs = runCommand(t, "check", "--config", k.conf)
	if code != exitOK || strings.Contains(errs, "warning") {
		t.Errorf("check ends with %d\n%s%s", code, out, errs)
	}
	k.start()
	k.url += said[1]
	k.accept(newOrder("1", "grill"))
	if err := eventually(func() error {
		if n := paper.TicketCount(); n != 2 {
			return fmt.Errorf("%d tickets", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestInitAsksAgainForAWrongAnswerAndReadsLines(t *testing.T) {
	dir := t.TempDir()
	_, address := virtualPrinter(t)
	code, out, errs := runInit(t, dir, "Harbour Grill\nnot-a-uuid\nnew\n\nMars/Base\nEurope/Paris\nftp\nproxy\n"+
		"https://x/\n-\n", "--printer", "grill="+address, "--no-test")
	if code != 0 {
		t.Fatalf("ends with %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{"not-a-uuid", "Mars/Base", `"ftp" is not proxy`, `"https://x/" is no host name`} {
		if !strings.Contains(errs, want) {
			t.Errorf("no word of %s in\n%s", want, errs)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "kitchen.yaml"))
	if err != nil || !strings.Contains(string(b), `name: "Harbour Grill"`) ||
		!strings.Contains(string(b), "Europe/Paris") {
		t.Errorf("%v\n%s", err, b)
	}
}

func TestInitLeavesNothingBehindWhenItFails(t *testing.T) {
	all := []string{
		"--venue", "Grill", "--venue-id", "new", "--timezone", "Europe/Paris", "--printer", "grill=tcp://127.0.0.1:1",
		"--host", "-",
	}
	for _, c := range []struct {
		answers string
		args    []string
		want    string
	}{
		{"", all, "no answer; answer it, or give --reach"},
		{"ftp\nftp\nftp\nftp\nproxy\n", all, "no valid answer; give --reach"},
		{"", append(all, "--reach", "tls", "--cert", "gone.pem", "--key", "gone.key"), "gone.pem"},
		{"", append(all, "--reach", "proxy", "--printer", "bar"), "is not NAME=ADDRESS"},
		{"", append(all, "--reach", "proxy", "--printer", "bar=ftp://x"), `unknown scheme "ftp"`},
		{"", append(all, "--reach", "proxy", "--printer", "grill=usb://"), "--printer grill=usb://: "},
	} {
		dir := filepath.Join(t.TempDir(), "etc")
		code, out, errs := runInit(t, dir, c.answers, c.args...)
		if code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("%q: ends with %d\n%s%s", c.args, code, out, errs)
		}
		if left, err := os.ReadDir(dir); err == nil {
			t.Errorf("%q: left %v", c.args, left)
		}
	}
	// What fails after the first file was written. The secret of somebody else stays.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "secrets", "webhook")
	writeFiles(t, map[string]string{mine: "mine"})
	code, _, errs := runInit(t, dir, "", append(all, "--reach", "proxy")...)
	if b, err := os.ReadFile(mine); code == 0 || err != nil || string(b) != "mine" ||
		!strings.Contains(errs, "secrets/webhook exists already") {
		t.Errorf("ends with %d, %q\n%s", code, b, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "kitchen.yaml")); err == nil {
		t.Error("a configuration without its secret was left")
	}
	// A configuration is never replaced, and nothing is asked for it.
	conf := filepath.Join(dir, "kitchen.yaml")
	writeFiles(t, map[string]string{conf: "mine"})
	code, out, errs := runInit(t, dir, "")
	if b, err := os.ReadFile(conf); code != 2 || out != "" || err != nil || string(b) != "mine" ||
		!strings.Contains(errs, "exists already") {
		t.Errorf("ends with %d, %q\n%s", code, b, errs)
	}
}

func TestInitCanLeaveTheCertificateToAnACMEServer(t *testing.T) {
	dir := t.TempDir()
	_, address := virtualPrinter(t)
	code, out, errs := runInit(t, dir, "Grill\nnew\nEurope/Paris\nacme\n-\nKitchen.example.com\nkitchen.example.com\n",
		"--printer", "grill="+address, "--no-test")
	if code != 0 || !strings.Contains(errs, "needs the host name") || !strings.Contains(errs, "small letters") ||
		!strings.Contains(out, "https://kitchen.example.com/webhooks/print/") ||
		!strings.Contains(out, "port 443 must lead to port 8443 of this box") {
		t.Fatalf("ends with %d\n%s%s", code, out, errs)
	}
	c, err := doctor.Load(filepath.Join(dir, "kitchen.yaml"))
	if err != nil || c.Receiver.TLS.ACME.Name != "kitchen.example.com" || c.Receiver.Listen != "0.0.0.0:8443" {
		t.Errorf("%v: %+v", err, c)
	}
}

func TestAPrinterThatIsOffKeepsTheConfigurationThatInitWrote(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := runInit(t, dir, "", "--venue", "Grill", "--venue-id", "new", "--timezone", "Europe/Paris",
		"--printer", "grill=tcp://127.0.0.1:1", "--reach", "proxy", "--host", "-")
	if code != 1 || !strings.Contains(errs, "no test ticket at grill: connect tcp 127.0.0.1:1") ||
		!strings.Contains(out, "https://HOST/webhooks/print/") {
		t.Errorf("ends with %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "kitchen.yaml")); err != nil {
		t.Error(err)
	}
}

// runInit runs init, which writes kitchen.yaml into a folder.
func runInit(t *testing.T, dir, answers string, args ...string) (code int, out, errs string) {
	t.Helper()
	args = append([]string{"init", "--config", filepath.Join(dir, "kitchen.yaml")}, args...)
	return answerCommand(t, answers, args...)
}
