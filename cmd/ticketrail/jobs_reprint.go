package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (c *cli) jobsReprint() *cobra.Command {
	var station, reason string
	cmd := &cobra.Command{
		Use:   "reprint ID...",
		Short: "print tickets again, marked REPRINT",
		Long: `reprint puts a copy, marked REPRINT, at the end of the printer's line. Of a ticket that is
held or buried it is the way on: the original is then cancelled.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			d, err := c.daemon()
			if err != nil {
				return err
			}
			at := "its printer"
			if station != "" {
				at = station
			}
			var failed []error
			for _, id := range ids {
				copied, err := d.Reprint(cmd.Context(), id, station, reason)
				if err != nil {
					failed = append(failed, err)
					continue
				}
				if err := say(c.out, "job %d prints again at %s, as job %d", id, at, copied); err != nil {
					return err
				}
			}
			return errors.Join(failed...)
		},
	}
	cmd.Flags().StringVar(&station, "station", "", "at this `printer` (default: where it was)")
	reasonFlag(cmd, &reason)
	return cmd
}

func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "`why`, for whoever looks later (default: your name)")
}
