package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/queue/ticket"
)

func (c *cli) jobsMove() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "move {ID... | --from PRINTER} --to PRINTER",
		Short: "send waiting tickets to another printer",
		Long: `move sends tickets that wait to the end of another printer's line: those named, or with
--from all that wait at a printer. They get new ids.`,
		Example: "  ticketrail jobs move --from grill --to bar",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case to == "":
				return usage("move to which printer? name it with --to")
			case from == "" && len(args) == 0:
				return usage("move which tickets? name their ids, or all of a printer with --from")
			case from != "" && len(args) > 0:
				return usage("move either the tickets named or all of %s, not both", from)
			}
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			d, err := c.daemon()
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
			if len(moved) == 0 {
				return say(c.out, "nothing waits at %s: nothing moved", from)
			}
			return say(c.out, "%s moved to %s: %s", ticket.Plural(len(moved), "ticket"), to, numbers(moved))
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "all that wait at this `printer`")
	cmd.Flags().StringVar(&to, "to", "", "the `printer` they go to")
	return cmd
}

// numbers names jobs, and of very many only the first.
func numbers(ids []uint64) string {
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
