// Package setup makes parts of the daemon of its configuration: the plan of the routes, the client of the point-of-sale
// API. The daemon and the commands that need none load and check a configuration here, so one that `ticketrail check`
// accepts is one that the daemon accepts, and what `ticketrail inspect` shows is what an order becomes.
package setup

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

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
func Load(path string) (*config.Config, error) { return config.Load(path, Problems) }

// Problems are those that the package config cannot find, because it imports nothing of ours: it
// has no profiles and no compiler of expressions.
func Problems(conf *config.Config) []config.Problem {
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
		Scopes: c.Token.Scopes, TokenField: c.Token.Field,
		PageLimit: c.Employees.Limit, CursorAt: c.Employees.Cursor, PayrollVenueParam: c.Payroll.VenueParam,
	})
}
