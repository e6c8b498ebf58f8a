package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/relay"
)

// sitesShown are on one screen; the worst are first.
const sitesShown = 30

func (c *cli) relayStatus() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show whether all is well at the relay and its venues",
		Long: `status asks the NATS servers and the relays and shows what needs a person
(FAIL), what works but not as it should (WARN) and what is fine (OK); then the
venues, first those whose boxes were not heard of for longest, and how many
requests wait for them. It answers within three seconds, says which servers it
could not read, and changes nothing. The exit code is 1 if something needs a
person.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := c.loadRelay()
			if err != nil {
				return err
			}
			overview := relay.Status(cmd.Context(), conf)
			err = c.show(overview, func() error { return c.showSites(overview, all) })
			return cmp.Or(err, personNeeded(overview.Findings))
		},
	}

	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&all, "all", false, fmt.Sprintf("show all venues, not only the first %d", sitesShown))
	return cmd
}

func (c *cli) showSites(o relay.Overview, all bool) error {
	findings, more := shown(o.Findings, all)
	if err := write(c.out, findingsText(findings, coloured(c.out))+more+"\n"); err != nil || len(o.Sites) == 0 {
		return err
	}

	rows := newTable(c.out, "BOX HEARD", "WAITING", "OLDEST", "LAST FETCH", "VENUE")
	sites, more := shown(o.Sites, all)
	for _, s := range sites {
		oldest := "-"
		if s.Waiting > 0 {
			oldest = finding.Age(o.At.Sub(s.Oldest))
		}
		rows.row(relay.Ago(o.At, s.LastSeen), fmt.Sprint(s.Waiting), oldest, relay.Ago(o.At, s.LastFetch), s.Name)
	}

	return cmp.Or(rows.end(), write(c.out, more))
}

// shown is the beginning of a list, unless all of it is wanted, and a line about the rest.
func shown[T any](list []T, all bool) (first []T, more string) {
	if all || len(list) <= sitesShown {
		return list, ""
	}
	return list[:sitesShown], fmt.Sprintf("… and %d more: --all\n", len(list)-sitesShown)
}
