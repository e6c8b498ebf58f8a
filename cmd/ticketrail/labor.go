package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/config"
	"ticketrail/receiver/pos"
)

// The labor commands read employees and payroll periods from the point-of-sale API, for an
// accountant and not for the kitchen. They share one form: a table for people, JSON for a program.
// An incomplete list must never look complete, because wages are computed from it.

// A report is the answer to a labor command: rows for the table, and the records for JSON. Without an
// answer it has no records.
type report struct {
	rows    [][]string
	records any
}

// labor is a command that shows a report about one venue. Its rows have these columns.
func (c *cli) labor(
	use, short string, columns []string, get func(context.Context, *pos.Account) (report, error),
) *cobra.Command {
	var venue string
	var allVenues bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long: fmt.Sprintf(`%s asks the point-of-sale API and needs no running daemon.
The service must not say that the token is for another venue. If a list breaks
off, nothing of it is printed. If its length is not the count that the service
reports, what was received is printed, and the exit code is 1.

--json prints the records as the service sent them, from which other programs
make a spreadsheet. With --all-venues the first column is the venue, and JSON
has one object for each venue: venue (its id), name, records; records is null if
they could not be read. The others are printed then, and the exit code is 1.`, use),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, venues, err := doctor.ServiceVenues(c.config, venue, allVenues)
			if err != nil {
				return serviceError(err)
			}
			client := conf.Service.Client(nil)
			found, problem := ask(venues, allVenues, func(venue string) (report, error) {
				api, err := client.Venue(cmd.Context(), venue)
				if err != nil {
					return report{}, err
				}
				return get(cmd.Context(), api)
			})
			// The part that came is shown, because it may be all there is, and the exit code tells of the error.
			if found.records == nil {
				return problem
			}
			if allVenues {
				columns = append([]string{"VENUE"}, columns...)
			}
			err = c.show(found.records, func() error {
				table := newTable(c.out, columns...)
				for _, row := range found.rows {
					for i, cell := range row {
						row[i] = cmp.Or(cell, "-") // an empty cell would make the next column look like this one
					}
					table.row(row...)
				}
				return table.end()
			})
			return errors.Join(err, problem)
		},
	}
	c.venueFlag(cmd, &venue, "`venue`, by name or id (if there are several: this or --all-venues)")
	cmd.Flags().BoolVar(&allVenues, "all-venues", false, "all venues of the configuration, in its order")
	c.jsonFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("venue", "all-venues")
	return cmd
}

// A venueRecords is the JSON of one of several venues.
type venueRecords struct {
	Venue   string `json:"venue"`
	Name    string `json:"name"`
	Records any    `json:"records"`
}

// ask returns the report of a venue, or of several with the venue in front. A venue that is denied does not hide the
// others, and its error says that some are missing: wages of a part of the venues must not look like the wages of
// all.
func ask(venues []config.Venue, several bool, one func(venue string) (report, error)) (all report, problem error) {
	if !several {
		return one(venues[0].ID)
	}
	records := []venueRecords{}
	for _, v := range venues {
		part, err := one(v.ID)
		problem = errors.Join(problem, err)
		records = append(records, venueRecords{v.ID, v.Name, part.records})
		for _, row := range part.rows {
			all.rows = append(all.rows, append([]string{v.ID}, row...))
		}
	}
	all.records = records
	return all, problem
}

// laborEmployees lists the ids that timecards and orders refer to, with their names. The service
// returns active employees only.
func (c *cli) laborEmployees() *cobra.Command {
	columns := []string{"ID", "NAME", "FIRST_NAME", "LAST_NAME", "UPDATED_AT"}
	short := "list the active employees of a venue"
	return c.labor("employees", short, columns, func(ctx context.Context, venue *pos.Account) (report, error) {
		all, err := pos.Collect(venue.Employees(ctx))
		if all == nil {
			return report{}, err
		}

		records, rows := []json.RawMessage{}, [][]string{}
		for _, e := range all {
			records = append(records, e.Raw)
			rows = append(rows, []string{e.ID, e.Name, e.FirstName, e.LastName, e.UpdatedAt})
		}
		return report{rows, records}, err
	})
}

// laborPayrollPeriods lists the periods as the service has them. Start and end are dates without a
// time or a zone, whatever the service's field names say, so they are passed on as text.
func (c *cli) laborPayrollPeriods() *cobra.Command {
	columns := []string{
		"ID", "START", "END", "TIMEZONE", "PAY_PERIOD_START", "PAY_PERIOD_END", "OVERTIME_DAILY_HOURS",
		"OVERTIME_DAILY_DOUBLE_HOURS", "OVERTIME_WEEKLY_HOURS", "OVERTIME_WEEK_START",
		"SCHEDULING_WEEK_START", "UPDATED_AT",
	}

	short := "list the payroll periods of a venue and their overtime rules"
	return c.labor("payrollperiods", short, columns, func(ctx context.Context, venue *pos.Account) (report, error) {
		all, err := venue.PayrollPeriods(ctx)
		if all == nil {
			return report{}, err
		}

		records, rows := []json.RawMessage{}, [][]string{}
		for _, p := range all {
			records = append(records, p.Raw)
			meta := p.Meta
			rows = append(rows, []string{
				p.ID, p.Start, p.End, meta.Timezone, meta.PayPeriodStart, meta.PayPeriodEnd,
				formatHours(meta.OvertimeDaily), formatHours(meta.OvertimeDailyDouble),
				formatHours(meta.OvertimeWeekly),
				meta.OvertimeStartDay, meta.SchedulingStartDay, p.UpdatedAt,
			})
		}

		return report{rows, records}, err
	})
}

// formatHours is empty if the service sent no number, which differs from 0 hours.
func formatHours(h *float64) string {
	if h == nil {
		return ""
	}
	return strconv.FormatFloat(*h, 'f', -1, 64)
}
