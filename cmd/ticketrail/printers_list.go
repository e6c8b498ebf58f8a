package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/queue/ticket"
)

// `printers list` is the command for "the kitchen gets nothing": one line for each station, and below the table the
// cause and the remedy of each problem. With names it is also a check for monitoring.

func (c *cli) printersList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [STATION...]",
		Short: "list stations, their state and how to fix problems",
		Long: `list shows every station (printer, screen or third-party kitchen display), how
many tickets wait for it, and what to do if its tickets do not print. With names
it shows only those stations, and the exit code is 1 if one of them has a
problem.

PROOF is the best evidence that the station can give for a ticket:
  confirmed  the printer reports that this ticket was printed to its end
  processed  the printer answers a query that was sent behind the ticket
  sent       the printer accepts the data and reports nothing
  shown      an open page of the screen reports that it shows the ticket
  taken      the third-party kitchen display accepts the ticket`,
	}

	return c.asking(c.stationArg(c.jsonFlag(cmd)), func(ctx context.Context, d *admin.Client, args []string) error {
		all, err := d.Stations(ctx)
		if err == nil {
			err = c.findZone(ctx, d)
		}
		if err != nil {
			return err
		}

		now := time.Now()
		selected, err := selectStations(all.Stations, args)
		if err == nil {
			err = c.show(selected, func() error { return c.stationTable(selected, now.In(c.location())) })
		}

		// Without names the exit code stays 0: a listing that worked is no failure, whatever it
		// shows.
		if err != nil || len(args) == 0 {
			return err
		}
		var found []finding.Finding
		for _, p := range selected {
			found = append(found, p.Findings(now)...)
		}
		return personNeeded(found)
	})
}

// selectStations keeps the order of the command line. A name that does not exist is an error, or a
// check of a misspelt station would always succeed.
func selectStations(all []finding.Station, names []string) ([]finding.Station, error) {
	if len(names) == 0 {
		return all, nil
	}
	var there []string
	for _, p := range all {
		there = append(there, p.Name)
	}

	var selected []finding.Station
	for _, n := range names {
		i := slices.Index(there, n)
		if i < 0 {
			return nil, admin.NoStation(n, there) // as the daemon itself says it
		}
		selected = append(selected, all[i])
	}

	return selected, nil
}

// stationTable puts advice below the table, where it has room for a whole sentence. Waiting counts
// the ticket that is printing too: for the cook it has not come.
func (c *cli) stationTable(all []finding.Station, now time.Time) error {
	rows := newTable(c.out, "STATION", "STATE", "SINCE", "WAITING", "HELD", "OLDEST", "PROOF", "ADDRESS")
	for _, p := range all {
		oldest := "-"
		if p.Pending+p.Printing > 0 {
			oldest = finding.Age(time.Duration(p.OldestSeconds * float64(time.Second)))
		}
		rows.row(p.Name, stateText(p), ageOf(p.Since, now), strconv.Itoa(p.Pending+p.Printing), strconv.Itoa(p.Held),
			oldest, proofText(p), p.Address)
	}
	if err := rows.end(); err != nil {
		return err
	}

	var below page
	for _, p := range all {
		found := p.Findings(now)
		for i, f := range found {
			if i == 0 {
				below.add("")
			}
			if !f.Since.IsZero() {
				f.Since = f.Since.In(now.Location())
			}
			below.add("%s: %s", p.Name, cause(f))
			below.add("%s: to fix: %s", p.Name, f.Do)
		}

		// Below a second the answer would be old before it is read.
		if len(found) > 0 && p.Hold == nil && p.NextTry.Sub(now) >= time.Second {
			below.add("%s: next attempt in %s", p.Name, finding.Age(p.NextTry.Sub(now)))
		}
	}

	return write(c.out, below.String())
}

// stateText is the state of a station. The report of the device itself ("paper out") says more than "down", so it is
// shown instead, except while the operator holds the station. A screen shows its open pages instead, which is the
// meaning of "up" for it.
func stateText(p finding.Station) string {
	switch {
	case p.Device == nil:
		return string(p.State)
	case p.Pages > 0 && (p.State == finding.Untried || p.State == finding.Up):
		return pages(p.Pages)
	}

	// An untried printer may have been polled, and one that is up may be low on paper.
	reported := p.State == finding.Untried || p.State == finding.Down && !p.Device.Fine ||
		p.State == finding.Up && len(p.Device.Conditions) > 0
	if reported {
		return strings.ReplaceAll(p.Device.State, "_", " ")
	}

	return string(p.State)
}

// proofText is the best evidence that a station can give for its tickets; "-" while it is unknown. A third-party
// display has no device that reports it: its evidence is fixed by its protocol.
func proofText(p finding.Station) string {
	if p.Kind == finding.KindDisplay || p.Kind == finding.KindLog && p.Address != "stdout" {
		return string(ticket.Taken)
	}
	if p.Device == nil || p.Device.BestProof == "" {
		return "-"
	}
	return p.Device.BestProof
}
