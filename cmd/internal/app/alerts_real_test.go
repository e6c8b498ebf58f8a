package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ticketrail/cmd/internal/monitoringtest"
	"ticketrail/printer/kds/board"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// faults are what can go wrong in a kitchen whose daemon runs.
func (k *kitchen) faults() []monitoringtest.Step {
	return []monitoringtest.Step{
		{Fires: []string{"NothingReceived Silent Bar"}, Cure: func() { k.accept(silentVenue, "grill") }},
		{Again: true, Fires: []string{"OrdersRefused 401 venue_missing", "OrdersRefused 403 venue_not_allowed",
			"OrdersRefused 400 invalid_json", "OrdersRefused 404 wrong_path"},
			Cause: func() {
				k.send("", "/webhooks/print", "{}")
				k.send("00000000-0000-4000-8000-000000000002", "/webhooks/print", "{}")
				k.send(venueID, "/webhooks/print", "{")
				k.send(venueID, "/webhooks/old", "{}")
			}},
		{Fires: []string{"StationDown replaced", "PrintsAtBackup replaced"},
			Cause: func() { k.must(k.printers["replaced"].Refuse(true)); k.accept(venueID, "replaced") },
			Cure:  func() { k.must(k.printers["replaced"].Refuse(false)); k.accept(venueID, "replaced") }},
		{Fires: []string{"StationNeedsPerson paper_out empty"},
			Cause: func() { k.printers["empty"].Set(virtual.PaperOut, true) },
			Cure:  func() { k.printers["empty"].Refill() }},
		{Fires: []string{"PaperLow paper_low low"},
			Cause: func() { k.printers["low"].Set(virtual.PaperLow, true) },
			Cure:  func() { k.printers["low"].Refill() }},
		{Fires: []string{"TicketHeld held doubt", "StationDown doubt"},
			Cause: func() { k.printers["doubt"].ResetAfter(250, -1); k.accept(venueID, "doubt") },
			Cure:  func() { k.printers["doubt"].Repair(); k.cancel(ticket.Held); k.accept(venueID, "doubt") }},
		{Fires: []string{"StationHeld held"},
			Cause: func() { k.must(k.app.queue.HoldStation(k.t.Context(), "held", "cleaning")) },
			Cure:  func() { k.must(k.app.queue.ResumeStation(k.t.Context(), "held")) }},
		{Again: true, Fires: []string{"TicketFailed buried fresh"},
			Cause: func() { k.answers["fresh"].Store(http.StatusUnprocessableEntity); k.tryTestTicket("fresh") },
			Cure:  func() { k.answers["fresh"].Store(http.StatusOK); k.cancel(ticket.Failed) }},
		{Fires: []string{"StationNeedsPerson refusing closed"},
			Cause: func() { k.answers["closed"].Store(http.StatusUnauthorized); k.accept(venueID, "closed") },
			Cure:  func() { k.answers["closed"].Store(http.StatusOK); k.app.stations.Kick("closed") }},
		{Fires: []string{"ScreenDark dark", "PrintsAtBackup dark", "PaperNotTaken dark"},
			Cause: func() { k.accept(venueID, "dark") }, Cure: func() { k.leave("dark") }},
		{Fires: []string{"TicketsUnseen board"}, Cause: func() { k.accept(venueID, "board") },
			Cure: func() { k.pages["board"].press(board.Bump, "board") }},
		{Again: true, Fires: []string{"CertificateNotLoaded"}, // it is looked at with each connection
			Cause: func() { k.must(os.WriteFile(k.path("webhook.key"), nil, 0o600)); k.accept(venueID, "grill") },
			Cure:  func() { k.certificate("webhook", 90*24*time.Hour); k.accept(venueID, "grill") }},
		{Fires: []string{"ConfigurationRefused"},
			Cause: func() {
				k.configure(strings.Replace(k.conf, "fallback: grill", "fallback: gril", 1))
				if _, err := k.app.Reload(); err == nil {
					k.t.Error("a broken file was accepted")
				}
			},
			Cure: func() { k.configure(k.conf); _, err := k.app.Reload(); k.must(err) }},
		{Fires: []string{"CertificateExpires display"},
			Cause: func() { k.certificate("display", 24*time.Hour) },
			Cure:  func() { k.certificate("display", 90*24*time.Hour) }},
		{Fires: []string{"ClockNotSynchronized"},
			Cause: func() { k.clock.unsynchronized.Store(true) }, Cure: func() { k.clock.unsynchronized.Store(false) }},
		{Fires: []string{"MessagesNotSent phone"},
			Cause: func() { k.answers["phone"].Store(http.StatusBadGateway) },
			Cure:  func() { k.answers["phone"].Store(http.StatusOK) }},
	}
}

// afterRestart is what is wrong after the daemon was stopped for an hour, with a ticket that waits.
func (k *kitchen) afterRestart() []monitoringtest.Step {
	return []monitoringtest.Step{
		{Fires: []string{"StationDown gone", "TicketStuck gone"},
			Cause: func() {
				k.must(k.printers["gone"].Refuse(true))
				k.accept(venueID, "gone")
				k.stop()
				k.grow()
				k.clock.ahead.Store(int64(time.Hour))
				k.start()
			},
			Cure: func() { k.must(k.printers["gone"].Refuse(false)); k.app.stations.Kick("gone") }},
		{Fires: []string{"CompactionDue"},
			Cure: func() {
				k.stop()
				_, _, err := queue.Compact(k.store)
				k.must(err)
				k.start()
			}},
		{Fires: []string{"ScreenDark board", "ScreenDark dark"}, Cure: func() { k.open("board"); k.open("dark") }},
		{Again: true, Fires: []string{"CertificateExpires webhook"},
			Cause: func() { k.certificate("webhook", 24*time.Hour); k.accept(venueID, "grill") },
			Cure:  func() { k.certificate("webhook", 90*24*time.Hour); k.accept(venueID, "grill") }},
	}
}

// damage is a database that cannot be read after a power cut. Nothing is known of earlier orders then.
func (k *kitchen) damage() []monitoringtest.Step {
	return []monitoringtest.Step{
		{Fires: []string{"DatabaseDamaged", "NothingReceived Harbour Grill"},
			Cause: func() {
				k.stop()
				k.must(os.WriteFile(k.store, make([]byte, 64<<10), 0o600))
				k.start()
			},
			Cure: func() {
				kept, err := filepath.Glob(k.store + ".corrupt-*")
				k.must(err)
				k.must(os.Remove(kept[0]))
				k.accept(venueID, "grill")
			}},
	}
}

// These tests mostly wait for scrapes, so they run at the same time.
func TestTheAlertsOfAKitchenFireAndClear(t *testing.T) {
	t.Parallel()
	k := newKitchen(t, t.TempDir())
	k.start()
	k.accept(venueID, "grill")
	m := k.watched()
	k.open("board")
	m.Play(k.faults())
	for _, e := range dashboardExpressions(t) {
		if err := m.Query(e); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
	k.hasEverySeriesOfTheRules()
	m.Play(k.afterRestart())
	m.Play(k.damage())
	m.NothingElse([]string{"Down", "DiskSlow"}, k.faults(), k.afterRestart(), k.damage())
}

// hasEverySeriesOfTheRules checks the labels that the rules select by: each value must be one that the daemon has.
func (k *kitchen) hasEverySeriesOfTheRules() {
	k.t.Helper()
	_, exposed := get(k.t, k.app, "/metrics")
	selector := regexp.MustCompile(`\b((?:ticketrail|process)_\w+)(?:\{\s*(\w+)=~?"([^"]*)"\s*\})?`)
	for _, r := range monitoringtest.Rules(k.t, deployFile(k.t, rulesFile)) {
		for _, m := range selector.FindAllStringSubmatch(r.Expr, -1) {
			for value := range strings.SplitSeq(m[3], "|") {
				want := `(?m)^` + m[1] + `[{ ]`
				if m[2] != "" {
					want = `(?m)^` + m[1] + `\{(.*,)?` + m[2] + `="` + value + `"`
				}
				if !regexp.MustCompile(want).MatchString(exposed) {
					k.t.Errorf("%s: the daemon has no %s %s", r.Alert, m[0], value)
				}
			}
		}
	}
}

// serve runs the daemon as a process of its own until the returned function kills it.
func (k *kitchen) serve() (kill func()) {
	k.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), runDaemonOn+"="+k.path("t.yaml")), k.t.Output(), k.t.Output()
	k.must(cmd.Start())
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		resp, err := theService.Get("http://" + k.metrics + "/metrics")
		if err == nil {
			resp.Body.Close()
			return kill
		}
		if time.Now().After(deadline) {
			kill()
			k.t.Fatal(err)
		}
	}
}

// down is a daemon that was killed and is started by hand.
func (k *kitchen) down() []monitoringtest.Step {
	return []monitoringtest.Step{
		{Fires: []string{"Down"}, Cause: func() { k.stop() }, Cure: func() { k.stop = k.serve() }},
	}
}

// crashes are a daemon that is killed and that systemd starts each time.
func (k *kitchen) crashes() []monitoringtest.Step {
	return []monitoringtest.Step{
		{Fires: []string{"Restarts"}, Again: true, Cause: func() { k.stop(); k.stop = k.serve() }},
	}
}

func TestTheAlertsOfADaemonThatEndsFireAndClear(t *testing.T) {
	t.Parallel()
	k := newKitchen(t, t.TempDir())
	m := k.watched()
	k.stop = k.serve()
	m.Play(k.down())
	m.Play(k.crashes())
}

// low, full and hanging are what a disk does.
func (k *kitchen) low() []monitoringtest.Step {
	return []monitoringtest.Step{{Fires: []string{"DiskLow"}, Cause: func() { k.fill(200 << 20) }, Cure: k.empty}}
}

func (k *kitchen) full() []monitoringtest.Step {
	return []monitoringtest.Step{{Fires: []string{"DiskLow", "OrdersNotStored"}, Again: true,
		Cause: func() { k.fill(0); k.order(venueID, "grill") }, Cure: k.empty}}
}

func (k *kitchen) hanging() []monitoringtest.Step {
	return []monitoringtest.Step{{Fires: []string{"DiskSlow", "OrdersNotStored"}, Again: true,
		Cause: func() {
			k.must(exec.Command("fsfreeze", "-f", filepath.Dir(k.store)).Run())
			var all sync.WaitGroup
			for range 8 { // each is answered 503 after respond_within
				all.Go(func() { k.order(venueID, "grill") })
			}
			all.Wait()
			k.must(exec.Command("fsfreeze", "-u", filepath.Dir(k.store)).Run())
		}}}
}

// fill leaves so many bytes on the disk.
func (k *kitchen) fill(leave int64) {
	k.t.Helper()
	f, err := os.OpenFile(filepath.Join(filepath.Dir(k.store), "filler"), os.O_CREATE|os.O_WRONLY, 0o600)
	k.must(err)
	defer f.Close()
	for step := int64(64 << 20); step >= 4<<10; {
		var st syscall.Statfs_t
		k.must(syscall.Fstatfs(int(f.Fd()), &st))
		info, err := f.Stat()
		k.must(err)
		if int64(st.Bavail)*st.Bsize-step < leave || syscall.Fallocate(int(f.Fd()), 0, info.Size(), step) != nil {
			step /= 2
		}
	}
}

func (k *kitchen) empty() {
	if err := os.Remove(filepath.Join(filepath.Dir(k.store), "filler")); !errors.Is(err, fs.ErrNotExist) {
		k.must(err)
	}
}

func TestTheAlertsOfADiskFireAndClear(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mkfs.ext4", "fsfreeze"} {
		monitoringtest.Tool(t, name)
	}
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	out, err := exec.Command("sh", "-ec", `truncate -s 400M "$1.img"; mkfs.ext4 -q -F -m 0 "$1.img"; mkdir "$1"
		mount -o loop "$1.img" "$1"`, "sh", disk).CombinedOutput()
	if err != nil {
		monitoringtest.SkipOrFail(t, fmt.Errorf("no file system can be mounted, which needs root: %w: %s", err, out))
	}
	t.Cleanup(func() {
		_ = exec.Command("fsfreeze", "-u", disk).Run()
		_ = exec.Command("umount", "-l", disk).Run()
	})
	k := newKitchen(t, disk)
	k.configure(strings.Replace(k.conf, "receiver: {", "receiver: { respond_within: 500ms,", 1)) // or 503 takes long
	k.start()
	k.accept(venueID, "grill")
	m := k.watched()
	m.Play(k.low())
	m.Play(k.full())
	m.Play(k.hanging())
}
