package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/queue/ticket"
)

// printersDiscover is for an operator who stands before printers of unknown addresses.
func (c *cli) printersDiscover() *cobra.Command {
	var networks []string
	cmd := &cobra.Command{
		Use:   "discover",
		Short: "find the printers on the local network and on USB",
		Long: `discover asks every address of the box's own private networks on port 9100,
looks on USB, and shows what answers like a printer, with the lines for the
configuration. Nothing prints: it asks for the status (DLE EOT), which is
harmless to other devices too. It asks at most 64 addresses at a time, and no
network larger than a /22 unless it is named with --network. It needs no running
daemon.`,
		Example: "  ticketrail printers discover --network 10.0.3.0/24",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := c.discover(cmd.Context(), networks)
			if err != nil {
				return err
			}
			return c.show(found, func() error { return c.showFound(found) })
		},
	}

	cmd.Flags().StringSliceVar(&networks, "network", nil,
		"ask only this `part` of the box's networks, as 192.168.1.0/24")
	return c.jsonFlag(cmd)
}

// discover looks for printers and says on stderr how long that takes, because a person waits for it.
func (c *cli) discover(ctx context.Context, networks []string) ([]doctor.FoundPrinter, error) {
	search, err := doctor.NewDiscovery(networks)
	if err != nil {
		return nil, usagef("%w", err)
	}

	for _, p := range search.Large {
		fmt.Fprintf(c.err, "%s is large and is not asked: name a part of it with --network\n", p)
	}
	fmt.Fprintf(c.err, "asking %s and USB, at most %s\n", ticket.Plural(len(search.Addresses()), "host"),
		search.Duration().Round(time.Second))
	return search.Run(ctx)
}

func (c *cli) showFound(found []doctor.FoundPrinter) error {
	rows := newTable(c.out, "ADDRESS", "MAC", "MODEL", "STATE", "BEST RESULT")
	var lines []string
	var foreign page
	for _, f := range found {
		if f.Program != "" {
			foreign.add("%s is no printer: %s", f.Address, f.Program)
			continue
		}
		rows.row(f.Address, cmp.Or(f.MAC, "-"), cmp.Or(f.Model, "-"), f.State, cmp.Or(f.BestProof, "-"))
		lines = append(lines, f.YAML(fmt.Sprintf("printer-%d", len(lines)+1)))
	}

	if len(lines) > 0 {
		if err := rows.end(); err != nil {
			return err
		}
	}
	if err := write(c.out, foreign.String()); err != nil {
		return err
	}

	if len(lines) == 0 {
		return errors.New("no printer answers; is it on and in this network? its self-test page shows its address: " +
			"hold FEED while you switch it on")
	}
	return write(c.out, "\nprinters: # for the configuration; give them the names of their stations\n"+
		strings.Join(lines, ""))
}
