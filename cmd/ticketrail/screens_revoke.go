package main

import (
	"context"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// screensRevoke is for a tablet that was stolen, sold or moved to another place. Its open page ends
// at once.
func (c *cli) screensRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke PAIRING",
		Short: "end a pairing: the browser loses access at once",
		Args:  oneArg,
	}
	return query(c, cmd, func(ctx context.Context, d *admin.Client, args []string) (admin.Pairing, error) {
		return d.Revoke(ctx, args[0])
	}, func(p admin.Pairing) error {
		return printLine(c.out, "the browser at %s no longer has access to %s", p.Address, shownBy(p))
	})
}
