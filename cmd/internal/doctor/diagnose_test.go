package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"ticketrail/cmd/internal/finding"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestTheDoctorFindsEachFault(t *testing.T) {
	const running = "ActiveState=active\nSubState=running\nNRestarts=0\nUnitFileState=enabled"
	for _, c := range []struct {
		name              string
		fault             func(*kitchen)
		level             finding.Level // "" for a box without a fault
		subject, text, do string
	}{
		{"none", func(*kitchen) {}, "", "", "", ""},
		{"a broken configuration", func(k *kitchen) { k.conf += "\nprinter: []\n" },
			finding.Fail, "configuration", "printer: unknown key; did you mean printers?", "correct it"},
		{"a warning", func(k *kitchen) { k.conf = strings.Replace(k.conf, ", timezone: UTC", "", 1) },
			finding.Warn, "configuration", "timezone", ""},
		{"a crash loop", func(k *kitchen) {
			k.service = "ActiveState=activating\nSubState=auto-restart\nNRestarts=17\n" +
				"Result=exit-code\nUnitFileState=enabled"
		}, finding.Fail, "service", "time after time (17 times so far: exit-code)", "journalctl -u ticketrail"},
		{"stopped", func(k *kitchen) { k.service = "ActiveState=inactive\nSubState=dead\nUnitFileState=enabled" },
			finding.Fail, "service", "it is inactive: orders are not taken", "systemctl start ticketrail"},
		{"not enabled", func(k *kitchen) { k.service = strings.Replace(running, "=enabled", "=disabled", 1) },
			finding.Warn, "service", "does not start at boot: it is disabled", "systemctl enable ticketrail"},
		{"relative paths", func(k *kitchen) { k.service += "\nProtectSystem=strict\nStateDirectory=ticketrail" },
			finding.Fail, "service", "it may not write storage.path (", "/var/lib/ticketrail"},
		{"a port that is taken", func(k *kitchen) {
			slow.Test(k.t, "ss")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			assert.NoError(k.t, err)
			k.t.Cleanup(func() { l.Close() })
			k.conf += fmt.Sprintf("\nmetrics: { listen: %q }\n", l.Addr())
		}, finding.Fail, "port", fmt.Sprintf("by doctor.test (process %d)", os.Getpid()),
			"another port"},
		{"a port that systemd keeps for the service while it starts again", func(k *kitchen) {
			k.listen = ofSystemd(k.t)
			k.service += "\nNFileDescriptorStore=1"
		}, "", "", "", ""},
		{"a port that systemd has for another service", func(k *kitchen) {
			slow.Test(k.t, "ss")
			k.listen = ofSystemd(k.t)
		}, finding.Fail, "port", "by systemd", "another port"},
		{"a database of another user", func(k *kitchen) {
			k.put("t.db", "")
			slow.Test(k.t, "root")
			assert.NoError(k.t, os.Chown(k.path("t.db"), 12345, -1))
		}, finding.Fail, "database", "t.db must belong to root", "chown -R root: "},
		{"a damaged database", func(k *kitchen) { k.damaged = true; k.put("t.db", "") },
			finding.Fail, "database", "damaged", "start the daemon"},
		{"a database in memory", func(k *kitchen) {
			slow.Test(k.t, "/dev/shm")
			k.conf = strings.Replace(k.conf, "ROOT/t.db", "/dev/shm/ticketrail-test.db", 1)
		}, finding.Fail, "disk", "a power failure loses accepted orders (/dev/shm is in memory (tmpfs))", "local disk"},
		{"a certificate that cannot be read", func(k *kitchen) {
			k.put("key.pem", "")
			k.put("cert.pem", "none")
			k.conf += "\nreceiver: { tls: { cert_file: ROOT/cert.pem, key_file: ROOT/key.pem } }\n"
		}, finding.Fail, "", "cert", ""},
		{"a missing driver", func(k *kitchen) {
			k.conf = strings.Replace(k.conf, "fallback", "  - { name: bar, address: \"usb://\" }\nfallback", 1)
		}, finding.Warn, "driver", "the kernel driver usblp of bar is not loaded", "modprobe usblp"},
		{"a printer that is off", func(k *kitchen) {
			k.conf = strings.Replace(k.conf, "fallback",
				"  - { name: bar, address: \"tcp://127.0.0.1:1\" }\nfallback", 1)
		}, finding.Fail, "bar", "connection refused", "is the printer on"},
		{"another box at the webhook's address", func(k *kitchen) {
			k.externalURL(`{"status":"ERROR","error":{"code":"not_found","message":"not found"}}`, 404)
		}, finding.Fail, "webhook", "leads to ticketrail, but not to the webhook", "pass the path on"},
		{"a web site at the webhook's address", func(k *kitchen) { k.externalURL("<h1>Harbour Grill</h1>", 200) },
			finding.Fail, "webhook", "is answered by something else (http://", "must lead it to receiver.listen"},
		{"a webhook's address that moved", func(k *kitchen) { k.externalURL("", 301) },
			finding.Fail, "webhook", ": HTTP 301)", ""},
		{"a router that does not lead its address inside", func(k *kitchen) {
			k.conf += "\nreceiver: { external_url: \"https://127.0.0.1:1\" }\n"
		}, finding.Warn, "webhook", "its address does not answer (https://127.0.0.1:1: ", "on a phone without Wi-Fi"},
		{"the webhook itself", func(k *kitchen) {
			k.externalURL(`{"status":"ERROR","error":{"code":"method_not_allowed","message":"use POST"}}`, 405)
		}, "", "", "", ""},
		{"a service that cannot be reached", func(k *kitchen) {
			slow.Test(k.t) // it is asked again after a second
			k.put("client", "s3cr3t-of-the-integrator")
			k.conf += "\nservice: { base_url: \"http://127.0.0.1:1\", client_id: c, " +
				"client_secret_file: ROOT/client, timeout: 1s }\n"
		}, finding.Fail, "venue Harbour Grill", "127.0.0.1:1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &kitchen{t: t, root: t.TempDir(), service: running}
			k.conf = fmt.Sprintf(`
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
fonts: [ ROOT/fonts ]
storage: { path: ROOT/t.db }
admin: { socket: ROOT/t.sock }
printers:
  - { name: grill, address: "file://ROOT/paper.bin" }
fallback: grill
`, venueID)
			c.fault(k)
			found := k.diagnose()
			var bad []string
			for _, f := range found {
				// The clock belongs to the machine that runs the test, and the folder of fonts is empty.
				if f.Level == finding.OK || f.Subject == "clock" || strings.HasPrefix(f.Text, "fonts: ") {
					continue
				}
				bad = append(bad, fmt.Sprintf("%s %s: %s", f.Level, f.Subject, f))
				assert.True(t, f.ID != "" && utf8.RuneCountInString(f.Text) <= finding.MaxCause,
					"no identity, or a long cause", f)
				if f.Level == c.level && (c.subject == "" || f.Subject == c.subject) &&
					strings.Contains(f.String(), c.text) && strings.Contains(f.Do, c.do) {
					return
				}
			}
			assert.True(t, c.level == "" && len(bad) == 0, "found only", strings.Join(bad, "\n"))
		})
	}
}

// ofSystemd is an address at which a program listens that calls itself systemd.
func ofSystemd(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	const comm = "/proc/self/comm"
	was, err := os.ReadFile(comm)
	assert.NoError(t, errors.Join(err, os.WriteFile(comm, []byte("systemd"), 0)))
	t.Cleanup(func() { _ = errors.Join(os.WriteFile(comm, was, 0), l.Close()) })
	return l.Addr().String()
}

// A kitchen is a box without faults, into which a test puts one.
type kitchen struct {
	t       *testing.T
	root    string // of the system's files
	service string // the answer of systemctl about the service
	conf    string // the configuration, with %s for its folder
	listen  string // of the webhook; "" for a port that is free
	damaged bool
}

// path is a file below the box.
func (k *kitchen) path(name string) string { return filepath.Join(k.root, name) }

func (k *kitchen) put(name, text string) {
	k.t.Helper()
	assert.NoError(k.t, os.MkdirAll(filepath.Dir(k.path(name)), 0o755))
	writeFile(k.t, k.path(name), text)
}

// externalURL is a server at the address that the service has for the webhook.
func (k *kitchen) externalURL(body string, status int) {
	k.t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.True(k.t, r.Method == http.MethodGet && r.URL.Path == "/webhooks/print/abcdefghijklmnopqrstu1",
			"asked with", r.Method, r.URL)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	k.t.Cleanup(s.Close)
	k.put("secret", "abcdefghijklmnopqrstu1\n")
	k.conf += fmt.Sprintf("\nreceiver: { insecure: true, external_url: %q, secret_file: ROOT/secret }\n", s.URL)
}

// diagnose writes the box to the disk and looks at it.
func (k *kitchen) diagnose() []finding.Finding {
	k.t.Helper()
	// Another process of this machine may have the default ports.
	k.put("t.yaml", strings.ReplaceAll(k.conf, "ROOT", k.root)+"\ndisplay: { listen: \"127.0.0.1:0\" }\n")
	k.t.Setenv("TICKETRAIL_RECEIVER_LISTEN", cmp.Or(k.listen, "127.0.0.1:0"))
	if !strings.Contains(k.conf, "\nmetrics:") {
		k.t.Setenv("TICKETRAIL_METRICS_LISTEN", "127.0.0.1:0")
	}
	assert.NoError(k.t, errors.Join(os.MkdirAll(k.path("bin"), 0o755), os.MkdirAll(k.path("fonts"), 0o755)))
	self, err := os.Executable()
	assert.NoError(k.t, err)
	assert.NoError(k.t, os.Symlink(self, k.path("bin/systemctl")))
	if ss, err := exec.LookPath("ss"); err == nil { // without it no program is named
		assert.NoError(k.t, os.Symlink(ss, k.path("bin/ss")))
	}
	k.t.Setenv("PATH", k.path("bin"))
	k.t.Setenv(systemctlSays, fmt.Sprintf("LoadState=loaded\nUser=root\nExecStart={ argv[]=x %s }\n%s",
		k.path("t.yaml"), k.service))
	return Box{Root: k.root, CheckStore: func(context.Context, string) error {
		if k.damaged {
			return fmt.Errorf("check it: %w", ErrDamaged)
		}
		return errors.New("could not be checked")
	}}.Diagnose(k.t.Context(), k.path("t.yaml"))
}
