package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// rejectsShow gives the body back byte by byte with --body, so that `ticketrail inspect` or the
// service's support can read what came.
func (c *cli) rejectsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "show a refused print request and the reason",
		Example: "  ticketrail rejects show 3 --body > refused.json",
	}
	return c.showEntry(cmd, func(ctx context.Context, d *admin.Client, id uint64) (entry, error) {
		r, err := d.Reject(ctx, id)
		return entry{
			text: func() error { return c.showReject(r) },
			body: func() error { return writeBody(c.out, r.Body) },
			json: struct {
				admin.Reject
				Body any `json:"body"`
			}{r, jsonOrString(r.Body)},
		}, err
	})
}

// showReject prints the body below the reason. A truncated one is no complete JSON, so the note
// says why.
func (c *cli) showReject(r admin.Reject) error {
	t := newTable(c.out, "reject", strconv.FormatUint(r.ID, 10))
	t.row(c.timeHead("time"), c.formatTime(r.Time))
	t.row("venue", r.Venue)
	t.row("device", r.Device)
	if r.Address != "" {
		t.row("address", r.Address)
	}
	t.row("code", r.Code)
	t.row("message", r.Message)
	if !r.Printed.IsZero() {
		t.row("printed", c.formatTime(r.Printed))
	}
	if r.Count > 0 { // a caller that was turned away, before its body was read
		t.row("requests", strconv.Itoa(r.Count))
		return t.end()
	}
	if r.Truncated {
		t.row("note", "only the beginning of the body was kept")
	}
	if err := t.end(); err != nil {
		return err
	}
	if err := write(c.out, "\n"); err != nil {
		return err
	}
	return printBody(c.out, r.Body)
}
