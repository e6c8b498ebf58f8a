package main

import (
	"strconv"

	"github.com/spf13/cobra"
)

func (c *cli) rejectsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list refused print requests, newest first",
		Long: `list shows print requests that a venue on the list sent and that were refused. The service
does not send them again: each may be a dinner that the kitchen does not know of.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			all, err := d.Rejects(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return showJSON(c.out, all)
			}
			t := newTable(c.out, "ID", "TIME", "VENUE", "DEVICE", "CODE", "MESSAGE")
			for _, r := range all {
				t.row(strconv.FormatUint(r.ID, 10), clock(r.Time), r.Venue, r.Device, r.Code, r.Message)
			}
			return t.end()
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
