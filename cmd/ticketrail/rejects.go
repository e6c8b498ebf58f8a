package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// rejectsList shows the requests that the webhook refused. Each of them needs a look the same evening, because the
// service has given the order up.
func (c *cli) rejectsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list refused print requests, newest first",
		Long: `list shows print requests that were refused: for their content, or because their
path, venue, device or address is not allowed. The service does not send them
again: each may be an order that the kitchen does not know about. "ticketrail
rejects print" prints it after all.

Other content under the id of an order that was taken before (conflict), and
what is too much for a ticket (over_limit), are listed too.`,
		Args: noArgs,
	}

	return query(c, cmd, func(ctx context.Context, d *admin.Client, _ []string) ([]admin.Reject, error) {
		return d.Rejects(ctx)
	}, func(all []admin.Reject) error {
		rows := newTable(c.out, "ID", c.timeHead("TIME"), "VENUE", "DEVICE", "CODE", "MESSAGE")
		for _, r := range all {
			message := r.Message
			if !r.Printed.IsZero() {
				message = "PRINTED " + c.formatTime(r.Printed) + ": " + message
			}
			rows.row(strconv.FormatUint(r.ID, 10), c.formatTime(r.Time), r.Venue, r.Device, r.Code, message)
		}
		return rows.end()
	})
}

// rejectsShow gives the body back byte by byte with --body, so that `ticketrail inspect` or the service's support can
// read it.
func (c *cli) rejectsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "show a refused print request and the reason",
		Example: "  ticketrail rejects show 3 --body > refused.json",
	}

	cmd.ValidArgsFunction = c.complete(rejectIDs)
	return c.showEntry(cmd, func(ctx context.Context, d *admin.Client, id uint64) (entry, error) {
		reject, err := d.Reject(ctx, id)
		return entry{
			text: func() error { return c.showReject(reject) },
			body: reject.Body,
			json: struct {
				admin.Reject
				Body any `json:"body"`
			}{reject, jsonOrString(reject.Body)},
		}, err
	})
}

// showReject prints the body below the reason. A truncated one is no complete JSON, so the note
// says why.
func (c *cli) showReject(r admin.Reject) error {
	rows := newTable(c.out)
	rows.row("reject", strconv.FormatUint(r.ID, 10))
	rows.row(c.timeHead("time"), c.formatTime(r.Time))
	rows.given("venue", r.Venue)
	rows.given("device", r.Device)
	rows.given("address", r.Address)
	rows.row("code", r.Code)
	rows.row("message", r.Message)
	if !r.Printed.IsZero() {
		rows.row("printed", c.formatTime(r.Printed))
	}

	if r.Count > 0 { // a caller that was turned away, before its body was read
		rows.row("requests", strconv.Itoa(r.Count))
		return rows.end()
	}

	if r.Truncated {
		rows.row("note", "only the beginning of the body was kept")
	}
	rows.row("")
	if err := rows.end(); err != nil {
		return err
	}

	return printBody(c.out, r.Body)
}

// rejectsPrint gives the kitchen an order that was refused.
func (c *cli) rejectsPrint() *cobra.Command {
	var o admin.PrintRejectOptions
	cmd := &cobra.Command{
		Use:   "print ID...",
		Short: "print refused requests after all, headed LATE",
		Long: `print gives the kitchen an order that was refused, once its cause is mended. Its
tickets are headed "LATE – refused at 19:32" and the reason. Ask first whether
the order was taken again by hand.

The order keeps its id: if it is printed twice, or the service sends it again,
only what has not printed does.

With --lenient the cause need not be mended: what can be read prints, and what
cannot prints as text at the fallback. Only the venue must be configured; if the
request names none, or a wrong one, say with --venue which one it is for.`,
		Example: "  ticketrail rejects print 3\n  ticketrail rejects print 4 --venue \"Harbour Grill\"",
	}

	cmd.ValidArgsFunction = c.complete(rejectIDs)
	cmd.Flags().BoolVar(&o.Lenient, "lenient", false, "print it whatever was wrong with it")
	c.venueFlag(cmd, &o.Venue, "the `venue` for which it prints, by name or id (default: the one that it names)")
	return c.forEachID(cmd, func(ctx context.Context, d *admin.Client, id uint64) (string, error) {
		done, err := d.PrintReject(ctx, id, o)
		said, tickets := "%s queued", ticket.Plural(done.Jobs, "ticket")
		switch {
		case done.Jobs == 0:
			said, tickets = "nothing to print: %s", "all of it came before, under the same id"
		case done.Known:
			said = "its id was known: %s with what is new"
		}

		return fmt.Sprintf("refused request %d: "+said, id, tickets), err
	})
}
