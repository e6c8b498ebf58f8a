package app

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

// The methods below let the tests of the whole daemon, which are another package, look at its parts.

// Stations are the active stations.
func (a *App) Stations() *station.Set { return a.stations }

// Rejects are the requests that were refused.
func (a *App) Rejects() *receiver.Rejects { return a.rejects }

// Registry has the metrics.
func (a *App) Registry() *prometheus.Registry { return a.registry }

// Control is the control API.
func (a *App) Control() http.Handler { return a.control }

// StatusLine is the line of systemctl status.
func (a *App) StatusLine() string { return a.statusLine() }

// Findings are everything that was found.
func (a *App) Findings(ctx context.Context) ([]finding.Finding, error) { return a.findings(ctx) }

// Zone is the time zone of the kitchen.
func (a *App) Zone() *time.Location { return a.zone() }

// Open says whether a venue is open.
func (a *App) Open(now time.Time) bool { return a.venues.open(now) }

// Apply applies a configuration, as [App.Reload] does with its file.
func (a *App) Apply(conf *config.Config) error {
	built, err := a.build(conf)
	if err == nil {
		a.apply(built)
	}
	return err
}

// TakeFromRelay stores a request that was fetched from a relay.
func (a *App) TakeFromRelay(ctx context.Context, one source.Arrival) error {
	return a.source.take(ctx, one)
}

// Report is the box's report to the relay.
func (a *App) Report() source.Report { return a.source.report() }

// RelayFindings say how the connection to the relay is.
func (a *App) RelayFindings() []finding.Finding { return a.source.findings(time.Now()) }

// Fields are the uses of the fields of orders, as ticketrail fields has them.
func (a *App) Fields() admin.Fields { return a.fields() }
