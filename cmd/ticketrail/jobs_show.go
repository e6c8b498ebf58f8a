package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// columns is the width of the ticket that "jobs show" draws, as on an 80 mm roll. The real paper may be wider or
// narrower; only the daemon's configuration knows, and this command does not read it.
const columns = 42

// jobsShow tells the fate of a ticket: its state, its reason, and the other jobs of the same order.
func (c *cli) jobsShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: "show a ticket, its state and the other jobs of its request"}
	cmd.ValidArgsFunction = c.complete(jobIDs)
	return c.showEntry(cmd, func(ctx context.Context, d *admin.Client, id uint64) (entry, error) {
		x, err := d.Job(ctx, id)
		return entry{
			text: func() error {
				// A moved or reprinted ticket is another job of the same request: the operator
				// often has the number of the wrong one.
				related, err := d.Jobs(ctx, admin.Filter{Request: x.Job.Request})
				if err != nil {
					return err
				}
				return c.showJob(x, related)
			},
			body: x.Body,
			// The job's own keys are on the top level, as in `jobs list --json`, so a script reads
			// both in the same way.
			json: struct {
				admin.Job
				Ticket   ticket.Ticket  `json:"ticket"`
				Timeline []admin.Moment `json:"timeline"`
				Body     any            `json:"body"`
			}{x.Job, x.Ticket, x.Timeline, jsonOrString(x.Body)},
		}, err
	})
}

// showJob shows a job. related are all jobs of its request, itself included.
func (c *cli) showJob(x admin.Detail, related []admin.Job) error {
	j := x.Job
	t := newTable(c.out)
	given := func(name, value string) {
		if value != "" {
			t.row(name, value)
		}
	}

	t.row("job", strconv.FormatUint(j.ID, 10))
	t.row("state", string(j.State))
	t.row("station", j.Station)
	t.row(c.timeHead("received"), c.formatTime(j.ReceivedAt))
	if j.FinishedAt != nil {
		t.row("finished", c.formatTime(*j.FinishedAt))
	}

	t.row("attempts", strconv.Itoa(j.Attempts))
	given("note", jobNote(j))
	given("order", orderOf(j))
	t.row("request", j.Request)
	t.row("record", j.Record)
	t.row("venue", strings.TrimSpace(j.VenueName+" "+j.Venue))
	t.row("device", j.Device)
	for _, k := range related {
		if k.ID != j.ID {
			t.row("related", fmt.Sprintf("job %d, %s at %s", k.ID, k.State, k.Station))
		}
	}
	if err := errors.Join(t.end(), c.showTimeline(x)); err != nil {
		return err
	}

	d := ticket.Delivery{
		// As the next or the last attempt prints it, with its marks.
		Job: j.ID, Station: j.Station, Attempt: max(j.Attempts, 1),
		Ticket: x.Ticket, Doubt: j.Doubt, Reprint: j.Reprint, RefusedBy: j.RefusedBy,
	}
	// The stored ticket has text from the network, so each line is cleaned for the terminal.
	return printBody(c.out, []byte("\n"+layout.Plain(layout.Compose(d, columns, j.Station), columns)))
}

// showTimeline shows one line for each moment, with the time on the clock of the venue: kitchen and floor compare it
// with their memory. A day is written only where it begins.
func (c *cli) showTimeline(x admin.Detail) error {
	zone, err := time.LoadLocation(x.Ticket.Zone) // of an empty name it is UTC
	if err != nil {
		zone = time.UTC
	}

	t := newTable(c.out, "") // an empty line comes first
	day := ""
	for _, m := range x.Timeline {
		at := m.At.In(zone)
		cells := []string{"", at.Format("15:04:05 MST"), m.Text}
		if d := at.Format(time.DateOnly); d != day {
			day, cells[0] = d, d
		}
		t.row(cells...)
	}

	return t.end()
}
