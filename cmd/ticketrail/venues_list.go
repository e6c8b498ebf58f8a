package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/setup"
)

// venuesList is for the operator who must name a venue to the service, or to another command. It reads the file and
// asks no daemon: the operator has written the venues there.
func (c *cli) venuesList() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "list the venues of the configuration",
		Long: `list shows the venues whose print requests are accepted, and the address that
the service must post them to. A secret is not shown, but the file that has it;
nor is receiver.path if it was changed: PATH stands for it. The command needs no
running daemon, and asks nobody: "venues check" asks the point-of-sale API about
them.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			conf, err := setup.Load(c.config)
			if err != nil {
				return invalid(c.config, err)
			}

			// The keys of the configuration, so that one name means one thing.
			type venue struct {
				ID       string   `json:"id"`
				Name     string   `json:"name"`
				Timezone string   `json:"timezone,omitempty"`
				Fallback string   `json:"fallback"`
				Devices  []string `json:"devices"` // empty: all
				// Address is the address of the webhook, "" without one. Its end is not in it, but in SecretFile, if
				// there is one.
				Address    string `json:"address"`
				SecretFile string `json:"secret_file,omitempty"`
			}

			all := []venue{}
			rows := newTable(c.out, "VENUE", "ZONE", "FALLBACK", "DEVICES", "ID")
			for _, v := range conf.Venues {
				fallback := cmp.Or(v.Fallback, conf.Fallback)
				address, secret := "", ""
				if conf.Receiver.Enabled() {
					address, secret = doctor.WebhookAddress(conf, v)
				}
				all = append(all, venue{v.ID, v.Name, v.Timezone, fallback, append([]string{}, v.Devices...), address,
					secret})
				rows.row(v.Name, cmp.Or(v.Timezone, "-"), fallback, cmp.Or(strings.Join(v.Devices, ", "), "all"), v.ID)
			}

			return c.show(all, func() error {
				if !conf.Receiver.Enabled() {
					return cmp.Or(rows.end(), write(c.out, "\nThere is no webhook: the service posts to the relay, at "+
						"the address that ticketrail relay venues add has shown there.\n"))
				}

				rows.row("")
				rows.row("VENUE", "THE SERVICE POSTS TO")
				for _, v := range all {
					rows.row(v.Name, v.Address)
					if v.SecretFile != "" {
						rows.row("", "and behind that the first line of "+v.SecretFile)
					}
				}

				return rows.end()
			})
		},
	})
}
