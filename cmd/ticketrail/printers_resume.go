package main

import "github.com/spf13/cobra"

func (c *cli) printersResume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume PRINTER",
		Short: "let a held printer go on",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			if err := d.Resume(cmd.Context(), args[0]); err != nil {
				return err
			}
			return say(c.out, "%s goes on", args[0])
		},
	}
}
