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

	"ticketrail/receiver/posapi"
)

// A report is what a labor command got, as a table for people and as CSV for programs.
type report struct {
	heads []string // of the table
	all   any      // for JSON
	rows  []reportRow
}

type reportRow struct{ table, csv []string }

// labor is a command that gets a report about one venue.
func (c *cli) labor(use, short string, columns []string, get func(cmd *cobra.Command, venue string) (report, error)) *cobra.Command {
	var venue string
	var asJSON, asCSV bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long: fmt.Sprintf(`%s asks the point-of-sale API now, and needs no running daemon. When the list breaks off
nothing is printed. When it has another length than the service says, what came is printed, and
the exit code is 1.

--json has the records as the service sent them. --csv has a line with the names of the columns:
%s
It is UTF-8 as RFC 4180 has it, with a line feed at the end of a line. Spreadsheets take a cell
that begins with = + - @ for a formula, whoever wrote it: such a cell gets an apostrophe in
front. Control characters and marks of the direction of writing become spaces. For the values as they are use --json.`, use, wrap(columns)),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON && asCSV {
				return usage("--json or --csv, not both")
			}
			r, err := get(cmd, venue)
			short, ok := errors.AsType[*posapi.CountError](err)
			if err != nil && !ok {
				return aboutService(err)
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
	venueFlag(cmd, &venue, "name or id of the venue (needed when there are several)")
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	return cmd
}

func (r report) writeTable(w io.Writer) error {
	t := newTable(w, r.heads...)
	for _, row := range r.rows {
		for i, cell := range row.table {
			row.table[i] = cmp.Or(cell, "-") // or it is taken for the column's end
		}
		t.row(row.table...)
	}
	return t.end()
}

func (r report) writeCSV(w io.Writer, columns []string) error {
	out := csv.NewWriter(w)
	// A failed write stays and comes back from Error.
	_ = out.Write(columns)
	for _, row := range r.rows {
		for i := range row.csv {
			row.csv[i] = cell(row.csv[i])
		}
		_ = out.Write(row.csv)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// cell is text that is no more than text to a spreadsheet and to a terminal, where marks of the
// direction of writing would have it read in another order. What begins as a
// formula does, its wide forms and what hides behind blanks included, gets an apostrophe.
func cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	first := strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if first != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(first)[0]) {
		return "'" + s
	}
	return s
}

// wrap lays words out in lines of a help text.
func wrap(words []string) string {
	var b strings.Builder
	at := 0
	for i, w := range words {
		switch {
		case i == 0:
			b.WriteString("  ")
		case at+len(w) > 90:
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
