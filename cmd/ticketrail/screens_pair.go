package main

import (
	"context"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

func (c *cli) screensPair() *cobra.Command {
	var station string
	cmd := &cobra.Command{
		Use:   "pair CODE",
		Short: "let the browser that shows CODE see a screen",
		Long: `pair lets a browser on another machine see one screen. Open the address of the display there
(ticketrail screens list shows it); it shows a code, which changes every ten minutes. Capitals,
dashes and spaces of the code do not matter. The browser stays paired until screens revoke.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&station, "station", "", "the screen it is to show (may be left out where there is only one)")
	return answers(c, cmd, func(ctx context.Context, d *admin.Client, args []string) (admin.Pairing, error) {
		return d.Pair(ctx, args[0], station)
	}, func(p admin.Pairing) error {
		return say(c.out, "the browser at %s shows %s now; ticketrail screens revoke %s ends that", p.Address, p.Station, p.ID)
	})
}
