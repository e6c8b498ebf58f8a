package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABundleForSupportHasNeitherSecretsNorOrderContents(t *testing.T) {
	r, err := newScriptDaemon()
	if err != nil {
		t.Fatal(err)
	}
	r.log.whole = true
	t.Cleanup(r.close)
	conf := secretsEverywhere(t, r.dir)
	if err := r.start(conf); err != nil {
		t.Fatal(err)
	}
	r.webhook = strings.TrimSuffix(r.webhook, "webhooks/print") + plantedPath + "/" + plantedPath
	const order = `{"records":[{"id":"one","number":"ORDERED1","table":"ORDERED2","employeeName":"ORDERED3",
		"customer":{"name":"ORDERED4"},"note":"ORDERED5","items":[{"name":"ORDERED6","notes":"ORDERED7"}]}]}`
	if err := r.post(order, "200"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		`{"records":["ORDERED8"]}`, `{"records":[{"id":"two","items":"ORDERED9"}]}`, `{"records":[{"id":"ORDERED`,
	} {
		_ = r.post(bad, "400") // what is accepted of them must not show either
	}
	if err := eventually(func() error {
		if all, err := r.control().Rejects(t.Context()); err != nil || len(all) == 0 {
			return fmt.Errorf("%+v are listed: %w", all, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	said, files := bundle(t, "--config", conf)
	for _, name := range []string{"versions.txt", "config.yaml", "status.txt", "doctor.txt", "log.txt"} {
		if files[name] == "" || !strings.Contains(said, name) || !strings.Contains(files["README.txt"], name) {
			t.Errorf("%s is %q; it must be in the list\n%s", name, files[name], said)
		}
	}
	if !strings.Contains(files["config.yaml"], "Harbour Grill") || !strings.Contains(files["status.txt"], "orders") {
		t.Errorf("%s\n%s\n%s", said, files["config.yaml"], files["status.txt"])
	}
	files["the log of the daemon"] = r.log.String() // which journalctl would show
	for name, text := range files {
		if at := secretPattern().FindString(text); at != "" || strings.Contains(text, "ORDERED") ||
			strings.Contains(text, "UExBTlRFRF") {
			t.Errorf("%s has a secret or an order's contents:\n%s", name, text)
		}
	}
}

func TestABundleForSupportIsWrittenWithTheDaemonDownAndABrokenFile(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "ticketrail.yaml")
	for text, want := range map[string]string{
		"notify: [ " + plantedToken:                "not YAML",
		"notify: { ot: [ " + plantedToken + " ] }": `ot: "********"`,
	} {
		writeFiles(t, map[string]string{conf: text})
		_, files := bundle(t, "--config", conf, "--socket", filepath.Join(dir, "s"))
		if !strings.Contains(files["config.yaml"], want) || !strings.Contains(files["status.txt"], "not reachable") &&
			!strings.Contains(files["status.txt"], "running") {
			t.Errorf("%s\n%s", files["config.yaml"], files["status.txt"])
		}
		for name, text := range files {
			if strings.Contains(text, plantedToken) {
				t.Errorf("%s has a secret:\n%s", name, text)
			}
		}
	}
}

func TestABundleForSupportReplacesNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"a.tar.gz": "mine"})
	err := writeBundle("a.tar.gz", nil)
	if b, _ := os.ReadFile("a.tar.gz"); err == nil || string(b) != "mine" {
		t.Errorf("%v, and the file is %q", err, b)
	}
}

// bundle runs ticketrail support in a folder of its own and returns the files of what it wrote.
func bundle(t *testing.T, args ...string) (said string, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	code, out, errs := runCommand(t, append([]string{"support"}, args...)...)
	written, err := filepath.Glob(filepath.Join(dir, "*"))
	if code != exitOK || err != nil || len(written) != 1 || !strings.HasSuffix(written[0], ".tar.gz") {
		t.Fatalf("exit code %d, %v, files %q\n%s", code, err, written, out+errs)
	}
	f, err := os.Open(written[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Mode() != 0o600 {
		t.Errorf("the bundle has mode %v, %v", st.Mode(), err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out + errs, files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(h.Name)] = string(text)
	}
}

// secretsEverywhere is a configuration with each kind of secret that there is, and a service that repeats them.
func secretsEverywhere(t *testing.T, dir string) string {
	t.Helper()
	service := httptest.NewServer(echoService(http.StatusUnauthorized))
	t.Cleanup(service.Close)
	files := map[string]string{}
	for name, text := range map[string]string{
		"webhook": plantedPath, "client": plantedSecret, "signed": "whsec_UExBTlRFRFBMQU5URURQTEFOVEVE",
		"url": "ntfy://me:" + plantedToken + "@127.0.0.1/topic", "token": plantedToken,
	} {
		files[filepath.Join(dir, name)] = text
	}
	conf := filepath.Join(dir, "ticketrail.yaml")
	files[conf] = fmt.Sprintf(`# the old secret was %[1]s
receiver: { secret_file: webhook, path: /%[1]s }
admin: { socket: SOCKET }
storage: { path: t.db }
log: { level: debug }
venues: [ { id: %[2]s, name: Harbour Grill } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
routes: [ { when: 'int(item.name) > 7', to: [grill] } ]
fallback: grill
service: { base_url: %[3]q, client_id: me, client_secret_file: client }
notify:
  to:
    - { name: one, url: "ntfy://me:%[1]s@127.0.0.1:9/%[1]s" } # %[1]s
    - { name: two, url_file: url }
    - { name: three, url: "https://127.0.0.1:9/?token=%[1]s", secret_file: signed }
`, plantedPath, venueID, service.URL)
	writeFiles(t, files)
	return conf
}
