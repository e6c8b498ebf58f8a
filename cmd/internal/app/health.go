package app

import (
	"context"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
)

// hungAfter is how long a commit may wait before the daemon counts as hung. A daemon without work
// is healthy, and so is one whose disk takes seconds. With WatchdogSec=30s, which counts from the
// last notification, the restart comes within a minute after the disk stopped answering. Until then
// requests are answered 503, and the service sends them again.
const hungAfter = 20 * time.Second

// runWatchdog sends watchdog notifications while commits succeed. A commit that hangs, on a disk
// that never answers, is the one failure that only a restart can cure. It measures the oldest
// operation that waits for the committer: everything that matters passes through there.
func (a *App) runWatchdog(ctx context.Context) {
	if a.o.WatchdogEvery <= 0 {
		return
	}
	tick := time.NewTicker(a.o.WatchdogEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}

		if waited := a.queue.Waiting(); waited > hungAfter {
			// No notification: systemd kills the daemon after WatchdogSec. The orders it had
			// answered with 200 are on the disk.
			a.log.Error("a commit has not finished, the disk does not answer: the watchdog will restart the daemon",
				"waiting", waited.Round(time.Second))
			continue
		}
		a.tellSystemd(daemon.SdNotifyWatchdog + "\nSTATUS=" + a.statusLine())
	}
}

// statusLine is the line that `systemctl status` shows: the subjects that need a person, as far as they are known
// without reading the history, and the number of waiting tickets.
func (a *App) statusLine() string {
	var parts []string
	for _, f := range finding.Of(a.facts()) {
		if f.Level == finding.Fail || f.Subject == config.TopicTickets { // how many wait is a finding that is OK
			f.Do = "" // ticketrail status says it
			parts = append(parts, f.Subject+": "+f.String())
		}
	}
	// sd_notify(3) separates its fields by newlines.
	return strings.ReplaceAll(strings.Join(parts, "; "), "\n", " ")
}

// notReady says why no orders are accepted; empty if they are.
func (a *App) notReady() string {
	if fault, stopped := a.storage().NotStored(); stopped {
		return fault.String()
	}
	return ""
}
