package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// inspect is how an operator maps the fields of an unfamiliar point of sale to tickets, with the
// body of one real request and no paper.
func (c *cli) inspect() *cobra.Command {
	var venue, device string
	cmd := &cobra.Command{
		Use:   "inspect FILE|-",
		Short: "show the tickets that a print request would make",
		Long: `inspect reads a print request from FILE, or from standard input with -, and
shows what became of each value: the field that read it, noise, or NOT READ,
which prints as it came. Then it shows which routes match, each ticket as text,
and the configuration for the rest, as "ticketrail fields" does. It prints
nothing on paper and needs no running daemon.`,
		Example: "  ticketrail jobs show 17 --body | ticketrail inspect -",
		Args:    oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			// Without it a problem of the configuration would look like one of the request.
			if err := c.checkConfig(); err != nil {
				return err
			}

			// Read completely by Inspect, up to receiver.max_body.
			body := c.in
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return usagef("read print request: %w", err)
				}
				defer file.Close()
				body = file
			}

			fields, err := doctor.Inspect(c.config, body, venue, device, coloured(c.out), c.out)
			if err != nil {
				return fmt.Errorf("inspect %s: %w", args[0], err)
			}
			if err := write(c.out, "\n"); err != nil {
				return err
			}

			return c.showMapping(fields)
		},
	}

	c.venueFlag(cmd, &venue,
		"`venue` that sends the request, by name or id (default: the first in the configuration)")
	cmd.Flags().StringVar(&device, "device", "", "`id` of the device that sends the request")
	return cmd
}
