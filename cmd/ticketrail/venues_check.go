package main

import (
	"errors"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/config"
)

// venuesCheck is for the day of the installation and for "names are missing on the tickets". The
// daemon works without the API, so no order depends on its result.
func (c *cli) venuesCheck() *cobra.Command {
	var venue string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "check the venues at the point-of-sale API",
		Long: `check asks the point-of-sale API about each configured venue: does it issue a
token, is the token for this venue, which scopes has it, can it read employees
(and payroll periods, if the configuration sets no time zone). It shows each
problem with what to do. It needs no running daemon.

Eight venues are checked at a time, each for at most a minute (or four times
service.timeout, if that is longer).`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := doctor.CheckVenues(cmd.Context(), c.config, venue)
			if err != nil {
				return c.serviceError(err)
			}
			return c.showFindings(found)
		},
	}

	c.venueFlag(cmd, &venue, "`venue` to check, by name or id (default: all)")
	c.jsonFlag(cmd)
	return cmd
}

// serviceError marks those errors of a question to the point-of-sale API that are of the configuration; a service that
// does not answer is none.
func (c *cli) serviceError(err error) error {
	if _, ok := errors.AsType[config.Problems](err); ok || errors.Is(err, doctor.ErrNoService) {
		return invalid(c.config, err)
	}
	return err
}
