package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// rejectsPrint gives the kitchen an order that was refused.
func (c *cli) rejectsPrint() *cobra.Command {
	var o admin.PrintRejectOptions
	cmd := &cobra.Command{
		Use:   "print ID...",
		Short: "print refused requests after all, headed LATE",
		Long: `print gives the kitchen an order that was refused, once its cause is mended. Its
tickets are headed "LATE – refused at 19:32" and the reason. Ask first whether
the order was taken again by hand.

The order keeps its id: if it is printed twice, or the service sends it again,
only what has not printed does.

With --lenient the cause need not be mended: what can be read prints, and what
cannot prints as text at the fallback. Only the venue must be configured.`,
		Example: "  ticketrail rejects print 3",
	}
	cmd.Flags().BoolVar(&o.Lenient, "lenient", false, "print it whatever was wrong with it")
	return c.forEachJob(cmd, func(ctx context.Context, d *admin.Client, id uint64) (string, error) {
		done, err := d.PrintReject(ctx, id, o)
		if err != nil {
			return "", err
		}
		switch {
		case done.Jobs == 0:
			return fmt.Sprintf("refused request %d: nothing to print: all of it came before, under the same id",
				id), nil
		case done.Known:
			return fmt.Sprintf("refused request %d: its id was known: %s with what is new", id,
				ticket.Plural(done.Jobs, "ticket")), nil
		}
		return fmt.Sprintf("refused request %d: %s queued", id, ticket.Plural(done.Jobs, "ticket")), nil
	})
}
