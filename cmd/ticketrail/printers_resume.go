package main

import "github.com/spf13/cobra"

// printersResume also ends the wait between two attempts: the operator has just repaired the
// printer and looks at it.
func (c *cli) printersResume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume STATION",
		Short: "resume a held station",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client()
			if err != nil {
				return err
			}
			if err := d.Resume(cmd.Context(), args[0]); err != nil {
				return err
			}
			return printLine(c.out, "%s is resumed", args[0])
		},
	}
}
