package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/station"
	"ticketrail/queue"
)

// The same facts are reported in four places: metrics and /readyz (monitoring), the watchdog
// (systemd restarts a daemon that hangs), the status line (systemctl status), and notices (every
// listing of the command line). Each is computed when asked for; nothing is cached.

// health reports the state of the daemon to monitoring, to the init system and to operators.
type health struct {
	queue    *queue.Queue
	store    *store
	stations *station.Set
	file     *configFile
	source   *source
}

// notReady says why no orders are accepted; empty if they are.
func (h health) notReady() string {
	if err := h.queue.Ready(); err != nil {
		return h.store.notReady(err).String()
	}
	return ""
}

// hungAfter is how long a commit may wait before the daemon counts as hung. A daemon without work
// is healthy, and so is one whose disk takes seconds. With WatchdogSec=30s, which counts from the
// last notification, the restart comes within a minute after the disk stopped answering. Until then
// requests are answered 503, and the service sends them again.
const hungAfter = 20 * time.Second

// runWatchdog sends watchdog notifications while commits succeed. A commit that hangs, on a disk
// that never answers, is the one failure that only a restart can cure. It measures the oldest
// operation that waits for the committer: everything that matters passes through there.
func (h health) runWatchdog(ctx context.Context, every time.Duration, notify func(string), log *slog.Logger) {
	if every <= 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if w := h.queue.Waiting(); w > hungAfter {
			// No notification: systemd kills the daemon after WatchdogSec. The orders it had
			// answered with 200 are on the disk.
			log.Error("a commit has not finished, the disk does not answer: the watchdog will restart the daemon",
				"waiting", w.Round(time.Second))
			continue
		}
		notify(daemon.SdNotifyWatchdog + "\nSTATUS=" + h.status())
	}
}

// status is the line that `systemctl status` shows. It begins with what costs orders: whether they
// are refused now.
func (h health) status() string {
	var pending, held int
	var stopped []string
	for _, s := range h.queue.Stations() {
		pending += s.Pending + s.Printing
		held += s.Held
		if s.Hold != nil {
			stopped = append(stopped, s.Name)
		}
	}
	line := fmt.Sprintf("tickets: %d waiting, %d held", pending, held)
	if len(stopped) > 0 {
		line += ", stations on hold: " + strings.Join(stopped, " ")
	}
	for _, l := range h.stations.List() {
		if l.Device != nil && !l.Device.Fine {
			line += fmt.Sprintf(", %s: %s", l.Name, strings.ReplaceAll(l.Device.State, "_", " "))
		}
	}
	for _, f := range h.source.findings(time.Now(), time.Local) {
		if f.Level == admin.Fail {
			line += ", relay: " + f.Text
		}
	}
	if len(h.store.quarantined()) > 0 {
		line += ", a damaged database was put aside: see ticketrail printers list"
	}
	if reason := h.file.refused(); reason != "" {
		line = "configuration on disk is refused: " + reason + "; " + line
	}
	if err := h.queue.Ready(); err != nil {
		line = "accepting no orders: " + err.Error() + "; " + line
	}
	// sd_notify(3) separates its fields by newlines.
	return strings.ReplaceAll(line, "\n", " ")
}

// problems are what the operator must see in every listing. They end by themselves when
// their cause is gone. There is nothing to confirm, so none can be dismissed by mistake.
func (h health) problems() (out []admin.Finding) {
	fail := func(subject, text, do string) {
		out = append(out, admin.Finding{Level: admin.Fail, Subject: subject, Text: text, Do: do})
	}
	for _, f := range h.store.quarantined() {
		fail("database",
			fmt.Sprintf("a damaged database was put aside as %s: %s", f, h.store.lossOf(f)),
			"ask the kitchen what is missing; to end this notice, move the file away")
	}
	if err := h.queue.Ready(); err != nil {
		out = append(out, h.store.notReady(err))
	}
	h.file.look() // who asks has perhaps just changed it
	if reason := h.file.refused(); reason != "" {
		fail("configuration", "configuration on disk is refused: "+reason+
			": the active one stays in use, but the daemon would not start again",
			"correct the file, then systemctl reload ticketrail")
	}
	for _, n := range h.queue.Notices() {
		level := admin.Warn
		if n.Lost {
			level = admin.Fail
		}
		out = append(out, admin.Finding{Level: level, Subject: "database", Text: n.Text, Do: n.Do})
	}
	if err := h.queue.CopyProblem(); err != nil {
		out = append(out, admin.Finding{Level: admin.Warn, Subject: "database",
			Text: fmt.Sprintf("its copy in %s is not complete: %v", h.store.conf.CopyFolder(), err),
			Do:   "look at the disk of storage.copy; orders are accepted all the same"})
	}
	// A bug: a ticket was lost or counted twice. The kitchen goes on, because refusing orders would
	// lose more.
	if n := h.queue.Unaccounted(); n != 0 {
		fail("database", fmt.Sprintf("the books do not balance by %d", n), "please report this")
	}
	for _, n := range h.stations.Notices() {
		fail("stations", n, "")
	}
	return out
}

// problems are those of health, and what keeps other systems from being told.
func (a *App) problems() []admin.Finding {
	out := a.health.problems()
	if f, ok := a.outcomes.Finding(); ok {
		out = append(out, f)
	}
	return out
}
