package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

func (c *cli) rejectsShow() *cobra.Command {
	var asJSON, body bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "a refused print request, and why",
		Example: "  ticketrail rejects show 3 --body > refused.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if body && asJSON {
				return usage("--body is the body alone: leave --json away")
			}
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			d, err := c.daemon()
			if err != nil {
				return err
			}
			r, err := d.Reject(cmd.Context(), id)
			switch {
			case err != nil:
				return err
			case body:
				return raw(c.out, r.Body)
			case asJSON:
				return showJSON(c.out, struct {
					admin.Reject
					Body any `json:"body"`
				}{r, embed(r.Body)})
			}
			return c.showReject(r)
		},
	}
	cmd.Flags().BoolVar(&body, "body", false, "the body as it was received, and nothing else")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *cli) showReject(r admin.Reject) error {
	t := newTable(c.out, "reject", strconv.FormatUint(r.ID, 10))
	t.row("time", clock(r.Time))
	t.row("venue", r.Venue)
	t.row("device", r.Device)
	t.row("code", r.Code)
	t.row("message", r.Message)
	if r.Truncated {
		t.row("note", "only the beginning of the body was kept")
	}
	if err := t.end(); err != nil {
		return err
	}
	if err := put(c.out, "\n"); err != nil {
		return err
	}
	for line := range lines(r.Body) {
		if err := say(c.out, "%s", line); err != nil {
			return err
		}
	}
	return nil
}
