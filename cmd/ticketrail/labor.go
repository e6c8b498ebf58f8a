package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/receiver/pos"
)

// The labor commands read employees and payroll periods from the point-of-sale API, for an
// accountant and not for the kitchen. They share one form: a table for people, CSV for a
// spreadsheet, JSON for a program. An incomplete list must never look complete, because wages are
// computed from it.

// A report is the answer to a labor command: rows for the table and for CSV, and the records for JSON. Without an
// answer it has no records.
type report struct {
	rows    [][]string
	records any
}

// newReport makes a row and a record of each element. If the list broke off there are none, because a part would look
// like the whole; if it is only incomplete, there are those that came.
func newReport[T any](list iter.Seq2[T, error], read func(T) (json.RawMessage, []string)) (report, error) {
	records, rows := []json.RawMessage{}, [][]string{}
	for one, err := range list {
		if pos.Incomplete(err) {
			return report{rows, records}, err
		}
		if err != nil {
			return report{}, err
		}
		record, row := read(one)
		records, rows = append(records, record), append(rows, row)
	}
	return report{rows, records}, nil
}

// labor is a command that shows a report about one venue. Its rows have these columns.
func (c *cli) labor(
	use, short string, columns []string, get func(context.Context, *pos.Account) (report, error),
) *cobra.Command {
	var venue string
	var asCSV, allVenues bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long: fmt.Sprintf(`%s asks the point-of-sale API and needs no running daemon.
The service must not say that the token is for another venue. If a list breaks
off, nothing of it is printed. If its length is not the count that the service
reports, what was received is printed, and the exit code is 1.

--json prints the records as the service sent them. Without it there are these
columns, as a table, or with --csv as CSV with a header line:
%s
With --all-venues the first column is the venue, and JSON has one object for
each venue: venue (its id), name, records; records is null if they could not be
read. The others are printed then, and the exit code is 1.
The CSV is UTF-8 as in RFC 4180, with a line feed at the end of each line.
Spreadsheets run a cell that begins with = + - @ as a formula: such a cell gets
an apostrophe in front. Control characters and text direction marks become
spaces. For unchanged values use --json.`, use, "  "+strings.Join(columns, "\n  ")),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, venues, err := doctor.ServiceVenues(c.config, venue, allVenues)
			if err != nil {
				return c.serviceError(err)
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
				columns = append([]string{"venue"}, columns...)
			}
			switch {
			case c.asJSON:
				err = showJSON(c.out, found.records)
			case asCSV:
				err = found.writeCSV(c.out, columns)
			default:
				err = found.writeTable(c.out, columns)
			}
			return errors.Join(err, problem)
		},
	}
	c.venueFlag(cmd, &venue, "`venue`, by name or id (if there are several: this or --all-venues)")
	cmd.Flags().BoolVar(&allVenues, "all-venues", false, "all venues of the configuration, in its order")
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
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

// writeTable changes the rows, which are used once.
func (r report) writeTable(w io.Writer, columns []string) error {
	aligned := newTable(w, strings.Split(strings.ToUpper(strings.Join(columns, " ")), " ")...)
	for _, row := range r.rows {
		for i, cell := range row {
			row[i] = cmp.Or(cell, "-") // an empty cell would make the next column look like this one
		}
		aligned.row(row...)
	}

	return aligned.end()
}

// writeCSV writes every value through layout.Cell, headers excepted, which are ours.
func (r report) writeCSV(w io.Writer, columns []string) error {
	out := csv.NewWriter(w)
	// The writer remembers its first error, and Error returns it.
	_ = out.Write(columns)
	for _, row := range r.rows {
		for i := range row {
			row[i] = layout.Cell(row[i])
		}
		_ = out.Write(row)
	}

	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
