package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// jobsCancel ends tickets that the kitchen must not make. They stay in the history with the reason:
// a cancelled order that was wanted after all can be reprinted.
func (c *cli) jobsCancel() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ID...",
		Short: "cancel tickets, so that they do not print",
	}
	reasonFlag(cmd, &reason)
	return c.forEachJob(cmd, func(ctx context.Context, d *admin.Client, id uint64) (string, error) {
		return fmt.Sprintf("job %d is cancelled", id), d.Cancel(ctx, id, reason)
	})
}
