package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/printer/virtual"
)

// runInit runs init in a folder of its own, where it writes kitchen.yaml.
func runInit(t *testing.T, dir, answers string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	c := &cli{in: strings.NewReader(answers), out: &o, err: &e}
	code = c.run(t.Context(), append([]string{"init", "--config", filepath.Join(dir, "kitchen.yaml")}, args...))
	return code, o.String(), e.String()
}

// virtualPrinter is the address of a printer without paper that listens until the test ends.
func virtualPrinter(t *testing.T) (*virtual.Printer, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := virtual.New(virtual.Options{Can: virtual.Everything})
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = p.Serve(ctx, l) })
	t.Cleanup(func() { cancel(); serving.Wait() })
	return p, "tcp://" + l.Addr().String()
}

func TestInitWithAllFlagsAsksNothingAndTheFirstOrderPrints(t *testing.T) {
	dir, err := os.MkdirTemp("", "tr") // short: a unix socket's path has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	paper, address := virtualPrinter(t)
	second, address2 := virtualPrinter(t)
	listen := freeAddr(t)
	t.Setenv("TICKETRAIL_RECEIVER_LISTEN", listen) // other tests have the usual ports
	t.Setenv("TICKETRAIL_METRICS_LISTEN", "127.0.0.1:0")
	code, out, errs := runInit(t, dir, "", "--venue", `Zoë's "Grill"`, "--venue-id", venueID,
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
	said := regexp.MustCompile(`https://kitchen\.example\.com(/webhooks/print/[\w-]{32})\n`).FindStringSubmatch(out)
	if said == nil {
		t.Fatalf("no address for the service in\n%s", out)
	}
	for name, mode := range map[string]os.FileMode{"kitchen.yaml": 0o600, "secrets/webhook": 0o600, "secrets": 0o700} {
		if i, err := os.Stat(filepath.Join(dir, name)); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, i, err)
		}
	}
	conf := filepath.Join(dir, "kitchen.yaml")
	check := exec.Command("ticketrail", "check", "--config", conf)
	if text, err := check.CombinedOutput(); err != nil || strings.Contains(string(text), "warning") {
		t.Errorf("check: %v\n%s", err, text)
	}
	serve := exec.Command("ticketrail", "serve", "--config", conf)
	serve.Stderr = t.Output()
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Signal(os.Interrupt); _ = serve.Wait() })
	err = eventually(func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listen+said[1], strings.NewReader(
			`{"records":[{"id":"b1f6e9d2-3c4a-4f7e-9a51-0d2c8e7f1a18","items":[{"name":"Burger"}]}]}`))
		if err != nil {
			return err
		}
		r.Header.Set("x-svc-venueid", venueID)
		r.Header.Set("x-svc-device-id", "test")
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		if b, _ := io.ReadAll(a.Body); a.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", a.Status, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = eventually(func() error {
		if n := paper.TicketCount(); n != 2 {
			return fmt.Errorf("%d tickets", n)
		}
		return nil
	})
	if err != nil {
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
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(conf, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
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
