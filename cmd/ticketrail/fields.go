package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/plan"
)

// fields is how an operator maps an unfamiliar point of sale while it sends orders. inspect does it for one body.
func (c *cli) fields() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fields",
		Short: "show what becomes of the fields of orders, and what maps the rest",
		Long: `fields shows each field of the last 200 orders of each venue, and of the last
day: what read it, that it need not print (noise), or that nobody has mapped it
(NOT READ): then it prints as it came. The examples are from orders.

Below is the configuration that maps or silences the rest. Read it before you
paste it: a cook does not see what is silenced.`,
		Args: noArgs,
	}

	return query(c, cmd, func(ctx context.Context, d *admin.Client, _ []string) (admin.Fields, error) {
		return d.Fields(ctx)
	}, c.showFields)
}

func (c *cli) showFields(all admin.Fields) error {
	for _, v := range all.Venues {
		if err := printLine(c.out, "%s: %s", v.Name, ticket.Plural(v.Requests, "order")); err != nil {
			return err
		}
		if len(v.Fields) == 0 {
			continue
		}

		// Unmapped fields come first; the others as they are in the body.
		slices.SortStableFunc(v.Fields, func(a, b admin.Field) int {
			return cmp.Compare(slices.Index(useOrder, a.Use), slices.Index(useOrder, b.Use))
		})

		rows := newTable(c.out, "FIELD", "IS", "ORDERS", "EXAMPLE")
		for _, f := range v.Fields {
			used := func(other admin.Field) bool { return other.Path == f.Path && other.Use != plan.Noise }
			if f.Use == plan.Noise && slices.ContainsFunc(v.Fields, used) {
				continue // such as one that is sometimes empty
			}
			rows.row(f.Path, f.Use.Text(f.As), strconv.Itoa(f.Requests), f.Example)
		}
		if err := rows.end(); err != nil {
			return err
		}
		if err := write(c.out, "\n"); err != nil {
			return err
		}
	}

	ordered := func(v admin.VenueFields) bool { return v.Requests > 0 }
	if !slices.ContainsFunc(all.Venues, ordered) {
		return write(c.out, "The fields of no order are known yet; a crash forgets those of its last minute.\n")
	}
	return c.showMapping(all)
}

// showMapping shows the configuration for the unread fields.
func (c *cli) showMapping(all admin.Fields) error {
	var unread []admin.Field
	for _, v := range all.Venues {
		unread = append(unread, v.Unread()...)
	}

	// The configuration is for all venues, so each path is named once.
	slices.SortStableFunc(unread, func(a, b admin.Field) int { return cmp.Compare(a.Path, b.Path) })
	unread = slices.CompactFunc(unread, func(a, b admin.Field) bool { return a.Path == b.Path })
	if len(unread) == 0 {
		return write(c.out, "Every field is mapped, silenced or noise.\n")
	}

	return write(c.out, "Paste this into the configuration, in place of ticket.fields and ticket.silence:\n\n"+
		mapping(all, unread))
}

var useOrder = []plan.Use{plan.Unread, plan.Silenced, plan.Read, plan.Noise}
