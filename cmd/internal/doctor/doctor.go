// Package doctor holds the checks of a kitchen that need no running daemon: is the configuration valid, which tickets
// would a print request make, do the printers and the point-of-sale API answer, is the database undamaged. The checks
// ask printers and services directly, so they also work on a box that is not set up yet, and never print a ticket.
// Their errors are written for the operator: the fault, the value, and the remedy.
package doctor

import (
	"context"
	"errors"
	"strings"
	"sync"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/setup"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
)

// Check is [setup.Load] for an operator: besides the problems it returns warnings, about things that are
// allowed but probably not meant. Warnings do not keep the daemon from starting. As installed, on a box with the units
// of ticketrail, an obstacle that keeps the service from using the configuration is an error too, although the file is
// right, and so is a certificate that has expired.
func Check(ctx context.Context, path string, installed bool) (warnings []string, err error) {
	conf, warnings, err := check(path)
	if err != nil || !installed {
		return warnings, err
	}

	found := UnitFindings(ctx, path, conf)
	for _, f := range Certificates(conf, "") {
		if f.Level != finding.OK && !strings.HasPrefix(f.ID, finding.NoCertificate) { // the daemon gets it
			found = append(found, f)
		}
	}

	return withFindings(warnings, found)
}

// FileFindings are the findings about the file of a unit, for a program; the warnings and err are of [Check] or
// [CheckRelay]. A box without the token of its relay starts all the same.
func FileFindings(unit, path string, warnings []string, err error) []finding.Finding {
	found := finding.Configuration{File: path, Refused: setup.Problems(path, err), Unit: unit}.Findings()
	for _, w := range warnings {
		if at := strings.Index(w, config.CannotFetch); at >= 0 {
			found = append(found, noToken(w[at+len(config.CannotFetch):]))
		}
	}
	return found
}

func check(path string) (conf *config.Config, warnings []string, err error) {
	if conf, err = setup.Load(path); err != nil {
		return nil, nil, err
	}
	_, fonts := station.NewDrawer(conf)
	return conf, append(conf.Warnings, fonts...), nil
}

// withFindings adds findings to warnings; those that keep a service from starting are the error.
func withFindings(warnings []string, findings []finding.Finding) ([]string, error) {
	var problems []error
	for _, f := range findings {
		if f.Level == finding.Fail {
			problems = append(problems, errors.New(f.Subject+": "+f.String()))
		} else {
			warnings = append(warnings, f.Subject+": "+f.String())
		}
	}

	return warnings, errors.Join(problems...)
}

// CheckRelay is [Check] for the file of a relay.
func CheckRelay(ctx context.Context, path string, installed bool) (warnings []string, err error) {
	conf, err := config.LoadRelay(path)
	if err != nil {
		return nil, err
	}
	if !installed {
		return conf.Warnings, nil
	}
	user := serviceUnit(ctx, relayUnit, path)["User"]
	return withFindings(conf.Warnings, readable(ctx, relayUnit, user, path, "relay", "check"))
}

// CheckOnline asks the printers, the displays, the point-of-sale API and the clock. No ticket is printed. It connects
// to each printer, so a printer that serves one client is busy for the daemon during the check.
func CheckOnline(ctx context.Context, path string) ([]finding.Finding, error) {
	conf, err := setup.Load(path)
	if err != nil {
		return nil, err
	}
	return append(onlineFindings(ctx, conf), clockFinding(conf)), nil
}

// onlineFindings ask each printer for its status, each third-party kitchen display whether it answers, the running
// daemon which screens have an open page, and the point-of-sale API about each venue.
func onlineFindings(ctx context.Context, conf *config.Config) []finding.Finding {
	var venues []finding.Finding
	var asking sync.WaitGroup
	if conf.Service.Enabled() {
		asking.Go(func() { venues = venueFindings(ctx, conf.Service, nil, conf.Venues) })
	}

	stations := station.CheckOnline(ctx, conf)
	asking.Wait()
	return append(stations, venues...)
}
