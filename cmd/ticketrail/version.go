package main

import (
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

func (c *cli) version() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "show the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return showJSON(c.out, admin.ThisBuild())
			}
			return printLine(c.out, "%s", admin.ThisBuild())
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}
