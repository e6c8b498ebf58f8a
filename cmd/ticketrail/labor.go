package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/receiver/posapi"
)

// The labor commands read employees and payroll periods from the point-of-sale API, for an
// accountant and not for the kitchen. They share one form: a table for people, CSV for a
// spreadsheet, JSON for a program. An incomplete list must never look complete, because wages are
// computed from it.

// A report is the answer to a labor command: rows for the table and for CSV, and the whole as JSON.
type report struct {
	heads []string // of the table
	all   any      // for JSON
	rows  []reportRow
}

type reportRow struct{ table, csv []string }

// labor is a command that shows a report about one venue. columns are those of the CSV.
func (c *cli) labor(
	use, short string, columns []string, get func(cmd *cobra.Command, venue string) (report, error),
) *cobra.Command {
	var venue string
	var asJSON, asCSV, allVenues bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long: fmt.Sprintf(`%s asks the point-of-sale API and needs no running daemon.
If a list breaks off, nothing is printed. If its length is not the count that
the service reports, what was received is printed, and the exit code is 1.

--json prints the records as the service sent them. --csv prints these columns,
with a header line:
%s
With --all-venues the first column is the venue, and JSON has one object for
each venue: venue (its id), name, records.
The CSV is UTF-8 as in RFC 4180, with a line feed at the end of each line.
Spreadsheets run a cell that begins with = + - @ as a formula: such a cell gets
an apostrophe in front. Control characters and text direction marks become
spaces. For unchanged values use --json.`, use, wrap(columns)),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON && asCSV {
				return usagef("use --json or --csv, not both")
			}
			if allVenues && venue != "" {
				return usagef("use --venue or --all-venues, not both")
			}
			columns := columns
			var r report
			var err error
			if allVenues {
				columns = append([]string{"venue"}, columns...)
				r, err = c.everyVenue(func(venue string) (report, error) { return get(cmd, venue) })
			} else {
				r, err = get(cmd, venue)
			}
			// The records came, but not as many as the service counted. They are shown, because
			// they may be all there is, and the exit code says that something is wrong.
			short, ok := errors.AsType[*posapi.CountError](err)
			if err != nil && !ok {
				// Nothing is printed: the records that came would look like the whole list.
				return serviceError(err)
			}
			switch {
			case asJSON:
				err = showJSON(c.out, r.all)
			case asCSV:
				err = r.writeCSV(c.out, columns)
			default:
				err = r.writeTable(c.out)
			}
			if err == nil && short != nil {
				return short
			}
			return err
		},
	}
	venueFlag(cmd, &venue, "`venue`, by name or id (if there are several: this or --all-venues)")
	cmd.Flags().BoolVar(&allVenues, "all-venues", false, "all venues of the configuration, in its order")
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	return cmd
}

// A venueRecords is the JSON of one of several venues.
type venueRecords struct {
	Venue   string `json:"venue"`
	Name    string `json:"name"`
	Records any    `json:"records"`
}

// everyVenue joins the reports of all venues. An error of one is the error of all, except a count that
// differs: wages of a part of the venues must not look like those of all.
func (c *cli) everyVenue(get func(venue string) (report, error)) (all report, wrong error) {
	conf, err := doctor.Load(c.config)
	if err != nil {
		return report{}, err
	}
	records := []venueRecords{}
	for _, v := range conf.Venues {
		r, err := get(v.ID)
		if _, ok := errors.AsType[*posapi.CountError](err); err != nil && !ok {
			return report{}, err
		}
		wrong = cmp.Or(wrong, err)
		all.heads = append([]string{"VENUE"}, r.heads...)
		for _, row := range r.rows {
			all.rows = append(all.rows, reportRow{
				table: append([]string{v.Name}, row.table...), csv: append([]string{v.ID}, row.csv...),
			})
		}
		records = append(records, venueRecords{v.ID, v.Name, r.all})
	}
	all.all = records
	return all, wrong
}

// writeTable changes the rows, which are used once.
func (r report) writeTable(w io.Writer) error {
	t := newTable(w, r.heads...)
	for _, row := range r.rows {
		for i, cell := range row.table {
			row.table[i] = cmp.Or(cell, "-") // an empty cell would make the next column look like this one
		}
		t.row(row.table...)
	}
	return t.end()
}

// writeCSV writes every value through csvCell, headers excepted, which are ours.
func (r report) writeCSV(w io.Writer, columns []string) error {
	out := csv.NewWriter(w)
	// The writer remembers its first error, and Error returns it.
	_ = out.Write(columns)
	for _, row := range r.rows {
		for i := range row.csv {
			row.csv[i] = csvCell(row.csv[i])
		}
		_ = out.Write(row.csv)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// csvCell makes a value safe for a spreadsheet and for a terminal. Names come from the service and
// any of its users may have typed them there: a value that begins like a formula, also in full-width
// characters or behind blanks, gets an apostrophe; control characters and text direction marks,
// which can make a value read as another one, become spaces. An employee named "=HYPERLINK(…)"
// would otherwise run in the accountant's spreadsheet (CSV injection).
func csvCell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
		// Some spreadsheets refuse a whole file with one invalid byte.
	}, strings.ToValidUTF8(s, "\ufffd"))
	first := strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if first != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(first)[0]) {
		return "'" + s
	}
	return s
}

// wrap formats words as indented lines of a help text. A column name is not broken, so that it can
// be copied.
func wrap(words []string) string {
	var b strings.Builder
	at := 0
	for i, w := range words {
		switch {
		case i == 0:
			b.WriteString("  ")
		case at+len(w) > 76:
			b.WriteString(",\n  ")
			at = 0
		default:
			b.WriteString(", ")
		}
		b.WriteString(w)
		at += len(w) + 2
	}
	return b.String()
}
