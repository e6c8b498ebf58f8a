package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// jobsReprint prints a ticket that was lost in the kitchen, or one that is held because it is not
// known whether it came out. The mark tells the cook to ask before cooking it again.
func (c *cli) jobsReprint() *cobra.Command {
	var station, reason string
	cmd := &cobra.Command{
		Use:   "reprint ID...",
		Short: "print tickets again, marked REPRINT",
		Long: `reprint puts a copy, marked REPRINT, at the end of the station's queue. If the ticket is held or
failed, the copy replaces it: the original is cancelled.`,
	}
	cmd.Flags().StringVar(&station, "station", "", "`station` that prints the copy (default: that of the ticket)")
	reasonFlag(cmd, &reason)
	return c.forEachJob(cmd, func(ctx context.Context, d *admin.Client, id uint64) (string, error) {
		copied, err := d.Reprint(ctx, id, station, reason)
		if err != nil {
			return "", err
		}
		at := station
		if at == "" {
			// The answer has only the id of the copy. An error does not matter: the copy is queued.
			x, _ := d.Job(ctx, copied)
			at = cmp.Or(x.Job.Station, "its station")
		}
		return fmt.Sprintf("job %d: reprint queued for %s as job %d", id, at, copied), nil
	})
}

// reasonFlag is shared by all changes that the history explains later.
func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "`reason` to store with the change (default: your user name)")
}
