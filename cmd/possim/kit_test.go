package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/deploy/slow"
)

const secondVenue = "0b7e6a52-9d0c-4f5e-8a3b-5f3f6a1e2d22"

func TestAConformingIntegratorPassesAndEveryOneThatPrintsWrongIsFound(t *testing.T) {
	// Each fault is one of testdata/integrator.py, whose answers are right in spite of it.
	slow.Test(t, "python3", "sh")
	t.Parallel() // it mostly waits

	var wg sync.WaitGroup
	defer wg.Wait()
	check := func(fault string, test func(t *testing.T, i *integration)) {
		// From goroutines, because t.Parallel would run only one for each processor.
		wg.Go(func() { t.Run(fault, func(t *testing.T) { test(t, python(t, fault)) }) })
	}

	check("", func(t *testing.T, i *integration) {
		i.wants(t, exitUnseen, " 0 failed, 14 unseen") // its answers alone prove nothing about its paper
		i.wants(t, exitOK, " 0 failed, 0 unseen", i.seeing(testTime, 500*time.Millisecond)...)
	})
	// The others are tested in memory, in package sim.
	for fault, notice := range map[string]string{
		"it answers before it stores": ` of "orders while it is killed": `,
		"it forgets over a restart":   ` of "an order": `,
	} {
		check(fault, func(t *testing.T, i *integration) {
			i.wants(t, exitFailed, notice, i.seeing(4*time.Second, time.Second)...)
		})
	}
}

func TestTicketrailMeetsTheContract(t *testing.T) {
	slow.Test(t, "go", "sh")
	t.Parallel() // it mostly waits

	exe := buildTicketrail(t)
	i := integrate(t, func(dir, host string) (string, string) {
		conf := filepath.Join(dir, "ticketrail.yaml")
		write(t, conf, fmt.Sprintf(`receiver: { listen: "%s:8443", insecure: true }
admin: { socket: %q }
metrics: { listen: "" }
storage: { path: %q }
log: { level: error }
venues: [ { id: %s, name: Harbour Grill }, { id: %s, name: Second } ]
printers: [ { name: grill, address: "tcp://%[1]s:9100" } ]
fallback: grill
`, host, filepath.Join(dir, "s"), filepath.Join(dir, "t.db"), sampleVenue, secondVenue))
		return fmt.Sprintf("%s serve --config %s", exe, conf), "http://" + host + ":8443/webhooks/print"
	})
	out := i.wants(t, exitOK, " 0 failed, 0 unseen", i.seeing(testTime, 500*time.Millisecond)...)
	if strings.Contains(out, "do not say which") {
		t.Errorf("its answers do not mark duplicates:\n%s", out)
	}
}

// An integration is an endpoint under test: a process, the printer that it prints to, and a script that kills it and
// starts it again.
type integration struct {
	dir, url, printer, restart string
}

// integrate starts an integration and waits until it answers.
func integrate(t *testing.T, start func(dir, host string) (command, webhook string)) *integration {
	t.Helper()

	// Short, because a unix socket's path has 107 bytes. In memory, because a process is killed and not the
	// machine, and several that wait for one disk answer too late.
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "tr")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) }) // after the cleanups of start, which read it

	host := ownHost()
	command, webhook := start(dir, host)
	i := &integration{dir: dir, url: webhook, printer: host + ":9100", restart: filepath.Join(dir, "restart.sh")}
	write(t, i.restart, fmt.Sprintf("cd %s\n[ -f pid ] && kill -9 $(cat pid)\n%s >>log 2>&1 &\necho $! >pid\n", dir,
		command))
	t.Cleanup(func() {
		// The last one that the script started: it is not a child of this process.
		mustRun(t, "sh", "-c", "kill -9 $(cat "+dir+"/pid)")
		if log, _ := os.ReadFile(filepath.Join(dir, "log")); t.Failed() {
			t.Logf("its log:\n%s", log)
		}
	})

	mustRun(t, "sh", i.restart)
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

// wants runs possim check as the printer of the integration, and returns its output.
func (i *integration) wants(t *testing.T, wantCode int, want string, args ...string) string {
	t.Helper()

	code, out, errs := possim(t, append([]string{
		"check", "--venue", sampleVenue, "--venue", secondVenue, "--burst", "100", i.url,
	}, args...)...)
	if code != wantCode || !strings.Contains(out, want) {
		t.Errorf("ends with %d, want %d and %q:\n%s%s", code, wantCode, want, out, errs)
	}
	return out
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
	must(t, err)
	return integrate(t, func(_, host string) (string, string) {
		command := fmt.Sprintf("python3 %s . %s:8080 %[2]s:9100 %q", program, host, fault)
		return command, "http://" + host + ":8080/hook"
	})
}

func buildTicketrail(t *testing.T) (exe string) {
	t.Helper()

	exe = filepath.Join(t.TempDir(), "ticketrail")
	mustRun(t, "go", "build", "-o", exe, "ticketrail/cmd/ticketrail")
	return exe
}

// mustRun runs a program and returns its output.
func mustRun(t *testing.T, program string, args ...string) string {
	t.Helper()

	var errs strings.Builder
	c := exec.Command(program, args...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %q: %v: %s%s", program, args, err, out, &errs)
	}
	return string(out)
}

func write(t *testing.T, file, text string) {
	t.Helper()

	must(t, os.WriteFile(file, []byte(text), 0o600))
}
