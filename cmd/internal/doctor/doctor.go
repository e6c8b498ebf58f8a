// Package doctor answers what can be asked about a kitchen without a running daemon: is the
// configuration right, what would become of a print request, do the printers and the point-of-sale
// API answer, is the database sound. The daemon reads its configuration through it, so that what
// `ticketrail check` says is right is what the daemon runs.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
	"ticketrail/receiver/posapi"
)

// Load reads a configuration file and checks all of it: what the file says, and what only the
// packages behind it know (profiles, addresses, expressions). The error is [config.Problems].
func Load(path string) (*config.Config, error) { return config.Load(path, problems) }

// Check is [Load] for what a person wants to know: every problem, and what is allowed but
// worth knowing.
func Check(path string) (warnings []string, err error) {
	conf, err := Load(path)
	if err != nil {
		return nil, err
	}
	return append(conf.Warnings, station.FontWarnings(conf)...), nil
}

func problems(conf *config.Config) []config.Problem {
	out := station.Problems(conf)
	add := func(path, msg string) { out = append(out, config.Problem{Path: path, Msg: msg}) }
	if conf.Service.Enabled() {
		if _, err := NewServiceClient(conf.Service, nil, nil, nil); err != nil {
			add("service", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	if _, err := CompilePlan(conf); err != nil {
		for _, e := range flatten(err) {
			if p, ok := errors.AsType[*plan.Problem](e); ok {
				add(p.Path, oneLine(p.Msg))
			} else {
				add("routes", e.Error())
			}
		}
	}
	return out
}

// oneLine shows a mistake in an expression as what and where, and the expression; the
// arrow that points at it in a line of its own would not survive a list of problems.
func oneLine(msg string) string {
	what, snippet, ok := strings.Cut(msg, "\n")
	if !ok {
		return msg
	}
	expression, _, _ := strings.Cut(strings.TrimLeft(snippet, " |"), "\n")
	return fmt.Sprintf("%s in %s", what, expression)
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range many.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

// CompilePlan compiles the routes of a configuration.
func CompilePlan(conf *config.Config) (*plan.Plan, error) {
	c := plan.Config{Fallback: conf.Fallback, Fields: conf.Ticket.Fields}
	for _, r := range conf.Routes {
		c.Routes = append(c.Routes, plan.Route{Venue: r.Venue, When: r.When, To: slices.Clone(r.To), Continue: r.Continue})
	}
	return plan.Compile(c)
}

// PlanVenue is a venue as routing knows it.
func PlanVenue(v config.Venue) plan.Venue {
	return plan.Venue{ID: v.ID, Name: v.Name, Zone: v.Timezone, Fallback: v.Fallback}
}

// SchemaMode is how strictly bodies are read.
func SchemaMode(conf *config.Config) contract.Mode {
	if conf.Receiver.Schema == "strict" {
		return contract.Strict
	}
	return contract.Lenient
}

// NewServiceClient makes a client of the point-of-sale API. It talks to nobody yet. A nil transport is
// the network.
func NewServiceClient(c config.Service, through http.RoundTripper, log *slog.Logger, metrics *posapi.Metrics) (*posapi.Client, error) {
	return posapi.New(posapi.Options{
		BaseURL: c.BaseURL, ClientID: c.ClientID,
		Secret: func() (string, error) {
			s, err := c.ReadSecret()
			return s.Reveal(), err
		},
		Transport: through,
		Token: posapi.TokenOptions{
			Path: c.Token.Path, VenueParam: c.Token.VenueParam, AuthStyle: c.Token.AuthStyle,
			RenewBefore: c.Token.RenewBefore, Scopes: c.Token.Scopes,
		},
		PageLimit: c.Employees.Limit, CursorAt: c.Employees.Cursor, PayrollVenueParam: c.Payroll.VenueParam,
		Timeout: c.Timeout, Logger: log, Metrics: metrics,
	})
}

// CheckOnline asks each printer whether it is there and how it is, each third-party kitchen display
// whether it is there, the running daemon whether somebody looks at the screens, and the
// point-of-sale API about each venue, and writes a line for each on w. Nothing is printed. What is
// not there or not ready is an error, and so is a venue with which something is wrong.
func CheckOnline(ctx context.Context, path string, w io.Writer) error {
	conf, err := Load(path)
	if err != nil {
		return err
	}
	var venues []VenueCheck
	var asking sync.WaitGroup
	if conf.Service.Enabled() {
		client, err := NewServiceClient(conf.Service, nil, nil, nil)
		if err != nil {
			return err
		}
		defer client.Close()
		asking.Go(func() { venues = checkVenues(ctx, client, conf.Service.Timeout, conf.Venues) })
	}
	var wrong []error
	for _, a := range station.CheckOnline(ctx, conf) {
		for _, line := range a.Lines {
			fmt.Fprintln(w, line)
		}
		wrong = append(wrong, a.Errors...)
	}
	asking.Wait()
	if !(WallClock{}).Synchronized() {
		fmt.Fprintln(w, "WARN  clock  nothing says that it is synchronized: times on tickets may be wrong (systemctl status systemd-timesyncd)")
	}
	return errors.Join(append(wrong, ShowVenues(w, venues))...)
}
