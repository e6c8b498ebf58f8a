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
	return c.labor("employees", short, columns, func(ctx context.Context, venue *pos.Account) (report, error) {
		return newReport(venue.Employees(ctx), func(e pos.Employee) (json.RawMessage, []string) {
			return e.Raw, []string{e.ID, e.Name, e.FirstName, e.LastName, formatUTC(e.UpdatedAt)}
		})
	})
}

// formatUTC is a time of the service in UTC and with its fractions, so that it means the same on every machine; any
// other text is passed on as it is.
func formatUTC(s string) string {
	if parsed, err := time.Parse(time.RFC3339, s); err == nil {
		return parsed.UTC().Format(time.RFC3339Nano)
	}
	return s
}
