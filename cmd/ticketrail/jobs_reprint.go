package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

func (c *cli) jobsReprint() *cobra.Command {
	var station, reason string
	cmd := &cobra.Command{
		Use:   "reprint ID...",
		Short: "print tickets again, marked REPRINT",
		Long: `reprint puts a copy, marked REPRINT, at the end of the printer's line. Of a ticket that is
held or buried it is the way on: the original is then cancelled.`,
	}
	cmd.Flags().StringVar(&station, "station", "", "at this `printer` (default: where it was)")
	reasonFlag(cmd, &reason)
	return c.each(cmd, func(ctx context.Context, d *admin.Client, id uint64) (string, error) {
		copied, err := d.Reprint(ctx, id, station, reason)
		return fmt.Sprintf("job %d prints again at %s, as job %d", id, cmp.Or(station, "its printer"), copied), err
	})
}

func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "`why`, for whoever looks later (default: your name)")
}
