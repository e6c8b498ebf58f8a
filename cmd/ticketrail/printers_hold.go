package main

import "github.com/spf13/cobra"

func (c *cli) printersHold() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "hold PRINTER",
		Short: "stop a printer after the ticket in hand, until resume",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			if err := d.Hold(cmd.Context(), args[0], reason); err != nil {
				return err
			}
			return say(c.out, "%s is held: its tickets wait until ticketrail printers resume %s", args[0], args[0])
		},
	}
	reasonFlag(cmd, &reason)
	return cmd
}
