package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

func (c *cli) inspect() *cobra.Command {
	var venue, device string
	cmd := &cobra.Command{
		Use:   "inspect FILE|-",
		Short: "what a print request would become",
		Long: `inspect shows what was found where in a print request, which routes it takes and each
ticket as it would print. It prints nothing on paper and needs no running daemon.`,
		Example: "  ticketrail jobs show 17 --body | ticketrail inspect -",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := c.configured(); err != nil {
				return err
			}
			body := c.in
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return usage("read print request: %w", err)
				}
				defer f.Close()
				body = f
			}
			if err := doctor.Inspect(c.config, body, venue, device, c.out); err != nil {
				return fmt.Errorf("inspect %s: %w", args[0], err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&venue, "venue", "", "name or id of the venue it comes from (default: the first configured)")
	cmd.Flags().StringVar(&device, "device", "", "id of the device it comes from")
	return cmd
}
