package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// jobsReprint prints a ticket that was lost in the kitchen, or one that is held because it is not
// known whether it came out. The mark tells the cook to ask before cooking it again.
func (c *cli) jobsReprint() *cobra.Command {
	var o admin.ReprintOptions
	cmd := &cobra.Command{
		Use:   "reprint ID...",
		Short: "print tickets again, marked REPRINT",
		Long: `reprint puts a copy, marked REPRINT, at the end of the station's queue. If the
ticket is held or failed, the copy replaces it: the original is cancelled.

If the order was changed since, so that a ticket headed CHANGED has replaced
this one, the copy is that of the latest replacement: a reprint never orders
what was cancelled. Any other ticket prints as it was. If another request has
voided something of the same check since, the head of the copy says so: "VOID at
19:40: job 13". Look at that job.`,
	}
	cmd.Flags().StringVar(&o.Station, "station", "", "`station` that prints the copy (default: that of the ticket)")
	reasonFlag(cmd, &o.Reason)
	return c.forEachJob(cmd, func(ctx context.Context, d *admin.Client, id uint64) (string, error) {
		done, err := d.Reprint(ctx, id, o)
		if err != nil {
			return "", err
		}
		at, copied := o.Station, done.Jobs[0]
		if at == "" {
			// The answer has only the id of the copy. An error does not matter: the copy is queued.
			x, _ := d.Job(ctx, copied)
			at = cmp.Or(x.Job.Station, "its station")
		}
		said := []string{fmt.Sprintf("job %d: reprint queued for %s as job %d", id, at, copied)}
		if done.Latest != 0 {
			said = append(said, fmt.Sprintf("it is a copy of job %d, which has replaced it", done.Latest))
		}
		return strings.Join(append(said, done.Later...), "; "), nil
	})
}

// reasonFlag is shared by all changes that the history explains later.
func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "`reason` to store with the change (default: your user name)")
}
