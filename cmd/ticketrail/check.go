package main

import (
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// check is also what the operator runs before a reload: it reads the file with the daemon's own
// code, so what it accepts is what the daemon accepts.
func (c *cli) check() *cobra.Command {
	var online bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "check the configuration",
		Long: `check reads the configuration and prints every problem on a line of its own; the exit code is
then 2.

With --online it also asks the printers, the third-party kitchen displays and, for each venue, the
point-of-sale API (as "venues check" does); the exit code is 1 if one of them does not answer or
reports a problem. It never prints a ticket. It needs no running daemon, but only a running daemon
knows whether a screen is open in a browser.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			warnings, err := doctor.Check(c.config)
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
			return doctor.CheckOnline(cmd.Context(), c.config, c.out)
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "also ask the printers, the displays and the point-of-sale API")
	return cmd
}
