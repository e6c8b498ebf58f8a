package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"ticketrail/cmd/internal/admin"
)

// version is of this program, not of the running daemon: after an upgrade without a restart they
// differ, and the daemon's is in the metric ticketrail_build_info.
func (c *cli) version() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "version",
		Short: "show the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return c.show(admin.ThisBuild(), func() error { return printLine(c.out, "%s", admin.ThisBuild()) })
		},
	})
}

// man is hidden because the build of the package uses it, once: the pages are then installed.
// SOURCE_DATE_EPOCH is the date on the pages.
func (c *cli) man() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "write the manual pages into a folder",
		Args:   oneArg,
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "8", Source: "ticketrail", Manual: "Kitchen ticket print daemon"}
			return doc.GenManTree(root, header, args[0])
		},
	}
}
