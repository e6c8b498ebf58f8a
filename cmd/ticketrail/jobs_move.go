package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// jobsMove is for a station that will not work again tonight, and for an orphan. For a short
// failure a backup is better: it needs no operator, and the tickets keep their ids.
func (c *cli) jobsMove() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "move {ID... | --from STATION} --to STATION",
		Short: "move waiting and held tickets to another station",
		Long: `move puts tickets that wait or are held at the end of another station's queue:
the ones named, or with --from all of a station. They get new ids. A held ticket
may have come out already, so it then prints marked REPRINT.`,
		Example: "  ticketrail jobs move --from grill --to bar",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			// Not a required flag of cobra, whose message would not say what the flag is for.
			case to == "":
				return usagef("no destination: name the station with --to")
			case from == "" && len(args) == 0:
				return usagef("no tickets: give their ids, or --from STATION for all that wait there")
			case from != "" && len(args) > 0:
				return usagef("give either ids or --from %s, not both", from)
			}
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			d, err := c.client()
			if err != nil {
				return err
			}
			var moved []uint64
			if from != "" {
				moved, err = d.MoveAll(cmd.Context(), from, to)
			} else {
				moved, err = d.Move(cmd.Context(), ids, to)
			}
			if err != nil {
				return err
			}
			// Only with --from: an id that cannot be moved is an error.
			if len(moved) == 0 {
				err = printLine(c.out, "no ticket waits at %s: nothing was moved", from)
			} else {
				err = printLine(c.out, "%s moved to %s: %s", ticket.Plural(len(moved), "ticket"), to, jobNumbers(moved))
			}
			if err != nil || from == "" {
				return err
			}
			return leftPrinting(cmd.Context(), d, from)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "move all tickets that wait at this `station`")
	cmd.Flags().StringVar(&to, "to", "", "`station` that prints them instead")
	return cmd
}

// leftPrinting says that a ticket of the station stayed there because it is being tried just now, as
// the first one at a dead printer nearly always is. Without this the operator believes that the new
// station has everything.
func leftPrinting(ctx context.Context, d *admin.Client, from string) error {
	all, err := d.Stations(ctx)
	if err != nil {
		return err
	}
	for _, s := range all.Stations {
		if s.Name == from && s.Printing > 0 {
			return fmt.Errorf("the first ticket of %s is being printed and was not moved; to move it too: "+
				"ticketrail printers hold %[1]s, and repeat this command when that ticket is pending", from)
		}
	}
	return nil
}

// jobNumbers lists job ids; of more than 20 only the first and the last. The operator needs them to
// follow the tickets, but a whole queue may have hundreds.
func jobNumbers(ids []uint64) string {
	const most = 20
	var b strings.Builder
	b.WriteString("now job")
	if len(ids) > 1 {
		b.WriteString("s")
	}
	for i, id := range ids {
		if i == most {
			fmt.Fprintf(&b, " … %d", ids[len(ids)-1])
			break
		}
		b.WriteString(" " + strconv.FormatUint(id, 10))
	}
	return b.String()
}
