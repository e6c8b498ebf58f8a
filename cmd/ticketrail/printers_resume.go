package main

import (
	"slices"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// printersResume also ends the wait between two attempts: the operator has just repaired the
// printer and looks at it.
func (c *cli) printersResume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume STATION",
		Short: "resume a held station",
		Args:  oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client()
			if err != nil {
				return err
			}
			// Asked before, only for the text: a resume of a station that is not held is no error.
			before, err := d.Stations(cmd.Context())
			if err != nil {
				return err
			}
			if err := d.Resume(cmd.Context(), args[0]); err != nil {
				return err
			}
			held := func(s admin.Station) bool { return s.Name == args[0] && s.Hold != nil }
			if !slices.ContainsFunc(before.Stations, held) {
				return printLine(c.out, "%s was not held: if tickets wait, it is tried now", args[0])
			}
			return printLine(c.out, "%s is resumed", args[0])
		},
	}
}
