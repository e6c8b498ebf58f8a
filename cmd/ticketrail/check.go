package main

import (
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

func (c *cli) check() *cobra.Command {
	var online bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "is the configuration right",
		Long: `check reads the configuration and prints every problem, one a line, with exit code 2.
With --online it also sees whether what the configuration names is there (exit code 1 if not):
the printers, the kitchen displays of others, and the point-of-sale API for each venue as "venues
check" does. It never prints a ticket and needs no running daemon; only that one knows whether
somebody looks at the screens.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			warnings, err := doctor.Check(c.config)
			for _, w := range warnings {
				if err := say(c.err, "warning: %s", w); err != nil {
					return err
				}
			}
			if err != nil {
				return &configError{err}
			}
			if err := say(c.out, "%s is right", c.config); err != nil || !online {
				return err
			}
			return doctor.CheckOnline(cmd.Context(), c.config, c.out)
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "also see whether the printers and displays answer and are ready, and what the point-of-sale API says of the venues")
	return cmd
}
