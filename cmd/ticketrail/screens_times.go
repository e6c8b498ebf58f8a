package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// screensTimes is for whoever runs the kitchen, the day after.
func (c *cli) screensTimes() *cobra.Command {
	var day string
	var asCSV bool
	cmd := &cobra.Command{
		Use:   "times",
		Short: "show how long the tickets of a day took",
		Long: `times shows for each screen, hour and item how long it took from the acceptance
of an order until its ticket was first seen, until it was bumped (or the item
ticked), and until the order was sent out at the pass. Each cell has p50 and p90
in minutes and seconds: half of the tickets took at most p50, nine tenths at
most p90. LATE are the tickets that took longer than the screen's late_after.

Tickets are kept for 48 hours after they left the board. The page /times of the
screens shows the same.`,
		Example: "  ticketrail screens times --day 2026-11-22 --csv >times.csv",
		Args:    noArgs,
	}
	cmd.Flags().StringVar(&day, "day", "", "`date` of acceptance, as 2026-11-22 (default today)")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "show CSV for a spreadsheet, with whole seconds")
	return query(c, cmd, func(ctx context.Context, d *admin.Client, _ []string) (admin.Times, error) {
		return d.Times(ctx, day)
	}, func(r admin.Times) error {
		if asCSV {
			var b strings.Builder
			if err := r.WriteCSV(&b); err != nil {
				return err
			}
			for line := range strings.Lines(b.String()) {
				if err := printLine(c.out, "%s", strings.TrimSuffix(line, "\n")); err != nil {
					return err
				}
			}
			return nil
		}
		if len(r.Rows) == 0 {
			return printLine(c.out, "no ticket of %s is stored", r.Day)
		}
		t := newTable(c.out, "SCREEN", "HOUR", "ITEM", "COUNT", "SEEN", "BUMPED", "SENT OUT", "LATE", "RECALLS")
		for _, row := range r.Rows {
			t.row(row.Station, row.Hour, row.Item, strconv.Itoa(row.Count), row.Seen.String(), row.Bumped.String(),
				row.SentOut.String(), row.LateText(), strconv.Itoa(row.Recalls))
		}
		return t.end()
	})
}
