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

	"ticketrail/printer/kds/board"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// faults are what can go wrong in a kitchen whose daemon runs.
func (k *kitchen) faults() []alertStep {
	return []alertStep{
		{fires: []string{"NothingReceived Silent Bar"}, cure: func() { k.accept(silentVenue, "grill") }},
		{again: true, fires: []string{"OrdersRefused 401 venue_missing", "OrdersRefused 403 venue_not_allowed",
			"OrdersRefused 400 invalid_json", "OrdersRefused 404 wrong_path"},
			cause: func() {
				k.send("", "/webhooks/print", "{}")
				k.send("00000000-0000-4000-8000-000000000002", "/webhooks/print", "{}")
				k.send(venueID, "/webhooks/print", "{")
				k.send(venueID, "/webhooks/old", "{}")
			}},
		{fires: []string{"StationDown replaced", "PrintsAtBackup replaced"},
			cause: func() { k.must(k.printers["replaced"].Refuse(true)); k.accept(venueID, "replaced") },
			cure:  func() { k.must(k.printers["replaced"].Refuse(false)); k.accept(venueID, "replaced") }},
		{fires: []string{"StationNeedsPerson paper_out empty"},
			cause: func() { k.printers["empty"].Set(virtual.PaperOut, true) },
			cure:  func() { k.printers["empty"].Refill() }},
		{fires: []string{"PaperLow paper_low low"},
			cause: func() { k.printers["low"].Set(virtual.PaperLow, true) },
			cure:  func() { k.printers["low"].Refill() }},
		{fires: []string{"TicketHeld held doubt", "StationDown doubt"},
			cause: func() { k.printers["doubt"].ResetAfter(250, -1); k.accept(venueID, "doubt") },
			cure:  func() { k.printers["doubt"].Repair(); k.cancel(ticket.Held); k.accept(venueID, "doubt") }},
		{fires: []string{"StationHeld held"},
			cause: func() { k.must(k.app.queue.HoldStation(k.t.Context(), "held", "cleaning")) },
			cure:  func() { k.must(k.app.queue.ResumeStation(k.t.Context(), "held")) }},
		{again: true, fires: []string{"TicketFailed buried fresh"},
			cause: func() { k.answers["fresh"].Store(http.StatusUnprocessableEntity); k.tryTestTicket("fresh") },
			cure:  func() { k.answers["fresh"].Store(http.StatusOK); k.cancel(ticket.Failed) }},
		{fires: []string{"StationNeedsPerson refusing closed"},
			cause: func() { k.answers["closed"].Store(http.StatusUnauthorized); k.accept(venueID, "closed") },
			cure:  func() { k.answers["closed"].Store(http.StatusOK); k.app.stations.Kick("closed") }},
		{fires: []string{"ScreenDark dark", "PrintsAtBackup dark", "PaperNotTaken dark"},
			cause: func() { k.accept(venueID, "dark") }, cure: func() { k.leave("dark") }},
		{fires: []string{"TicketsUnseen board"}, cause: func() { k.accept(venueID, "board") },
			cure: func() { k.pages["board"].press(board.Bump, "board") }},
		{again: true, fires: []string{"CertificateNotLoaded"}, // it is looked at with each connection
			cause: func() { k.must(os.WriteFile(k.path("webhook.key"), nil, 0o600)); k.accept(venueID, "grill") },
			cure:  func() { k.certificate("webhook", 90*24*time.Hour); k.accept(venueID, "grill") }},
		{fires: []string{"ConfigurationRefused"},
			cause: func() {
				k.configure(strings.Replace(k.conf, "fallback: grill", "fallback: gril", 1))
				if _, err := k.app.Reload(); err == nil {
					k.t.Error("a broken file was accepted")
				}
			},
			cure: func() { k.configure(k.conf); _, err := k.app.Reload(); k.must(err) }},
		{fires: []string{"CertificateExpires display"},
			cause: func() { k.certificate("display", 24*time.Hour) },
			cure:  func() { k.certificate("display", 90*24*time.Hour) }},
		{fires: []string{"ClockNotSynchronized"},
			cause: func() { k.clock.unsynchronized.Store(true) }, cure: func() { k.clock.unsynchronized.Store(false) }},
		{fires: []string{"MessagesNotSent phone"},
			cause: func() { k.answers["phone"].Store(http.StatusBadGateway) },
			cure:  func() { k.answers["phone"].Store(http.StatusOK) }},
	}
}

// afterRestart is what is wrong after the daemon was stopped for an hour, with a ticket that waits.
func (k *kitchen) afterRestart() []alertStep {
	return []alertStep{
		{fires: []string{"StationDown gone", "TicketStuck gone"},
			cause: func() {
				k.must(k.printers["gone"].Refuse(true))
				k.accept(venueID, "gone")
				k.stop()
				k.grow()
				k.clock.ahead.Store(int64(time.Hour))
				k.start()
			},
			cure: func() { k.must(k.printers["gone"].Refuse(false)); k.app.stations.Kick("gone") }},
		{fires: []string{"CompactionDue"},
			cure: func() {
				k.stop()
				_, _, err := queue.Compact(k.store)
				k.must(err)
				k.start()
			}},
		{fires: []string{"ScreenDark board", "ScreenDark dark"}, cure: func() { k.open("board"); k.open("dark") }},
		{again: true, fires: []string{"CertificateExpires webhook"},
			cause: func() { k.certificate("webhook", 24*time.Hour); k.accept(venueID, "grill") },
			cure:  func() { k.certificate("webhook", 90*24*time.Hour); k.accept(venueID, "grill") }},
	}
}

// damage is a database that cannot be read after a power cut. Nothing is known of earlier orders then.
func (k *kitchen) damage() []alertStep {
	return []alertStep{
		{fires: []string{"DatabaseDamaged", "NothingReceived Harbour Grill"},
			cause: func() {
				k.stop()
				k.must(os.WriteFile(k.store, make([]byte, 64<<10), 0o600))
				k.start()
			},
			cure: func() {
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
	m := startMonitoring(t, k.metrics)
	k.open("board")
	m.play(k.faults())
	m.queries()
	k.hasEverySeriesOfTheRules()
	m.play(k.afterRestart())
	m.play(k.damage())
	m.nothingElse(k.faults(), k.afterRestart(), k.damage())
}

// hasEverySeriesOfTheRules checks the labels that the rules select by: each value must be one that the daemon has.
func (k *kitchen) hasEverySeriesOfTheRules() {
	k.t.Helper()
	_, exposed := get(k.t, k.app, "/metrics")
	selector := regexp.MustCompile(`\b((?:ticketrail|process)_\w+)(?:\{\s*(\w+)=~?"([^"]*)"\s*\})?`)
	for _, r := range alertRules(k.t) {
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
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		resp, err := asker.Get("http://" + k.metrics + "/metrics")
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
func (k *kitchen) down() []alertStep {
	return []alertStep{{fires: []string{"Down"}, cause: func() { k.stop() }, cure: func() { k.stop = k.serve() }}}
}

// crashes are a daemon that is killed and that systemd starts each time.
func (k *kitchen) crashes() []alertStep {
	return []alertStep{{fires: []string{"Restarts"}, again: true, cause: func() { k.stop(); k.stop = k.serve() }}}
}

func TestTheAlertsOfADaemonThatEndsFireAndClear(t *testing.T) {
	t.Parallel()
	k := newKitchen(t, t.TempDir())
	m := startMonitoring(t, k.metrics)
	k.stop = k.serve()
	m.play(k.down())
	m.play(k.crashes())
}

// low, full and hanging are what a disk does.
func (k *kitchen) low() []alertStep {
	return []alertStep{{fires: []string{"DiskLow"}, cause: func() { k.fill(200 << 20) }, cure: k.empty}}
}

func (k *kitchen) full() []alertStep {
	return []alertStep{{fires: []string{"DiskLow", "OrdersNotStored"}, again: true,
		cause: func() { k.fill(0); k.order(venueID, "grill") }, cure: k.empty}}
}

func (k *kitchen) hanging() []alertStep {
	return []alertStep{{fires: []string{"DiskSlow", "OrdersNotStored"}, again: true,
		cause: func() {
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
		tool(t, name)
	}
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	out, err := exec.Command("sh", "-ec", `truncate -s 400M "$1.img"; mkfs.ext4 -q -F -m 0 "$1.img"; mkdir "$1"
		mount -o loop "$1.img" "$1"`, "sh", disk).CombinedOutput()
	if err != nil {
		skipOrFail(t, fmt.Errorf("no file system can be mounted, which needs root: %w: %s", err, out))
	}
	t.Cleanup(func() {
		_ = exec.Command("fsfreeze", "-u", disk).Run()
		_ = exec.Command("umount", "-l", disk).Run()
	})
	k := newKitchen(t, disk)
	k.start()
	k.accept(venueID, "grill")
	m := startMonitoring(t, k.metrics)
	m.play(k.low())
	m.play(k.full())
	m.play(k.hanging())
}
