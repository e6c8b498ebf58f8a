package main

import (
	"context"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// check is also what the operator runs before a reload: it reads the file with the daemon's own
// code, so what it accepts is what the daemon accepts.
func (c *cli) check() *cobra.Command {
	var online, fileOnly bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "check the configuration",
		Long: `check reads the configuration and prints every problem on a line of its own; the
exit code is then 2. If ticketrail.service is installed with this file, it also
checks that the service's user can read it (as root) and that the service may
write where the file says.

With --online it also asks the printers, the third-party kitchen displays and,
for each venue, the point-of-sale API (as "venues check" does); the exit code is
1 if one of them does not answer or reports a problem. It never prints a ticket.
It needs no running daemon, but only a running daemon knows whether a screen is
open in a browser.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			check := doctor.CheckInstalled
			if fileOnly {
				check = func(_ context.Context, path string) ([]string, error) { return doctor.Check(path) }
			}
			warnings, err := check(cmd.Context(), c.config)
			// On stderr, so that a script which reads stdout still gets the one line.
			for _, w := range warnings {
				if err := printLine(c.err, "warning: %s", w); err != nil {
					return err
				}
			}
			if err != nil {
				return &configError{err}
			}
			// Printed before the stations are asked: that takes seconds, and the file is valid
			// whatever they answer.
			if err := printLine(c.out, "%s is valid", c.config); err != nil || !online {
				return err
			}
			return doctor.CheckOnline(cmd.Context(), c.config, foldedLines{c})
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "also ask the printers, the displays and the point-of-sale API")
	cmd.Flags().BoolVar(&fileOnly, "file-only", false, "check only the file, not whether the installed units fit it")
	return cmd
}
