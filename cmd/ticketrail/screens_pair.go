package main

import (
	"context"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// screensPair lets in a browser on another machine: orders have names in them, and anyone on the
// restaurant's network can open the page.
func (c *cli) screensPair() *cobra.Command {
	var station string
	var manager bool
	cmd := &cobra.Command{
		Use:   "pair CODE",
		Short: "pair the browser that shows CODE with a screen",
		Long: `pair gives a browser on another machine access to one screen. Open the address
of the screen in that browser (ticketrail screens list shows it): the page shows
a code, which changes every ten minutes. Upper and lower case, dashes and spaces
in the code do not matter. The browser stays paired until "screens revoke".

With --manager the browser sees every screen, and its page /manage pairs further
browsers. The page works in a browser on this computer too.`,
		Args: oneArg,
	}
	cmd.Flags().StringVar(&station, "station", "", "`screen` to show (optional if there is only one)")
	cmd.Flags().BoolVar(&manager, "manager", false, "let it see every screen and pair other browsers")
	return query(c, cmd, func(ctx context.Context, d *admin.Client, args []string) (admin.Pairing, error) {
		return d.Pair(ctx, args[0], station, manager)
	}, func(p admin.Pairing) error {
		return printLine(c.out, "the browser at %s now shows %s; to end this: ticketrail screens revoke %s",
			p.Address, shownBy(p), p.ID)
	})
}

// shownBy is what a paired browser shows, in the words of a listing.
func shownBy(p admin.Pairing) string {
	if p.Manager {
		return "every screen (manager)"
	}
	return p.Station
}
