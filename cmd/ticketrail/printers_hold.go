package main

import "github.com/spf13/cobra"

// printersHold is for an operator who is about to switch a printer off or to move it: no ticket is
// sent meanwhile, so none can end in doubt. The hold survives a restart, so the answer names the
// command that ends it.
func (c *cli) printersHold() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "hold STATION",
		Short: "stop a station after its current ticket, until resume",
		Args:  oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client()
			if err != nil {
				return err
			}
			if err := d.Hold(cmd.Context(), args[0], reason); err != nil {
				return err
			}
			return printLine(c.out, "%s is held: its tickets wait; to continue: ticketrail printers resume %s",
				args[0], args[0])
		},
	}
	reasonFlag(cmd, &reason)
	return cmd
}
