package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/receiver/posapi"
)

// A check of a venue makes at most four calls, the token included, and changes nothing at the
// service. It goes on after an error where the next call can still tell something: an operator who
// has to ask the service provider for a scope wants to ask once.

// A VenueCheck is the result of checking a venue at the point-of-sale API.
type VenueCheck struct {
	Venue string `json:"venue"` // its id
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	// Resolved is the venue that the token is for, from /me; empty if /me does not name it.
	Resolved string   `json:"resolved,omitempty"`
	Scopes   []string `json:"scopes"` // of the token, from /me; null if /me does not list them
	// Drift is the difference between the service's clock and this box's, in seconds; null if no
	// answer had a time.
	Drift    *float64       `json:"drift_seconds"`
	Problems []VenueProblem `json:"problems"`
	// Reading is how the service was read where its contract leaves a choice.
	Reading posapi.Reading  `json:"reading"`
	Me      json.RawMessage `json:"me,omitempty"` // the answer of /me
}

// A VenueProblem is one problem with a venue, and how to fix it.
type VenueProblem struct {
	Check string `json:"check"` // token, me, venue, employees, payrollperiods or clock
	What  string `json:"what"`
	Fix   string `json:"do,omitempty"`
}

const (
	// maxDrift is how far two clocks may differ. Tickets show minutes.
	maxDrift = time.Minute
	// maxChecks is how many venues are checked at the same time. A chain of two hundred restaurants
	// would otherwise open as many connections, and the service might refuse them all.
	maxChecks = 8
	// venueTimeout is for all calls about a venue together, or four times service.timeout if that is
	// longer: an operator is waiting, and a slow service may be slow in each of the four calls.
	venueTimeout = time.Minute
)

// ErrNoService says that the configuration has no point-of-sale API to ask. It is an error of the
// configuration for the commands that need the API; the daemon works without it.
var ErrNoService = errors.New("service.base_url: is not set; " +
	"to use the point-of-sale API set service.base_url, client_id and client_secret_file")

// UnknownVenue is the error for a venue that is not in the configuration. The command line exits
// with 2 for it: wrong usage.
type UnknownVenue struct {
	Want string   // name or id as given; empty if none was given and there are several
	Have []string // names of the configured venues
}

func (e *UnknownVenue) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("no venue: name one with --venue; there is %s", quoted(e.Have))
	}
	return fmt.Sprintf("no venue is called %q; there is %s%s", e.Want, quoted(e.Have),
		config.DidYouMean(e.Want, e.Have))
}

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(list, ", ")
}

// CheckVenues checks the venue with that name or id, or all configured venues, at the point-of-sale
// API: is a token issued, is it for this venue, can it read what tickets need, do the clocks agree.
// It needs no running daemon. Problems of a venue are in its VenueCheck; the error says that the
// API could not be asked at all.
func CheckVenues(ctx context.Context, path, venue string) ([]VenueCheck, error) {
	conf, client, err := service(path)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	venues := conf.Venues
	if venue != "" {
		v, err := findVenue(conf, venue)
		if err != nil {
			return nil, err
		}
		venues = []config.Venue{v}
	}
	return checkVenues(ctx, client, conf.Service.Timeout, venues), nil
}

// service loads the configuration at path and makes a client of its point-of-sale API.
func service(path string) (*config.Config, *posapi.Client, error) {
	conf, err := Load(path)
	if err != nil {
		return nil, nil, err
	}
	if !conf.Service.Enabled() {
		return nil, nil, ErrNoService
	}
	client, err := NewServiceClient(conf.Service, nil, nil, nil)
	return conf, client, err
}

// checkVenues keeps the order of the configuration, whichever venue answers first.
func checkVenues(
	ctx context.Context, client *posapi.Client, timeout time.Duration, venues []config.Venue,
) []VenueCheck {
	checks := make([]VenueCheck, len(venues))
	slots := make(chan struct{}, maxChecks)
	var asking sync.WaitGroup
	for i, v := range venues {
		asking.Go(func() {
			// The time limit starts after the wait for a slot, or the last venues of many would
			// have none left.
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, max(venueTimeout, 4*timeout))
			defer cancel()
			checks[i] = checkVenue(ctx, client.Venue(v.ID), v)
		})
	}
	asking.Wait()
	return checks
}

// checkVenue asks about one venue. OK means that tickets will have their names and their times.
func checkVenue(ctx context.Context, api *posapi.Venue, v config.Venue) VenueCheck {
	c := VenueCheck{Venue: v.ID, Name: v.Name, Problems: []VenueProblem{}}
	c.ask(ctx, api, v)
	c.Reading = api.Reading()
	if c.Drift != nil && math.Abs(*c.Drift) >= maxDrift.Seconds() {
		apart := time.Duration(math.Abs(*c.Drift) * float64(time.Second)).Round(time.Second)
		c.problem("clock", fmt.Sprintf("the service's clock and this box's are %v apart", apart),
			"check this box's clock with timedatectl; if it is right, tell the service provider")
	}
	c.OK = len(c.Problems) == 0
	return c
}

// ask makes the calls one after the other, and stops at an error that the next call would also get.
// /me comes first, because its error or its venue makes the others pointless.
func (c *VenueCheck) ask(ctx context.Context, api *posapi.Venue, v config.Venue) {
	me, err := api.Me(ctx)
	c.clock(api)
	c.Resolved, c.Scopes, c.Me = me.Venue, me.Scopes, me.Raw
	if err != nil && c.fault(err) {
		return
	}
	if me.Venue != "" && me.Venue != v.ID {
		c.problem("venue", fmt.Sprintf("the token is for venue %s", me.Venue),
			"check the venue's id in the configuration, and service.token.venue_param")
		return // the next calls would read the data of another venue
	}
	for _, err := range api.Employees(ctx) { // the first record proves the access
		if err != nil && c.fault(err) {
			return
		}
		break
	}
	c.clock(api)
	// Payroll periods are only read for their time zone, so a venue with one in the configuration
	// needs no access to them.
	if v.Timezone != "" {
		return
	}
	periods, err := api.PayrollPeriods(ctx)
	c.clock(api)
	switch {
	case err != nil:
		c.fault(err)
	case !zoned(periods):
		c.problem("payrollperiods", "no payroll period has a time zone: the venue's tickets show UTC",
			"set the venue's timezone in the configuration")
	}
}

// zoned reports whether one of the periods has a time zone.
func zoned(periods []posapi.PayrollPeriod) bool {
	for _, p := range periods {
		if p.Meta.Timezone != "" {
			return true
		}
	}
	return false
}

// clock keeps the largest difference seen so far. It is called after each call, because not every
// answer has a Date header.
func (c *VenueCheck) clock(api *posapi.Venue) {
	if s, known := api.Drift(); known && (c.Drift == nil || math.Abs(s) > math.Abs(*c.Drift)) {
		c.Drift = &s
	}
}

func (c *VenueCheck) problem(check, what, fix string) {
	c.Problems = append(c.Problems, VenueProblem{check, what, fix})
}

// fault records why a call failed. It reports whether other calls would fail for the same reason.
// It stops at an error of the token, of the network or of a limit, and goes on after a refused
// call: that one may lack a scope which others do not need.
func (c *VenueCheck) fault(err error) (all bool) {
	if n, ok := errors.AsType[*posapi.CountError](err); ok {
		c.problem(string(n.Call), fmt.Sprintf("the service sent none and reports a count of %d", n.Want),
			"check service.employees.cursor")
		return false
	}
	e, ok := errors.AsType[*posapi.Error](err)
	if !ok {
		c.problem("me", err.Error(), "")
		return true
	}
	// The client knows best what its own error means; else the kind of error decides.
	fix := e.Advice
	switch {
	case fix != "":
	case errors.Is(err, posapi.ErrRateLimited):
		fix = "wait and try again; if it continues, ask the service provider for its limits"
	case errors.Is(err, posapi.ErrSecret):
		fix = "check service.client_secret_file"
	case errors.Is(err, posapi.ErrUnavailable) && e.Status == 0:
		fix = "check service.base_url, and that this box reaches it: DNS, route, firewall, proxy"
	case errors.Is(err, posapi.ErrUnavailable):
		fix = "the service has a problem: try again later"
	case errors.Is(err, posapi.ErrMalformed), errors.Is(err, posapi.ErrRefused):
		fix = "if it continues, tell the service provider"
	case contextEnded(err):
		fix = "the service or the network is slow: try again later"
	}
	c.problem(string(e.Call), e.Problem, fix)
	return e.Call == posapi.CallToken || errors.Is(err, posapi.ErrUnavailable) ||
		errors.Is(err, posapi.ErrRateLimited) || contextEnded(err)
}

// contextEnded reports whether the check itself ran out of time, or was interrupted.
func contextEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ShowVenues writes two lines for each venue without problems, and one line for each problem. Its
// error names the venues with problems. The names of the venues are from the configuration; what
// the service answered is cleaned of control characters.
func ShowVenues(w io.Writer, checks []VenueCheck) error {
	var bad []string
	for _, c := range checks {
		if c.OK {
			// One write a line, which the terminal's width may break.
			for _, line := range []string{
				"OK    venue " + c.Name + "  " + layout.Clean(c.summary()), "      " + layout.Clean(c.answered()),
			} {
				if _, err := fmt.Fprintln(w, line); err != nil {
					return err
				}
			}
			continue
		}
		bad = append(bad, c.Name)
		for _, p := range c.Problems {
			line := p.Check + ": " + p.What
			if p.Fix != "" {
				line += "; to fix: " + p.Fix
			}
			if _, err := fmt.Fprintf(w, "FAIL  venue %s  %s\n", c.Name, layout.Clean(line)); err != nil {
				return err
			}
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("the point-of-sale API reports problems for %s", strings.Join(bad, ", "))
	}
	return nil
}

// answered names the reading that answered.
func (c VenueCheck) answered() string {
	s := fmt.Sprintf("it answers at %s, %s and %s", c.Reading.Token, c.Reading.Me, c.Reading.Labor)
	if c.Reading.NextPage != "" {
		s += "; the next page is named by " + c.Reading.NextPage
	}
	return s
}

// summary is the line of a venue without problems.
func (c VenueCheck) summary() string {
	token := "token OK, but /me does not name its venue"
	if c.Resolved != "" {
		token = "token OK and for this venue"
	}
	scopes := "scopes unknown"
	if c.Scopes != nil {
		scopes = "scopes " + cmp.Or(strings.Join(c.Scopes, ", "), "none")
	}
	clock := "clock of the service unknown"
	if c.Drift != nil {
		clock = fmt.Sprintf("clocks %.0f s apart", math.Abs(*c.Drift))
	}
	return token + "; " + scopes + "; " + clock
}

// Employees are the employees of the venue with that name or id, in the service's order. An empty
// venue is the only one there is. With a [posapi.CountError] the received records are returned too;
// with any other error none are, because payroll could take an incomplete list for a complete one.
// It is for payroll, not for tickets: the daemon reads names through the directory.
func Employees(ctx context.Context, path, venue string) ([]posapi.Employee, error) {
	api, err := venueOf(path, venue)
	if err != nil {
		return nil, err
	}
	all := []posapi.Employee{}
	for e, err := range api.Employees(ctx) {
		if _, ok := errors.AsType[*posapi.CountError](err); ok {
			return all, err
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// PayrollPeriods is [Employees] for payroll periods.
func PayrollPeriods(ctx context.Context, path, venue string) ([]posapi.PayrollPeriod, error) {
	api, err := venueOf(path, venue)
	if err != nil {
		return nil, err
	}
	return api.PayrollPeriods(ctx)
}

// venueOf is the venue of the configuration, ready to be asked. With several venues one must be
// named: guessing could show one restaurant's wages as another's.
func venueOf(path, venue string) (*posapi.Venue, error) {
	conf, client, err := service(path)
	if err != nil {
		return nil, err
	}
	if venue == "" && len(conf.Venues) > 1 {
		return nil, noVenue(conf, "")
	}
	v, err := findVenue(conf, venue)
	return client.Venue(v.ID), err
}
