// Package doctor holds the checks of a kitchen that need no running daemon: is the configuration
// valid, which tickets would a print request make, do the printers and the point-of-sale API
// answer, is the database undamaged. The daemon loads its configuration through this package, so a
// configuration that `ticketrail check` accepts is one that the daemon accepts. The checks ask
// printers and services directly, so they also work on a box that is not set up yet, and never
// print a ticket. Their errors are written for the operator: what is wrong, the value, and how to
// fix it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/cmd/internal/notify"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
	"ticketrail/receiver/pos"
)

// Load reads a configuration file and checks all of it, including what only other packages can
// check (profiles, addresses, expressions). The error is [config.Problems]. All problems are found
// in one run: to correct one and start again, ten times, takes too long on a Friday evening.
func Load(path string) (*config.Config, error) { return config.Load(path, problems) }

// Check is [Load] for an operator: besides the problems it returns warnings, about things that are
// allowed but probably not meant. Warnings do not keep the daemon from starting.
func Check(path string) (warnings []string, err error) {
	_, warnings, err = check(path)
	return warnings, err
}

func check(path string) (conf *config.Config, warnings []string, err error) {
	if conf, err = Load(path); err != nil {
		return nil, nil, err
	}
	return conf, append(conf.Warnings, station.FontWarnings(conf)...), nil
}

// sentence is what was found, and what to do about it.
func sentence(f admin.Finding) string {
	if f.Do == "" {
		return f.Text
	}
	return f.Text + "; to fix: " + f.Do
}

// CheckInstalled is [Check] on a box with the units of ticketrail: what keeps the service from using the
// configuration is an error too, although the file is right.
func CheckInstalled(ctx context.Context, path string) (warnings []string, err error) {
	conf, warnings, err := check(path)
	if err != nil {
		return nil, err
	}
	return withFindings(warnings, UnitFindings(ctx, path, conf))
}

// withFindings adds findings to warnings; those that keep a service from starting are the error.
func withFindings(warnings []string, findings []admin.Finding) ([]string, error) {
	var problems []error
	for _, f := range findings {
		if f.Level == admin.Fail {
			problems = append(problems, errors.New(f.Subject+": "+sentence(f)))
		} else {
			warnings = append(warnings, f.Subject+": "+sentence(f))
		}
	}
	return warnings, errors.Join(problems...)
}

// CheckRelay is [Check] for the file of a relay. Without its credentials a relay does not start.
func CheckRelay(path string) (warnings []string, err error) {
	conf, err := config.LoadRelay(path)
	if err != nil {
		return nil, err
	}
	if _, err := natsaccess.ReadCredentials(conf.NATS.CredsFile); err != nil {
		return nil, config.Problems{{Path: "nats.creds_file", Msg: err.Error()}}
	}
	return conf.Warnings, nil
}

// CheckRelayInstalled is [CheckInstalled] for the file of a relay.
func CheckRelayInstalled(ctx context.Context, path string) (warnings []string, err error) {
	if warnings, err = CheckRelay(path); err != nil {
		return nil, err
	}
	user := serviceUnit(ctx, relayUnit, path)["User"]
	return withFindings(warnings, readable(ctx, relayUnit, user, path, "relay", "check"))
}

// problems are those that the package config cannot find, because it imports nothing of ours: it
// has no profiles and no compiler of expressions.
func problems(conf *config.Config) []config.Problem {
	out := slices.Concat(station.Problems(conf), notify.Problems(conf))
	add := func(path, msg string) { out = append(out, config.Problem{Path: path, Msg: msg}) }
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

// oneLine shortens an error of the expression compiler to the message and the expression. The
// compiler also draws an arrow on a line of its own, which makes no sense in a list of problems.
func oneLine(msg string) string {
	what, snippet, ok := strings.Cut(msg, "\n")
	if !ok {
		return msg
	}
	expression, _, _ := strings.Cut(strings.TrimLeft(snippet, " |"), "\n")
	return fmt.Sprintf("%s in %s", what, expression)
}

// flatten lists the errors that err joins. Each becomes a problem with its own path, and so its own
// line of the file.
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

// CompilePlan compiles the routes of a configuration. It is done at the start and at a reload,
// never while a request waits.
func CompilePlan(conf *config.Config) (*plan.Plan, error) {
	c := plan.Config{Fallback: conf.Fallback, Fields: conf.Ticket.Fields, Silenced: conf.Ticket.Silence,
		Logs: conf.LogNames()}
	for _, r := range conf.Routes {
		c.Routes = append(c.Routes, plan.Route{
			Venue: r.Venue, When: r.When, To: slices.Clone(r.To), Continue: r.Continue,
		})
	}
	return plan.Compile(c)
}

// PlanVenue is a venue in the form that routing uses. `inspect` and the webhook both use it, so
// what inspect shows is what an order becomes.
func PlanVenue(v config.Venue) plan.Venue {
	return plan.Venue{ID: v.ID, Name: v.Name, Zone: v.Timezone, Fallback: v.Fallback}
}

// SchemaMode is how strictly request bodies are checked: receiver.schema. Lenient is the default: a
// strict check refuses with 400, after which the service gives the order up.
func SchemaMode(conf *config.Config) contract.Mode {
	if conf.Receiver.Schema == "strict" {
		return contract.Strict
	}
	return contract.Lenient
}

// NewServiceClient makes a client of the point-of-sale API. It does not connect. A nil through is the network. The
// secret is read from its file at each token request, so a renewed one needs no restart.
func NewServiceClient(c config.Service, through http.RoundTripper) *pos.Client {
	return pos.New(pos.Options{
		BaseURL: c.BaseURL, ClientID: c.ClientID, Transport: through, Timeout: c.Timeout,
		Secret: func() (string, error) {
			s, err := c.ReadSecret()
			return s.Reveal(), err
		},
		TokenPath: c.Token.Path, MePath: c.Me.Path, LaborPrefix: c.Labor.Prefix,
		TokenVenueParam: c.Token.VenueParam, ClientIDParam: c.Token.ClientIDParam,
		ClientSecretParam: c.Token.ClientSecretParam, InHeader: c.Token.AuthStyle == "header",
		AsJSON: c.Token.Format == "json",
		Scopes: c.Token.Scopes, TokenField: c.Token.Field, RenewBefore: c.Token.RenewBefore,
		PageLimit: c.Employees.Limit, CursorAt: c.Employees.Cursor, PayrollVenueParam: c.Payroll.VenueParam,
	})
}

// CheckOnline asks each printer for its status, each third-party kitchen display whether it
// answers, the running daemon which screens have an open page, and the point-of-sale API about each
// venue. It writes one line for each to w. No ticket is printed. The error names everything that
// does not answer, is not ready or has a problem. It connects to each printer, so a printer that
// serves one client is busy for the daemon meanwhile.
func CheckOnline(ctx context.Context, path string, w io.Writer) error {
	conf, err := Load(path)
	if err != nil {
		return err
	}
	var venues []VenueCheck
	var asking sync.WaitGroup
	if conf.Service.Enabled() {
		// In the background: the venues may take a minute, and the printers' lines are what the
		// operator waits for.
		asking.Go(func() { venues = checkVenues(ctx, conf.Service, nil, conf.Venues) })
	}
	var problems []error
	var failed []string
	for _, f := range station.CheckOnline(ctx, conf) {
		fmt.Fprintf(w, "%-5s %s  %s\n", strings.ToUpper(string(f.Level)), f.Subject, sentence(f))
		if f.Level == admin.Fail {
			failed = append(failed, f.Subject)
		}
	}
	if len(failed) > 0 { // on one line, also in a kitchen with twenty printers
		problems = append(problems, fmt.Errorf("no ticket comes out of %s", strings.Join(failed, ", ")))
	}
	asking.Wait()
	// A warning only: a box without Internet prints well.
	if !(WallClock{}).Synchronized() {
		fmt.Fprintln(w, "WARN  clock  may not be synchronized: times on tickets may be wrong; "+
			"to fix: systemctl status systemd-timesyncd")
	}
	return errors.Join(append(problems, ShowVenues(w, venues))...)
}
