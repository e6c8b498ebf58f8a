package main

import "github.com/spf13/cobra"

func (c *cli) screensRevoke() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "revoke PAIRING",
		Short: "end a pairing: that browser sees nothing any more, at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			p, err := d.Revoke(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return showJSON(c.out, p)
			}
			return say(c.out, "the browser at %s does not show %s any more", p.Address, p.Station)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
