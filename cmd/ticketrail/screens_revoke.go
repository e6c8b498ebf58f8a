package main

import (
	"context"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

func (c *cli) screensRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke PAIRING",
		Short: "end a pairing: that browser sees nothing any more, at once",
		Args:  cobra.ExactArgs(1),
	}
	return answers(c, cmd, func(ctx context.Context, d *admin.Client, args []string) (admin.Pairing, error) {
		return d.Revoke(ctx, args[0])
	}, func(p admin.Pairing) error {
		return say(c.out, "the browser at %s does not show %s any more", p.Address, p.Station)
	})
}
