package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// venuesList is for the operator who must tell the service, or another command, which venue is meant. It
// reads the file and not the daemon: the venues are what the operator has written there.
func (c *cli) venuesList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the venues of the configuration",
		Long: `list shows the venues whose print requests are accepted. It needs no running
daemon, and asks nobody: "venues check" asks the point-of-sale API about them.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			conf, err := doctor.Load(c.config)
			if err != nil {
				return &configError{err}
			}
			// The keys of the configuration, so that one name means one thing.
			type venue struct {
				ID       string   `json:"id"`
				Name     string   `json:"name"`
				Timezone string   `json:"timezone,omitempty"`
				Fallback string   `json:"fallback"`
				Devices  []string `json:"devices"` // empty: all
			}
			all := []venue{}
			t := newTable(c.out, "VENUE", "ZONE", "FALLBACK", "DEVICES", "ID")
			for _, v := range conf.Venues {
				fallback := cmp.Or(v.Fallback, conf.Fallback)
				all = append(all, venue{v.ID, v.Name, v.Timezone, fallback, append([]string{}, v.Devices...)})
				t.row(v.Name, cmp.Or(v.Timezone, "-"), fallback, cmp.Or(strings.Join(v.Devices, ", "), "all"), v.ID)
			}
			if asJSON {
				return showJSON(c.out, all)
			}
			return t.end()
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
