package main

import (
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

func (c *cli) laborEmployees() *cobra.Command {
	columns := []string{"id", "name", "first_name", "last_name", "updated_at"}
	return c.labor("employees", "the active employees of a venue", columns, func(cmd *cobra.Command, venue string) (report, error) {
		all, err := doctor.Employees(cmd.Context(), c.config, venue)
		r := report{heads: []string{"NAME", "FIRST NAME", "LAST NAME", "UPDATED", "ID"}, all: all}
		for _, e := range all {
			r.rows = append(r.rows, reportRow{
				table: []string{e.Name, e.FirstName, e.LastName, day(e.UpdatedAt), e.ID},
				csv:   []string{e.ID, e.Name, e.FirstName, e.LastName, stamp(e.UpdatedAt)},
			})
		}
		return r, err
	})
}

// day is a time as a table shows it.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clock(t)
}

// stamp is a time as a program reads it: UTC.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
