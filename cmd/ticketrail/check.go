package main

import (
	"context"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// check reads the file with the daemon's own code, so it accepts exactly the files that the daemon accepts. Operators
// run it before a reload.
func (c *cli) check() *cobra.Command {
	var online bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "check the configuration",
		Long: `check reads the configuration and prints every problem on a line of its own; the
exit code is then 2. If ticketrail.service is installed with this file, it also
checks that the service's user can read it (as root) and that the service may
write where the file says.

With --online it also asks the printers, the third-party kitchen displays and,
for each venue, the point-of-sale API (as "venues check" does); the exit code is
1 if one of them does not answer or reports a problem. It never prints a ticket,
and needs no running daemon. Whether a screen is open in a browser only "status"
says.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Before the stations are asked: that takes seconds, and the file is valid whatever they answer.
			err := c.checkFile(cmd, "ticketrail", c.config, doctor.Check)
			if err != nil || !online {
				return err
			}

			found, err := doctor.CheckOnline(cmd.Context(), c.config)
			if err != nil {
				return err
			}
			return c.showFindings(found)
		},
	}

	cmd.Flags().BoolVar(&online, "online", false, "also ask the printers, the displays and the point-of-sale API")
	return c.fileOnlyFlag(cmd)
}

// relayCheck is check for the other daemon.
func (c *cli) relayCheck() *cobra.Command {
	return c.fileOnlyFlag(&cobra.Command{
		Use:   "check",
		Short: "check the configuration of the relay",
		Long: `check reads the relay's configuration and the files that it names and prints
every problem on a line of its own; the exit code is then 2. If
ticketrail-relay.service is installed with this file, it also checks, as root,
that the service's user can read it. It asks no server: see "relay status".`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.checkFile(cmd, "ticketrail-relay", c.relayConfig(), doctor.CheckRelay)
		},
	})
}

func (c *cli) fileOnlyFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Bool("file-only", false, "check only the file, not whether the installed units fit it")
	return c.jsonFlag(cmd)
}

// checkFile checks a file, as it is installed or with --file-only alone, and shows its warnings or its problem.
func (c *cli) checkFile(cmd *cobra.Command, unit, path string,
	check func(ctx context.Context, path string, installed bool) (warnings []string, err error),
) error {
	fileOnly, _ := cmd.Flags().GetBool("file-only")
	warnings, problem := check(cmd.Context(), path, !fileOnly)
	// On stderr, so that a script which reads stdout still gets the one line.
	for _, w := range warnings {
		if err := printLine(c.err, "warning: %s", w); err != nil {
			return err
		}
	}

	if c.asJSON {
		if err := showJSON(c.out, doctor.FileFindings(unit, path, warnings, problem)); err != nil {
			return err
		}
	}

	if problem != nil {
		return invalid(path, problem)
	}
	if c.asJSON {
		return nil
	}
	return printLine(c.out, "%s is valid", path)
}
