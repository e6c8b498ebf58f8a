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

// A VenueCheck is what the point-of-sale API answers about a venue.
type VenueCheck struct {
	Venue string `json:"venue"` // its id
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	// Resolved is the venue that the token is for, by /me; empty: not told.
	Resolved string   `json:"resolved,omitempty"`
	Scopes   []string `json:"scopes"` // that the token has, by /me; null: not told
	// Drift is by how many seconds the service's clock and this box's differ; null: not told.
	Drift    *float64        `json:"drift_seconds"`
	Problems []VenueProblem  `json:"problems"`
	Me       json.RawMessage `json:"me,omitempty"` // what /me answered
}

// A VenueProblem is one thing that is not as it should be, and what to do.
type VenueProblem struct {
	Check string `json:"check"` // token, me, venue, employees, payrollperiods or clock
	What  string `json:"what"`
	Do    string `json:"do,omitempty"`
}

const (
	// clockAgrees is how far two clocks may be apart: a minute is what tickets show.
	clockAgrees = time.Minute
	// checksAtOnce bounds how many venues are asked about at a time.
	checksAtOnce = 8
	// venueWithin is how long all the calls about a venue may take, or four times the time-out of
	// one if that is longer: somebody sits and waits, and a service can be slow in each of them.
	venueWithin = time.Minute
)

// ErrNoService is why the point-of-sale API cannot be asked.
var ErrNoService = errors.New("service.base_url: is not set; the point-of-sale API is asked with service.base_url, client_id and client_secret_file")

// UnknownVenue is the error of asking about a venue that is not in the configuration.
type UnknownVenue struct {
	Want string   // as it was asked for
	Have []string // names
}

func (e *UnknownVenue) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("which venue? name it with --venue: there is %s", quoted(e.Have))
	}
	return fmt.Sprintf("no venue is called %q; there is %s", e.Want, quoted(e.Have))
}

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(list, ", ")
}

// CheckVenues asks the point-of-sale API about the venue with that name or id, or about all of
// the configuration: does it give a token, what is that good for, may it read what tickets
// need, do the clocks agree. It needs no running daemon. The error is that it could not be
// asked; what was answered is in the checks.
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

// service reads the configuration at path and makes a client of its service.
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

func checkVenues(ctx context.Context, client *posapi.Client, timeout time.Duration, venues []config.Venue) []VenueCheck {
	checks := make([]VenueCheck, len(venues))
	turns := make(chan struct{}, checksAtOnce)
	var asking sync.WaitGroup
	for i, v := range venues {
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			ctx, cancel := context.WithTimeout(ctx, max(venueWithin, 4*timeout))
			defer cancel()
			checks[i] = checkVenue(ctx, client.Venue(v.ID), v)
		})
	}
	asking.Wait()
	return checks
}

func checkVenue(ctx context.Context, api *posapi.Venue, v config.Venue) VenueCheck {
	c := VenueCheck{Venue: v.ID, Name: v.Name, Problems: []VenueProblem{}}
	c.ask(ctx, api, v)
	if c.Drift != nil && math.Abs(*c.Drift) >= clockAgrees.Seconds() {
		c.problem("clock", fmt.Sprintf("the service's clock and this box's are %v apart", time.Duration(math.Abs(*c.Drift)*float64(time.Second)).Round(time.Second)),
			"look at this box's time with timedatectl; if it is right, tell the service")
	}
	c.OK = len(c.Problems) == 0
	return c
}

// ask makes the calls, until one says that the next is in vain.
func (c *VenueCheck) ask(ctx context.Context, api *posapi.Venue, v config.Venue) {
	me, err := api.Me(ctx)
	c.clock(api)
	c.Resolved, c.Scopes, c.Me = me.Venue, me.Scopes, me.Raw
	if err != nil && c.fault(err) {
		return
	}
	if me.Venue != "" && me.Venue != v.ID {
		c.problem("venue", fmt.Sprintf("its token is for venue %s", me.Venue),
			"check the venue's id in the configuration, and service.token.venue_param")
		return // these would be somebody else's employees
	}
	for _, err := range api.Employees(ctx) { // the first page does
		if err != nil && c.fault(err) {
			return
		}
		break
	}
	c.clock(api)
	if v.Timezone != "" {
		return
	}
	periods, err := api.PayrollPeriods(ctx)
	c.clock(api)
	switch {
	case err != nil:
		c.fault(err)
	case !zoned(periods):
		c.problem("payrollperiods", "none says the venue's time zone: its tickets show UTC", "set the venue's timezone in the configuration")
	}
}

func zoned(periods []posapi.PayrollPeriod) bool {
	for _, p := range periods {
		if p.Meta.Timezone != "" {
			return true
		}
	}
	return false
}

// clock keeps the largest difference that was seen: not every answer tells the time.
func (c *VenueCheck) clock(api *posapi.Venue) {
	if s, known := api.Drift(); known && (c.Drift == nil || math.Abs(s) > math.Abs(*c.Drift)) {
		c.Drift = &s
	}
}

func (c *VenueCheck) problem(check, what, do string) {
	c.Problems = append(c.Problems, VenueProblem{check, what, do})
}

// fault notes why a call failed, and says whether others would for the same reason.
func (c *VenueCheck) fault(err error) (all bool) {
	if n, ok := errors.AsType[*posapi.CountError](err); ok {
		c.problem(string(n.Call), fmt.Sprintf("none came, but the service counts %d", n.Want[len(n.Want)-1]), "check service.employees.cursor")
		return false
	}
	e, ok := errors.AsType[*posapi.Error](err)
	if !ok {
		c.problem("me", err.Error(), "")
		return true
	}
	what := e.Problem
	if e.Says != "" {
		what += fmt.Sprintf(": it says %q", e.Says)
	}
	do := e.Advice
	switch {
	case do != "":
	case errors.Is(err, posapi.ErrRateLimited):
		do = "wait, and ask again; if it stays so, ask the service for its limits"
	case errors.Is(err, posapi.ErrSecret):
		do = "check service.client_secret_file"
	case errors.Is(err, posapi.ErrUnavailable) && e.Status == 0:
		do = "check service.base_url, and that this box reaches it: name, route, firewall, proxy"
	case errors.Is(err, posapi.ErrUnavailable):
		do = "the service has trouble of its own: ask again later"
	case errors.Is(err, posapi.ErrMalformed), errors.Is(err, posapi.ErrRefused):
		do = "if it stays so, tell whoever runs the service"
	case ctxOver(err):
		do = "the service is slow, or this box's way to it: ask again later"
	}
	c.problem(string(e.Call), what, do)
	return e.Call == posapi.CallToken || errors.Is(err, posapi.ErrUnavailable) || errors.Is(err, posapi.ErrRateLimited) || ctxOver(err)
}

func ctxOver(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ShowVenues writes a line for each venue that is fine, and one for each problem. Its error
// says which venues are not.
func ShowVenues(w io.Writer, checks []VenueCheck) error {
	var bad []string
	for _, c := range checks {
		if c.OK {
			if _, err := fmt.Fprintf(w, "OK    venue %s  %s\n", c.Name, layout.Clean(c.fine())); err != nil {
				return err
			}
			continue
		}
		bad = append(bad, c.Name)
		for _, p := range c.Problems {
			line := p.Check + ": " + p.What
			if p.Do != "" {
				line += "; do: " + p.Do
			}
			if _, err := fmt.Fprintf(w, "FAIL  venue %s  %s\n", c.Name, layout.Clean(line)); err != nil {
				return err
			}
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("the point-of-sale API is not fine for %s", strings.Join(bad, ", "))
	}
	return nil
}

// fine is what there is to say of a venue without problems.
func (c VenueCheck) fine() string {
	whose := "its token is good, whose it is /me does not tell"
	if c.Resolved != "" {
		whose = "its token is good and its own"
	}
	scopes := "scopes not told"
	if c.Scopes != nil {
		scopes = "scopes " + cmp.Or(strings.Join(c.Scopes, ", "), "none")
	}
	clock := "what time it is there was not told"
	if c.Drift != nil {
		clock = fmt.Sprintf("clocks %.0f s apart", math.Abs(*c.Drift))
	}
	return whose + "; " + scopes + "; " + clock
}

// Employees are those of the venue with that name or id, in the service's order, as the
// point-of-sale API has them now; no venue will do if there is only one. Beside a
// [posapi.CountError] what came is returned as well; beside any other error nothing is: half a
// list looks like a whole one to whoever pays by it.
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
