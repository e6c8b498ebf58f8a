package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// The commands that change tickets.

// reasonFlag is shared by all changes that the history explains later.
func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "`reason` to store with the change (default: your user name)")
}

// jobsCancel ends tickets that the kitchen must not make. They stay in the history with the reason:
// a cancelled order that was wanted after all can be reprinted.
func (c *cli) jobsCancel() *cobra.Command {
	var reason string
	cmd := &cobra.Command{Use: "cancel ID...", Short: "cancel tickets, so that they do not print"}
	cmd.ValidArgsFunction = c.complete(jobIDs)
	reasonFlag(cmd, &reason)
	return c.forEachID(cmd, func(ctx context.Context, d *admin.Client, id uint64) (string, error) {
		return fmt.Sprintf("job %d is cancelled", id), d.Cancel(ctx, id, reason)
	})
}

// jobsReprint prints a ticket that was lost in the kitchen, or one that is held because it is not
// known whether it came out. The mark tells the cook to ask before cooking it again.
func (c *cli) jobsReprint() *cobra.Command {
	var o admin.ReprintOptions
	cmd := &cobra.Command{
		Use:   "reprint ID...",
		Short: "print tickets again, marked REPRINT",
		Long: `reprint puts a copy, marked REPRINT, at the end of the station's queue. If the
ticket is held or failed, the copy replaces it: the original is cancelled.

If the order was changed since, so that a ticket headed CHANGED has replaced
this one, the latest replacement is copied: a reprint never orders
what was cancelled. Any other ticket prints as it was. If another request has
voided something of the same check since, the head of the copy says so: "VOID at
19:40: job 13". Look at that job.`,
	}

	cmd.ValidArgsFunction = c.complete(jobIDs)
	c.stationFlag(cmd, &o.Station, "station", "`station` that prints the copy (default: the ticket's station)")
	reasonFlag(cmd, &o.Reason)
	return c.forEachID(cmd, func(ctx context.Context, d *admin.Client, id uint64) (string, error) {
		done, err := d.Reprint(ctx, id, o)
		if err != nil {
			return "", err
		}

		at, copied := o.Station, done.Jobs[0]
		if at == "" {
			// The answer has only the id of the copy. An error does not matter: the copy is queued.
			made, _ := d.Job(ctx, copied)
			at = cmp.Or(made.Job.Station, "its station")
		}

		said := []string{fmt.Sprintf("job %d: reprint queued for %s as job %d", id, at, copied)}
		if done.Latest != 0 {
			said = append(said, fmt.Sprintf("it is a copy of job %d, which has replaced it", done.Latest))
		}
		return strings.Join(append(said, done.Later...), "; "), nil
	})
}

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
	}

	cmd.ValidArgsFunction = c.complete(jobIDs)
	c.stationFlag(cmd, &from, "from", "move all tickets that wait at this `station`")
	c.stationFlag(cmd, &to, "to", "`station` that prints them instead")
	_ = cmd.MarkFlagRequired("to")
	return c.asking(cmd, func(ctx context.Context, d *admin.Client, args []string) error {
		if (from == "") == (len(args) == 0) {
			return usagef("which tickets? give either their ids, or --from STATION for all that wait there")
		}
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}

		moved, err := d.Move(ctx, ids, from, to)
		if err != nil {
			return err
		}

		said := fmt.Sprintf("no ticket waits at %s: nothing was moved", from) // an id that cannot be moved is an error
		if len(moved) > 0 {
			said = fmt.Sprintf("%s moved to %s: %s", ticket.Plural(len(moved), "ticket"), to, jobNumbers(moved))
		}
		if err := printLine(c.out, "%s", said); err != nil || from == "" {
			return err
		}

		return leftPrinting(ctx, d, from)
	})
}

// leftPrinting says that a ticket of the station stayed there because it is being tried just now, as
// the first one at a dead printer nearly always is. Without this the operator believes that the new
// station has everything.
func leftPrinting(ctx context.Context, d *admin.Client, from string) error {
	all, err := d.Stations(ctx)
	for _, s := range all.Stations {
		if s.Name == from && s.Printing > 0 {
			return fmt.Errorf("the first ticket of %s is being printed and was not moved; to move it too: "+
				"ticketrail printers hold %[1]s, and repeat this command when that ticket is pending", from)
		}
	}

	return err
}

// jobNumbers are the first and the last of job ids, with which the operator follows the tickets: a whole queue may have
// hundreds.
func jobNumbers(ids []uint64) string {
	if len(ids) == 1 {
		return fmt.Sprintf("now job %d", ids[0])
	}
	return fmt.Sprintf("now jobs %d … %d", ids[0], ids[len(ids)-1])
}
