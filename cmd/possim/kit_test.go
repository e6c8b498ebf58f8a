package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const secondVenue = "0b7e6a52-9d0c-4f5e-8a3b-5f3f6a1e2d22"

// An integration is an endpoint under test: a process, the printer that it prints to, and a script
// that kills it and starts it again.
type integration struct {
	dir, url, printer, restart string
}

// integrate starts an integration and waits until it answers. The host is an address of this machine
// that nobody else uses, so that ports can be fixed before anything listens.
func integrate(t *testing.T, start func(dir, host string) (command, webhook string)) *integration {
	t.Helper()
	// Short, because a unix socket's path has 107 bytes. In memory, because what is killed is a process
	// and not the machine, and dozens that wait for one disk answer too late.
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // after those of start, which read it
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	command, webhook := start(dir, host)
	i := &integration{dir: dir, url: webhook, printer: host + ":9100", restart: filepath.Join(dir, "restart.sh")}
	script := fmt.Sprintf("cd %s\n[ -f pid ] && kill -9 $(cat pid)\n%s >>log 2>&1 &\necho $! >pid\n", dir, command)
	if err := os.WriteFile(i.restart, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The last one that the script started: it is not a child of this process.
		if out, err := exec.Command("sh", "-c", "kill -9 $(cat "+dir+"/pid)").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if log, _ := os.ReadFile(filepath.Join(dir, "log")); t.Failed() {
			t.Logf("its log:\n%s", log)
		}
	})
	if out, err := exec.Command("sh", i.restart).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for deadline := time.Now().Add(testTime); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(webhook)
		if err == nil {
			resp.Body.Close()
			return i
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not start: %v", err)
		}
	}
}

// testTime is for a step of a test; it is only reached by a test that fails.
const testTime = 2 * time.Minute

// judge runs possim check as the printer of the integration.
func (i *integration) judge(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return possim(t, "", append([]string{
		"check", "--venue", sampleVenue, "--venue", secondVenue, "--count", "20", "--concurrency", "8", i.url,
	}, args...)...)
}

// seeing are the flags with which nothing is unseen. Within is how long a ticket that must come is waited for, quiet
// how long one that must not come.
func (i *integration) seeing(within, quiet time.Duration) []string {
	return []string{
		"--listen-printer", i.printer, "--restart-command", "sh " + i.restart, "--quiet", quiet.String(),
		"--within", within.String(),
	}
}

// python is the integrator in testdata, with a fault.
func python(t *testing.T, fault string) *integration {
	t.Helper()
	program, err := filepath.Abs("testdata/integrator.py")
	if err != nil {
		t.Fatal(err)
	}
	return integrate(t, func(dir, host string) (string, string) {
		command := fmt.Sprintf("python3 %s . %s:8080 %[2]s:9100 %q", program, host, fault)
		return command, "http://" + host + ":8080/hook"
	})
}

func requirePython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
			t.Fatal("python3 is missing; install the Debian package python3")
		}
		t.Skip("python3 is missing: the integrator in testdata is not checked")
	}
}

// Each fault is one of testdata/integrator.py; the text is in the row that must fail.
func TestAConformingIntegratorPassesAndEveryBrokenOneIsFound(t *testing.T) {
	requirePython(t)
	t.Parallel() // it mostly waits
	type fault struct{ name, notice string }
	var wg sync.WaitGroup
	busy := make(chan struct{}, 6) // so that none answers too late
	find := func(f fault, hidden bool) {
		// From goroutines, because t.Parallel would run only one for each processor.
		wg.Go(func() {
			busy <- struct{}{}
			defer func() { <-busy }()
			t.Run(f.name, func(t *testing.T) {
				i := python(t, f.name)
				var flags []string
				if hidden {
					flags = i.seeing(6*time.Second, 2*time.Second)
				}
				code, out, errs := i.judge(t, flags...)
				if code != exitFailed || !strings.Contains(out, "FAIL    "+f.notice) {
					t.Errorf("ends with %d, and %q did not fail:\n%s%s", code, f.notice, out, errs)
				}
				// What only comes out wrong is not seen in the answers.
				if answers, _, _ := strings.Cut(out, "what comes out"); hidden && strings.Contains(answers, "FAIL") {
					t.Errorf("is not hidden:\n%s", answers)
				}
			})
		})
	}
	wg.Go(func() {
		t.Run("conforming", func(t *testing.T) {
			i := python(t, "")
			// Its answers alone prove nothing about what it prints.
			code, out, errs := i.judge(t)
			if code != exitUnseen || !strings.Contains(out, " 0 failed, 15 unseen") {
				t.Errorf("ends with %d, says\n%s%s", code, out, errs)
			}
			code, out, errs = i.judge(t, i.seeing(testTime, 500*time.Millisecond)...)
			if code != exitOK || !strings.Contains(out, " 0 failed, 0 unseen") {
				t.Errorf("ends with %d, says\n%s%s", code, out, errs)
			}
		})
	})
	const comesOut = "6.4  what comes out: "
	for _, f := range []fault{
		{"it drops the second record", comesOut + "two records"},
		{"it answers before it stores", comesOut + "orders while it is killed"},
		{"it waits for the printer", comesOut + "an order while the printer or display is off"},
		{"it looks up first and stores later", comesOut + "the same request eight times at once"},
		{"it forgets over a restart", comesOut + "the same request before and after a restart"},
		{"it compares contents", comesOut + "the same dishes under another id"},
		{"refused ids are stored", comesOut + "an order that was refused at first"},
	} {
		find(f, true)
	}
	for _, f := range []fault{
		{"it takes every venue", "6.2  x-svc-venueid of an unknown venue"},
		{"an unknown venue is 401", "6.2  x-svc-venueid of an unknown venue"},
		{"no venue is fine", "6.2  no x-svc-venueid"},
		{"no device is fine", "6.2  no x-svc-device-id"},
		{"one venue only", "6.2  an order of venue " + secondVenue},
		{"broken JSON is fine", "6.3  half a body"},
		{"broken JSON is 500", "6.3  half a body"},
		{"a schema fault is fine", "6.3  no records[0].id"},
		{"a schema fault is 422", "6.3  items that are a string"},
		{"done is 201", "6.1  an order\n"},
		{"done is 204", "6.3  all of the above: the status"},
		{"a duplicate is 409", "6.4  the same request twice"},
		{"unknown fields are a mismatch", "6.3  unknown fields"},
		{"one record only", "6.3  two records"},
		{"shallow modifiers only", "6.3  modifiers eight levels deep"},
		{"null is no list", "6.3  childItems that are null"},
		{"Latin letters only", "6.3  every script"},
		{"it requires a Content-Length", "6.1  an order sent in chunks"},
		{"no parameters on Content-Type", "6.1  an order whose Content-Type has parameters"},
		{"GET is fine", "6.1  GET instead of POST"},
	} {
		find(f, false)
	}
	wg.Wait()
}

// A daemon's own process, because the kit kills it.
func TestTicketrailMeetsTheContract(t *testing.T) {
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "ticketrail")
	if out, err := exec.Command("go", "build", "-o", exe, "ticketrail/cmd/ticketrail").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	i := integrate(t, func(dir, host string) (string, string) {
		conf := filepath.Join(dir, "ticketrail.yaml")
		if err := os.WriteFile(conf, fmt.Appendf(nil, `receiver: { listen: "%s:8443", insecure: true }
admin: { socket: %q }
metrics: { listen: "" }
storage: { path: %q }
log: { level: error }
venues: [ { id: %s, name: Harbour Grill }, { id: %s, name: Second } ]
printers: [ { name: grill, address: "tcp://%[1]s:9100" } ]
fallback: grill
`, host, filepath.Join(dir, "s"), filepath.Join(dir, "t.db"), sampleVenue, secondVenue), 0o600); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s serve --config %s", exe, conf), "http://" + host + ":8443/webhooks/print"
	})
	code, out, errs := i.judge(t, i.seeing(testTime, 500*time.Millisecond)...)
	if code != exitOK || !strings.Contains(out, " 0 failed, 0 unseen") || strings.Contains(out, "do not say which") {
		t.Errorf("ends with %d, says\n%s%s", code, out, errs)
	}
	code, out, errs = possim(t, "", "send", "--count", "60", "--concurrency", "8", "--duplicates", "0.2", "--seed",
		"5", i.url)
	if code != exitOK || errs != "" || strings.Count(out, "state=SENT") < 60 {
		t.Errorf("ends with %d, says\n%s%s", code, out, errs)
	}
	// The evening again: nothing is new, and with new ids all of it is.
	ask := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(exe, append(args, "--config", filepath.Join(i.dir, "ticketrail.yaml"))...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	evening := ask("jobs", "export")
	requests, jobs := strings.Count(evening, "\n"), strings.Count(ask("jobs", "list"), "\n")
	for _, c := range []struct {
		flags   []string
		atLeast int
	}{{nil, jobs}, {[]string{"--new-ids"}, jobs + requests}} {
		args := append([]string{"replay", "--speed", "100000", "-", i.url}, c.flags...)
		code, out, errs := possim(t, evening, args...)
		if code != exitOK || strings.Count(out, "state=SENT") != requests {
			t.Errorf("%v: ends with %d after %d requests, says\n%s%s", c.flags, code, requests, out, errs)
		}
		if n := strings.Count(ask("jobs", "list"), "\n"); n < c.atLeast || n > c.atLeast && c.flags == nil {
			t.Errorf("%v: %d tickets, want %d", c.flags, n, c.atLeast)
		}
	}
}
