package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/config"
)

func (c *cli) venuesCheck() *cobra.Command {
	var venue string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "does the point-of-sale API answer for the venues, and what to do if not",
		Long: `check asks the point-of-sale API about each venue of the configuration: does it give a
token, is that for this venue, which scopes has it, may it read employees (and payroll periods,
where the configuration has no time zone), do the clocks agree. It prints a line for each venue
that is fine and one for each problem, and needs no running daemon. Eight venues at a time are
asked about, and each for a minute at most (four times service.timeout, if that is longer).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks, err := doctor.CheckVenues(cmd.Context(), c.config, venue)
			if err != nil {
				return aboutService(err)
			}
			if !asJSON {
				return doctor.ShowVenues(c.out, checks)
			}
			if err := showJSON(c.out, checks); err != nil {
				return err
			}
			return doctor.ShowVenues(io.Discard, checks)
		},
	}
	venueFlag(cmd, &venue, "name or id of the one venue to ask about (default: all)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func venueFlag(cmd *cobra.Command, venue *string, usage string) {
	cmd.Flags().StringVar(venue, "venue", "", usage)
}

// aboutService says which errors of asking the point-of-sale API are the asker's.
func aboutService(err error) error {
	if _, ok := errors.AsType[config.Problems](err); ok || errors.Is(err, doctor.ErrNoService) {
		return &configError{err}
	}
	if _, ok := errors.AsType[*doctor.UnknownVenue](err); ok {
		return &usageError{err}
	}
	return err
}
