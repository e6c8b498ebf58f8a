package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/relay"
	"ticketrail/config"
	"ticketrail/printer/layout"
	store "ticketrail/receiver/relay"
)

func outFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "out", "", "the `file` to write the token to (default ID.token in this folder)")
}

func (c *cli) relayVenuesAdd() *cobra.Command {
	var v store.VenueEntry
	var out string
	cmd := &cobra.Command{
		Use:   "add ID",
		Short: "add a venue and write the token of its box",
		Long: `add adds a venue to every relay at once, without a restart, and writes the token
with which its box fetches its orders, and no others. Copy the file to the box,
and nowhere else: the relays have only its hash.`,
		Example: `  ticketrail relay venues add 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11 \
    --name "Harbour Grill" --timezone Australia/Melbourne \
    --hours "daily 11:00-23:00"`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			v.ID = strings.ToLower(args[0])
			if err := checkVenue(v); err != nil {
				return err
			}

			out = cmp.Or(out, v.ID+".token")
			return c.askRelay(cmd.Context(), func(a *relay.Admin) error {
				if err := a.Add(cmd.Context(), v, out); err != nil {
					return fmt.Errorf("add venue %s: %w", v.ID, err)
				}
				return c.showAdded(a.Conf, v, out)
			})
		},
	}

	flags := cmd.Flags()
	flags.StringVar(&v.Name, "name", "", "what people call the venue; required")
	flags.StringVar(&v.Timezone, "timezone", "", "the venue's time `zone`, as Australia/Melbourne")
	flags.StringArrayVar(&v.Hours, "hours", nil,
		"its opening `hours`, as \"mon-fri 11:30-14:30\"; repeat it for several; silence is an alert only then")
	flags.StringArrayVar(&v.Devices, "device", nil, "the `id` of a terminal that may send; repeat it "+
		"(default: all may)")
	outFlag(cmd, &out)
	return cmd
}

// checkVenue checks the venue that a person typed.
func checkVenue(v store.VenueEntry) error {
	if strings.TrimSpace(v.Name) == "" || layout.Clean(v.Name) != v.Name {
		return usagef("--name %q is not a name: what do people call the venue?", v.Name)
	}
	if _, err := time.LoadLocation(v.Timezone); err != nil || v.Timezone == "Local" {
		return usagef("--timezone %q is not the name of a time zone; for example Australia/Melbourne", v.Timezone)
	}

	for _, text := range v.Hours {
		var h config.Hours
		if err := h.UnmarshalText([]byte(text)); err != nil {
			return usagef("--hours: %w", err)
		}
	}

	return nil
}

// showAdded shows the address to enter at the service, and the steps on the box.
func (c *cli) showAdded(conf *config.Relay, v store.VenueEntry, file string) error {
	address, secretFile := doctor.WebhookAddress(conf.With(nil), config.Venue{})
	if secretFile != "" {
		address += "\n  and behind that the first line of " + secretFile
	}
	return write(c.out, fmt.Sprintf("added %s\n\nThe service posts for %[1]s to:\n  %s\n%s", v.Name, address,
		boxLines(conf, v.ID, file)))
}

// boxLines are for the configuration of the box.
func boxLines(conf *config.Relay, id, file string) string {
	return fmt.Sprintf(`
Copy %s to the box, and there:
  install -m640 -g ticketrail %s /etc/ticketrail/relay.token
Write into its configuration:
source:
  url: %s
  token_file: relay.token
  venue: %s
`, file, filepath.Base(file), cmp.Or(conf.Receiver.ExternalURL, "https:// and the name of the load balancer"), id)
}

func (c *cli) relayVenuesList() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "list the venues of the relay",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.askRelay(cmd.Context(), c.showRelayVenues)
		},
	})
}

func (c *cli) showRelayVenues(a *relay.Admin) error {
	rows := newTable(c.out, "VENUE", "ZONE", "DEVICES", "ID")
	for _, v := range a.Venues {
		rows.row(v.Name, cmp.Or(v.Timezone, "-"), cmp.Or(strings.Join(v.Devices, ", "), "all"), v.ID)
	}

	return c.show(a.Venues, rows.end)
}

func (c *cli) relayVenuesRenew() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "renew ID",
		Short: "write a new token for a venue's box; the old one ends at once",
		Long: `renew writes a new token for the box of a venue, named by its id or its name.
The one before ends at once, also for a box that waits: for a box that was lost
or replaced. Orders wait until the new file is there.`,
	}

	outFlag(cmd, &out)
	return c.changingVenue(cmd, func(ctx context.Context, a *relay.Admin, v store.VenueEntry) error {
		file := cmp.Or(out, v.ID+".token")
		if err := a.Renew(ctx, v, file); err != nil {
			return fmt.Errorf("renew the token of %s: %w", v.Name, err)
		}
		return write(c.out, layout.Clean("renewed "+v.Name)+"\n"+boxLines(a.Conf, v.ID, file))
	})
}

func (c *cli) relayVenuesRemove() *cobra.Command {
	return c.changingVenue(&cobra.Command{
		Use:   "remove ID",
		Short: "remove a venue; its box fetches nothing more",
		Long: `remove removes a venue, named by its id or its name, from every relay at once:
its requests are refused from then on, and its box's token ends. What its box
has not fetched is not printed, unless the venue is added again before the
relay's nats.dedup_retention is over. Its box, also a new one, then goes on
where the old one stopped, and nothing is printed twice.`,
	}, func(ctx context.Context, a *relay.Admin, v store.VenueEntry) error {
		if err := a.Remove(ctx, v.ID); err != nil {
			return fmt.Errorf("remove venue %s: %w", v.ID, err)
		}
		return write(c.out, layout.Clean("removed "+v.Name)+"\n")
	})
}
