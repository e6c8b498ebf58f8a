package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// rejectsList shows what the webhook refused. Each of them needs a look the same evening,
// because the service has given the order up.
func (c *cli) rejectsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list refused print requests, newest first",
		Long: `list shows print requests that were refused: for their content, or because their
path, venue, device or address is not allowed. The service does not send them
again: each may be an order that the kitchen does not know about. "ticketrail
rejects print" prints it after all.

Other content under the id of an order that was taken before (conflict), and
what is too much for a ticket (over_limit), are listed too.`,
		Args: noArgs,
	}
	return query(c, cmd, func(ctx context.Context, d *admin.Client, _ []string) ([]admin.Reject, error) {
		return d.Rejects(ctx)
	}, func(all []admin.Reject) error {
		t := newTable(c.out, "ID", c.timeHead("TIME"), "VENUE", "DEVICE", "CODE", "MESSAGE")
		for _, r := range all {
			t.row(strconv.FormatUint(r.ID, 10), c.formatTime(r.Time), r.Venue, r.Device, r.Code, c.rejectMessage(r))
		}
		return t.end()
	})
}

// rejectMessage says first whether somebody has printed it.
func (c *cli) rejectMessage(r admin.Reject) string {
	if r.Printed.IsZero() {
		return r.Message
	}
	return "PRINTED " + c.formatTime(r.Printed) + ": " + r.Message
}
