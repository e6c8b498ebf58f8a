package main

import (
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// version is of this program, not of the running daemon: after an upgrade without a restart they
// differ, and the daemon's is in the metric ticketrail_build_info.
func (c *cli) version() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "show the version",
		Args:  noArgs,
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

// jsonFlag gives every listing the same flag: scripts use JSON, because the tables may change.
func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}
