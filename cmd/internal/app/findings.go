package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/finding"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// Everything that tells people how the daemon is renders one list: package finding works it out from the facts that
// are gathered here, when somebody asks.

const recently = time.Hour

// findings are everything that was found. They go through the whole history, some thousand
// small records, for the jobs of the last hour and those that failed.
func (a *App) findings(ctx context.Context) ([]finding.Finding, error) {
	facts := a.facts()
	facts.Configuration.Refused = a.file.problems() // it reads the file again: who asks has perhaps just changed it
	err := a.readHistory(ctx, &facts.Orders)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		facts.Database.Unreadable = err
	}

	out := finding.Of(facts)
	a.notifier.AddSince(out) // when the notifier first saw each, as of its last look
	for i := range out {
		if !out[i].Since.IsZero() {
			out[i].Since = out[i].Since.In(facts.Now.Location())
		}
	}

	return out, nil
}

// facts are the facts that are known without reading the history.
func (a *App) facts() finding.Facts {
	now := time.Now().In(a.zone())
	f := finding.Facts{Now: now, Stations: a.stationList(), Orders: a.storage(), Database: a.database(),
		Configuration: finding.Configuration{File: a.o.ConfigPath, Refused: a.file.known(), Restart: a.needsRestart()},
		Certificates:  a.certificates(), Disk: doctor.DiskOf(a.store.folder()),
		Clock: finding.Clock{Synchronized: a.o.Clock.Synchronized()}, Version: admin.ThisBuild().Version,
		Started: a.started}

	f.Orders.Last, f.Orders.Silent = a.venues.newest(), a.venues.silent(now)
	f.Others = slices.Concat(a.source.findings(now), a.fieldFindings(), a.stations.Findings(),
		a.service.findings(a.active.Load()), a.address.findings())
	if one, ok := a.outcomes.Finding(); ok {
		f.Others = append(f.Others, one)
	}
	return f
}

// stationList is every station with its queue.
func (a *App) stationList() []finding.Station {
	known := a.stations.List() // first, see [finding.Join]
	return finding.Join(known, a.queue.Stations(), time.Now())
}

// storage is whether orders can be stored.
func (a *App) storage() finding.Orders {
	err := a.queue.Ready()
	return finding.Orders{Stopped: err, Full: errors.Is(err, queue.ErrStorageFull),
		Folder: a.store.folder()}
}

// database is the state of the file and of its copy.
func (a *App) database() finding.Database {
	state := finding.Database{Copy: a.queue.CopyProblem(), CopyFolder: a.startConfig.Storage.CopyFolder(),
		Notices:    a.queue.Notices(),
		Unbalanced: int64(a.queue.Unaccounted())}
	for _, file := range a.store.quarantined() {
		state.PutAside = append(state.PutAside, finding.Damaged{File: file, Loss: a.store.lossOf(file)})
	}
	return state
}

// certificates are those in use: other file names need a restart.
func (a *App) certificates() []finding.Finding {
	conf, why := *a.active.Load(), ""
	conf.Receiver.TLS, conf.Storage = a.startConfig.Receiver.TLS, a.startConfig.Storage
	if a.acme != nil {
		why = a.acme.Problem()
	}
	return doctor.Certificates(&conf, why)
}

// readHistory adds the requests that came, those that were refused, and the tickets that did not print.
func (a *App) readHistory(ctx context.Context, o *finding.Orders) error {
	// Page by page: it is read every ten seconds, and a history can be long.
	now, requests := time.Now(), map[string]bool{}
	err := a.queue.EachPage(ctx, queue.Filter{Since: now.Add(-recently)}, func(page []queue.Job) error {
		for _, j := range page {
			if j.Venue != "" && j.Request != "" && !j.Reprint { // else a test ticket, or a list that the daemon made
				requests[j.Venue+" "+j.Request] = true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}

	o.LastHour = len(requests)

	for _, r := range a.rejects.List() {
		at := r.Time
		if r.Fetched.After(at) { // it waited at the relay
			at = r.Fetched
		}
		if now.Sub(at) < recently && r.Printed.IsZero() {
			o.Refused = append(o.Refused, finding.Refusal{Code: r.Code, Message: r.Message, At: at})
		}
	}

	return a.queue.EachPage(ctx, queue.Filter{States: []ticket.State{ticket.Failed}}, func(page []queue.Job) error {
		o.Failed += len(page)
		return nil
	})
}

// zone is the kitchen's time zone, the zone of the box if it is not known.
func (a *App) zone() *time.Location { return a.service.zone(a.active.Load()) }

// zoneName is the name of the kitchen's time zone; empty if it is not known.
func (a *App) zoneName() string {
	if zone := a.zone(); zone != time.Local {
		return zone.String()
	}
	return ""
}
