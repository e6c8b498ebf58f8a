package main

import (
	"context"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// screensPair is the only way in for a browser on another machine: orders have names in them, and
// anyone on the restaurant's network can open the page.
func (c *cli) screensPair() *cobra.Command {
	var station string
	cmd := &cobra.Command{
		Use:   "pair CODE",
		Short: "pair the browser that shows CODE with a screen",
		Long: `pair gives a browser on another machine access to one screen. Open the address of the screen in
that browser (ticketrail screens list shows it): the page shows a code, which changes every ten
minutes. Upper and lower case, dashes and spaces in the code do not matter. The browser stays paired
until "screens revoke".`,
		Args: oneArg,
	}
	cmd.Flags().StringVar(&station, "station", "", "`screen` to show (optional if there is only one)")
	return query(c, cmd, func(ctx context.Context, d *admin.Client, args []string) (admin.Pairing, error) {
		return d.Pair(ctx, args[0], station)
	}, func(p admin.Pairing) error {
		return printLine(c.out, "the browser at %s now shows %s; to end this: ticketrail screens revoke %s",
			p.Address, p.Station, p.ID)
	})
}
