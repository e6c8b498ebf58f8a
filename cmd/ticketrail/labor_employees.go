package main

import (
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// laborEmployees lists the ids that timecards and orders refer to, with their names. The service
// returns active employees only.
func (c *cli) laborEmployees() *cobra.Command {
	columns := []string{"id", "name", "first_name", "last_name", "updated_at"}
	short := "list the active employees of a venue"
	return c.labor("employees", short, columns, func(cmd *cobra.Command, venue string) (report, error) {
		all, err := doctor.Employees(cmd.Context(), c.config, venue)
		r := report{heads: []string{"NAME", "FIRST NAME", "LAST NAME", "UPDATED", "ID"}, all: all}
		for _, e := range all {
			r.rows = append(r.rows, reportRow{
				table: []string{e.Name, e.FirstName, e.LastName, c.formatTimeOrBlank(e.UpdatedAt), e.ID},
				csv:   []string{e.ID, e.Name, e.FirstName, e.LastName, formatUTC(e.UpdatedAt)},
			})
		}
		return r, err
	})
}

// formatTimeOrBlank is a time as a table shows it; a zero time is empty. A service may leave
// updatedAt out.
func (c *cli) formatTimeOrBlank(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return c.formatTime(t)
}

// formatUTC is a time as a CSV has it; a zero time is empty. In UTC and with its fractions, so that
// the value means the same on every machine.
func formatUTC(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
