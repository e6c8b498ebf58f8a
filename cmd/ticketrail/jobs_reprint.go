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

Lines that were voided since print as VOID on the copy. A void may not say for
certain which line it means, for example if it came with another request for the
same order number: such a line prints as it was, and the copy ends with "Later
for #142: VOID at 19:40 (job 13)". With --as-it-was the copy is as the ticket
first came, without any of this.`,
	}
	cmd.Flags().StringVar(&o.Station, "station", "", "`station` that prints the copy (default: that of the ticket)")
	cmd.Flags().BoolVar(&o.AsItWas, "as-it-was", false, "print it as it first came, also what is void since")
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
		switch {
		case done.Voided == 1:
			said = append(said, "1 line is voided since")
		case done.Voided > 1:
			said = append(said, fmt.Sprintf("%d lines are voided since", done.Voided))
		}
		return strings.Join(append(said, done.Later...), "; "), nil
	})
}

// reasonFlag is shared by all changes that the history explains later.
func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "`reason` to store with the change (default: your user name)")
}
