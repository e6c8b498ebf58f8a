package main

import (
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

func (c *cli) version() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "which ticketrail this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return showJSON(c.out, admin.ThisBuild())
			}
			return say(c.out, "%s", admin.ThisBuild())
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "for programs")
}
