package main

import "github.com/spf13/cobra"

func (c *cli) screensPair() *cobra.Command {
	var station string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pair CODE",
		Short: "let the browser that shows CODE see a screen",
		Long: `pair lets a browser on another machine see one screen. Open the address of the display there
(ticketrail screens list shows it); it shows a code, which changes every ten minutes. Capitals,
dashes and spaces of the code do not matter. The browser stays paired until screens revoke.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			p, err := d.Pair(cmd.Context(), args[0], station)
			if err != nil {
				return err
			}
			if asJSON {
				return showJSON(c.out, p)
			}
			return say(c.out, "the browser at %s shows %s now; ticketrail screens revoke %s ends that", p.Address, p.Station, p.ID)
		},
	}
	cmd.Flags().StringVar(&station, "station", "", "the screen it is to show (may be left out where there is only one)")
	jsonFlag(cmd, &asJSON)
	return cmd
}
