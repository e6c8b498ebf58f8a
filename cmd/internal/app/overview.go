package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// What `ticketrail status` says of the daemon itself. Stations and their tickets are added by the control
// API, and problems that every listing shows are in health.go.

const recently = time.Hour

// state is computed when asked for. It reads the history of three days, some thousand small records.
func (a *App) state(ctx context.Context) ([]admin.Finding, error) {
	now := time.Now()
	zone := a.zone()
	if zone == nil {
		zone = time.Local
	}
	orders, err := a.orderFindings(ctx, now, zone)
	if err != nil {
		return nil, err
	}
	out := append(slices.Concat(orders, a.source.findings(now, zone), a.venues.findings(now), a.fieldFindings()),
		doctor.ClockFinding(a.clock(), now, zone), doctor.DiskFinding(filepath.Dir(a.startConfig.Storage.Path)))
	out = append(out, a.certificates(now)...)
	if keys := a.needsRestart(); len(keys) > 0 {
		out = append(out, admin.Finding{Level: admin.Warn, Subject: "configuration",
			Text: "not in use before a restart: " + strings.Join(keys, ", "), Do: "systemctl restart ticketrail"})
	} else if a.o.ConfigPath != "" && a.file.refused() == "" { // else it is a problem, which is in every listing
		out = append(out, admin.Finding{Level: admin.OK, Subject: "configuration", Text: "the file on disk is valid"})
	}
	return append(out, admin.Finding{Level: admin.OK, Subject: "version",
		Text: fmt.Sprintf("%s, started %s ago", admin.ThisBuild().Version, admin.Age(now.Sub(a.started)))}), nil
}

// certificates are those in use: other file names need a restart.
func (a *App) certificates(now time.Time) []admin.Finding {
	conf, why := *a.active.Load(), ""
	conf.Receiver.TLS, conf.Storage = a.startConfig.Receiver.TLS, a.startConfig.Storage
	if a.acme != nil {
		why = a.acme.Problem()
	}
	return doctor.CertificateFindings(&conf, now, why)
}

// orderFindings say what came, what was refused and what did not print. A refused order is lost if nobody
// looks, and so is a failed ticket.
func (a *App) orderFindings(ctx context.Context, now time.Time, zone *time.Location) (out []admin.Finding, err error) {
	jobs, err := a.queue.Jobs(ctx, queue.Filter{Since: now.Add(-recently)})
	if err != nil {
		return nil, err
	}
	requests := map[string]bool{}
	for _, j := range jobs {
		if j.Venue != "" && !j.Reprint { // else a test ticket, or a slip
			requests[j.Venue+" "+j.Request] = true
		}
	}
	out = append(out, admin.Finding{Level: admin.OK, Subject: "orders",
		Text: ticket.Plural(len(requests), "order") + " in the last hour" + a.venues.lastRequest(now, zone)})
	refused := 0
	for _, r := range a.rejects.List() {
		at := r.Time
		if r.Fetched.After(at) { // it waited at the relay
			at = r.Fetched
		}
		if now.Sub(at) < recently && r.Printed.IsZero() {
			refused++
		}
	}
	if refused > 0 {
		out = append(out, admin.Finding{Level: admin.Fail, Subject: "orders",
			Text: ticket.Plural(refused, "request") + " refused in the last hour: the kitchen does not know of them",
			Do:   "ticketrail rejects shows why"})
	}
	failed, err := a.queue.Jobs(ctx, queue.Filter{States: []ticket.State{ticket.Failed}})
	if err != nil {
		return nil, err
	}
	if len(failed) > 0 {
		out = append(out, admin.Finding{Level: admin.Fail, Subject: "tickets",
			Text: ticket.Plural(len(failed), "ticket") + " failed and did not print",
			Do:   "ticketrail jobs list --state failed, then jobs reprint or jobs cancel"})
	}
	return out, nil
}

// zone is the kitchen's time zone, nil if it is not known.
func (a *App) zone() *time.Location { return a.service.zone(a.active.Load()) }

// clock is what the queue measures with.
func (a *App) clock() queue.Clock {
	if a.o.Clock != nil {
		return a.o.Clock
	}
	return doctor.WallClock{}
}
