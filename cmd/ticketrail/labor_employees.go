package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/receiver/pos"
)

// laborEmployees lists the ids that timecards and orders refer to, with their names. The service
// returns active employees only.
func (c *cli) laborEmployees() *cobra.Command {
	columns := []string{"id", "name", "first_name", "last_name", "updated_at"}
	short := "list the active employees of a venue"
	return c.labor("employees", short, columns, func(ctx context.Context, venue *pos.Venue) (report, error) {
		all, err := pos.Collect(venue.Employees(ctx))
		if all == nil {
			return report{}, err
		}
		r := report{heads: []string{"NAME", "FIRST NAME", "LAST NAME", "UPDATED", "ID"}}
		records := []json.RawMessage{}
		for _, e := range all {
			records = append(records, e.Raw)
			r.rows = append(r.rows, reportRow{
				table: []string{e.Name, e.FirstName, e.LastName, c.formatStamp(e.UpdatedAt), e.ID},
				csv:   []string{e.ID, e.Name, e.FirstName, e.LastName, formatUTC(e.UpdatedAt)},
			})
		}
		r.all = records
		return r, err
	})
}

// formatStamp is a time of the service as a table shows it; what is no time is shown as it is.
func (c *cli) formatStamp(s string) string {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return c.formatTime(t)
	}
	return s
}

// formatUTC is a time of the service as a CSV has it: in UTC and with its fractions, so that the value means the
// same on every machine.
func formatUTC(s string) string {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC().Format(time.RFC3339Nano)
	}
	return s
}
