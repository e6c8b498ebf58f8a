package main

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// An exportedOrder is a line of jobs export. possim replay reads it, and scripts may: the keys are
// fixed.
type exportedOrder struct {
	At      time.Time `json:"at"` // when it was received
	Venue   string    `json:"venue"`
	Device  string    `json:"device"`
	Request string    `json:"request"`
	Body    *string   `json:"body,omitempty"`        // as received
	Base64  []byte    `json:"body_base64,omitempty"` // instead, if it is not UTF-8
}

// jobsExport is for reproducing an evening: what arrived, and when. A ticket's text would not do,
// because routes and layout are what is being looked for.
func (c *cli) jobsExport() *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "write the print requests of the history, with their times",
		Long: `export writes each print request whose tickets are in the history, oldest first:
one JSON object a line, with the time (at), venue, device, request (its id) and
the body as received. possim replay sends them again to a test box.

It contains orders: names of guests and servers, notes, allergies. Keep the file
like the orders themselves, and delete it after use.`,
		Example: `  ticketrail jobs export --since 18:00 > friday.jsonl`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			// Before the daemon is asked for the kitchen's zone, so that a mistake is told in any case.
			if _, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			d, err := c.client()
			if err != nil {
				return err
			}
			if c.zone, err = d.Zone(cmd.Context()); err != nil {
				return err
			}
			var f admin.Filter
			if f.Since, err = parseSince(since, time.Now().In(c.location())); err != nil {
				return err
			}
			jobs, err := d.Jobs(cmd.Context(), f)
			if err != nil {
				return err
			}
			return c.exportJobs(cmd, d, jobs)
		},
	}
	cmd.Flags().StringVar(&since, "since", "",
		"only requests received since this `time`: 2h, 3d, 18:30, 2026-11-20, \"2026-11-20 18:30\" or RFC 3339")
	return cmd
}

// exportJobs writes one line for each request of the jobs, which come newest first. Bodies are asked
// for one at a time, so that an evening needs no more memory than its longest order.
func (c *cli) exportJobs(cmd *cobra.Command, d *admin.Client, jobs []admin.Job) error {
	type key struct{ venue, request string }
	seen := map[key]bool{}
	lines := json.NewEncoder(c.out)
	lines.SetEscapeHTML(false)
	n := 0
	for _, j := range slices.Backward(jobs) {
		// A copy was made later; its request came before, or is of another evening.
		k := key{j.Venue, j.Request}
		if seen[k] || j.Of != 0 {
			continue
		}
		seen[k] = true
		x, err := d.Job(cmd.Context(), j.ID)
		if err != nil {
			return err
		}
		if len(x.Body) == 0 { // the daemon's own: a test ticket
			continue
		}
		n++
		o := exportedOrder{At: j.ReceivedAt, Venue: j.Venue, Device: j.Device, Request: j.Request}
		if utf8.Valid(x.Body) {
			o.Body = new(string(x.Body))
		} else {
			o.Base64 = x.Body
		}
		if err := lines.Encode(o); err != nil {
			return err
		}
	}
	// On stderr: it is not a part of the export.
	return printLine(c.err, "%s, with all that guests ordered: keep the file safe, and delete it after use",
		ticket.Plural(n, "request"))
}
