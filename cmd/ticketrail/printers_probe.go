package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
)

// printersProbe is for an operator who has replaced a printer, or changed its settings. The daemon never
// concludes from silence that a printer can no longer answer, because a printer that hangs is silent too.
func (c *cli) printersProbe() *cobra.Command {
	return &cobra.Command{
		Use:   "probe STATION",
		Short: "find out again what a new printer at a station can answer",
		Args:  oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client()
			if err != nil {
				return err
			}
			now, err := d.Probe(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			best := map[string]string{
				"confirmed": "it reports each printed ticket by its id; tickets end as confirmed",
				"processed": "it reports that it has processed a ticket; tickets end as processed",
				"sent":      "it cannot report whether a ticket was printed; tickets end as sent",
			}
			return printLine(c.out, "%s is %s: %s", args[0], strings.ReplaceAll(now.State, "_", " "),
				cmp.Or(best[now.Ability], "it was not asked"))
		},
	}
}
