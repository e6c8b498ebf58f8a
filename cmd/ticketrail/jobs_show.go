package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// columns is how wide "jobs show" draws a ticket: an 80 mm roll.
const columns = 42

func (c *cli) jobsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "what became of a ticket, and the ticket",
	}
	body := "the print request as it was received, and nothing else"
	return c.shows(cmd, body, func(ctx context.Context, d *admin.Client, id uint64) (kept, error) {
		x, err := d.Job(ctx, id)
		return kept{
			text: func() error {
				kin, err := d.Jobs(ctx, admin.Filter{Request: x.Job.Request})
				if err != nil {
					return err
				}
				return c.showJob(x, kin)
			},
			body: func() error {
				if len(x.Body) == 0 {
					return fmt.Errorf("job %d has no body: the daemon made it itself", id)
				}
				return raw(c.out, x.Body)
			},
			json: struct {
				admin.Job
				Ticket ticket.Ticket `json:"ticket"`
				Body   any           `json:"body"`
			}{x.Job, x.Ticket, embed(x.Body)},
		}, err
	})
}

// showJob draws a job; kin are all jobs of its request, itself among them.
func (c *cli) showJob(x admin.Detail, kin []admin.Job) error {
	j := x.Job
	t := newTable(c.out, "job", strconv.FormatUint(j.ID, 10))
	t.row("state", j.State.String())
	t.row("printer", j.Station)
	t.row("received", clock(j.ReceivedAt))
	if j.FinishedAt != nil {
		t.row("finished", clock(*j.FinishedAt))
	}
	t.row("tries", strconv.Itoa(j.Attempts))
	if n := note(j); n != "" {
		t.row("note", n)
	}
	t.row("request", j.Request)
	t.row("record", j.Record)
	t.row("venue", strings.TrimSpace(j.VenueName+" "+j.Venue))
	t.row("device", j.Device)
	for _, k := range kin {
		if k.ID != j.ID {
			t.row("also", fmt.Sprintf("job %d, %s at %s", k.ID, k.State, k.Station))
		}
	}
	if err := t.end(); err != nil {
		return err
	}
	d := ticket.Delivery{
		Job: j.ID, Station: j.Station, Attempt: max(j.Attempts, 1),
		Ticket: x.Ticket, Doubt: j.Doubt, Reprint: j.Reprint,
	}
	for line := range strings.Lines("\n" + layout.Plain(layout.Compose(d, columns, j.Station), columns)) {
		if err := put(c.out, layout.Clean(strings.TrimRight(line, "\n"))+"\n"); err != nil {
			return err
		}
	}
	return nil
}
