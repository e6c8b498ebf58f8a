package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (c *cli) jobsCancel() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ID...",
		Short: "say that tickets are not to come out any more",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			d, err := c.daemon()
			if err != nil {
				return err
			}
			var failed []error
			for _, id := range ids {
				if err := d.Cancel(cmd.Context(), id, reason); err != nil {
					failed = append(failed, err)
					continue
				}
				if err := say(c.out, "job %d is cancelled", id); err != nil {
					return err
				}
			}
			return errors.Join(failed...)
		},
	}
	reasonFlag(cmd, &reason)
	return cmd
}
