package doctor

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/setup"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/receiver/pos"
)

// A check of a venue makes a few calls and changes nothing at the service. A call may lack a scope that the next
// does not need: an operator who has to ask the service provider for scopes wants to ask once.

const (
	// maxChecks is how many venues are checked at the same time. A chain of two hundred restaurants
	// would otherwise open as many connections, and the service might refuse them all.
	maxChecks = 8
	// enoughEmployees proves that more than one page can be read.
	enoughEmployees = 100
	// venueTimeout is for all calls about a venue together, or four times service.timeout if that is
	// longer: an operator is waiting, and a slow service may be slow in each of the calls.
	venueTimeout = time.Minute
)

// ErrNoService says that the configuration has no point-of-sale API to ask. It is an error of the
// configuration for the commands that need the API; the daemon works without it.
var ErrNoService = errors.New("service.base_url: is not set; " +
	"to use the point-of-sale API set service.base_url, client_id and client_secret_file")

// CheckVenues checks the venue with that name or id, or all configured venues, at the point-of-sale API: is a token
// issued, is it for this venue, can it read the data of tickets. It needs no running daemon. The error says that the
// API could not be asked at all.
func CheckVenues(ctx context.Context, path, venue string) ([]finding.Finding, error) {
	conf, venues, err := ServiceVenues(path, venue, venue == "")
	if err != nil {
		return nil, err
	}
	return venueFindings(ctx, conf.Service, nil, venues), nil
}

// ServiceVenues loads a configuration that has a point-of-sale API, and returns the venue with that name or id, or all.
// An empty venue is the only one there is: with several one must be named, because guessing could show one restaurant's
// wages as another's.
func ServiceVenues(path, venue string, all bool) (*config.Config, []config.Venue, error) {
	conf, err := setup.Load(path)
	switch {
	case err != nil:
		return nil, nil, err
	case !conf.Service.Enabled():
		return nil, nil, ErrNoService
	case all:
		return conf, conf.Venues, nil
	case venue == "" && len(conf.Venues) > 1:
		return nil, nil, noVenue(conf, "")
	}
	wanted, err := findVenue(conf, venue)
	return conf, []config.Venue{wanted}, err
}

// venueFindings keep the order of the configuration, whichever venue answers first. A nil through is the network.
func venueFindings(
	ctx context.Context, conf config.Service, through http.RoundTripper, venues []config.Venue,
) []finding.Finding {
	client := conf.Client(through)
	found := make([][]finding.Finding, len(venues))
	var asking errgroup.Group
	asking.SetLimit(maxChecks)
	for i, v := range venues {
		asking.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, max(venueTimeout, 4*conf.Timeout))
			defer cancel()
			found[i] = askVenue(ctx, client, v)
			return nil
		})
	}
	_ = asking.Wait() // no check returns an error
	return slices.Concat(found...)
}

// askVenue makes the calls one after the other: a finding for each that fails, or one that tickets will have their
// names and their times. The service's answers are cleaned of control characters.
func askVenue(ctx context.Context, client *pos.Client, v config.Venue) (out []finding.Finding) {
	failed := func(err error) {
		if answer, ok := errors.AsType[*pos.Error](err); ok {
			out = append(out, VenueFinding(v, answer))
		}
	}

	api, err := client.Venue(ctx, v.ID)
	if err != nil {
		failed(err)
		return out // the next calls would fail too, or read the data of another venue
	}

	known := 0
	for _, err := range api.Employees(ctx) {
		if known++; err != nil || known > enoughEmployees {
			failed(err)
			break
		}
	}

	// Payroll periods are only read for their time zone, so a venue with one in the configuration
	// needs no access to them.
	if v.Timezone == "" && ctx.Err() == nil {
		_, err := api.Zone(ctx)
		failed(err)
	}

	if out != nil {
		return out
	}

	token, scopes := "token OK, but /me does not name its venue", "scopes unknown"
	if api.Named {
		token = "token OK and for this venue"
	}

	if api.Scopes != nil {
		scopes = "scopes " + cmp.Or(strings.Join(api.Scopes, ", "), "none")
	}
	return []finding.Finding{finding.Fine("venue "+v.Name, layout.Clean(token+"; "+scopes))}
}

// VenueFinding is a call that failed.
func VenueFinding(v config.Venue, err *pos.Error) finding.Finding {
	failed := finding.New("venue/"+v.Name+"/"+err.Call, finding.Fail, err.Call+" fails", layout.Clean(err.Problem),
		layout.Clean(err.Advice))
	failed.Subject = "venue " + v.Name
	return failed
}
