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
		detail, err := d.Job(ctx, id)
		return entry{
			text: func() error {
				// A moved or reprinted ticket is another job of the same request: the operator
				// often has the number of the wrong one.
				related, err := d.Jobs(ctx, admin.Filter{Request: detail.Job.Request})
				if err != nil {
					return err
				}
				return c.showJob(detail, related)
			},
			body: detail.Body,
			// The job's own keys are on the top level, as in `jobs list --json`, so a script reads
			// both in the same way.
			json: struct {
				admin.Job
				Ticket   ticket.Ticket  `json:"ticket"`
				Timeline []admin.Moment `json:"timeline"`
				Body     any            `json:"body"`
			}{detail.Job, detail.Ticket, detail.Timeline, jsonOrString(detail.Body)},
		}, err
	})
}

// showJob shows a job. related are all jobs of its request, itself included.
func (c *cli) showJob(x admin.Detail, related []admin.Job) error {
	job := x.Job
	rows := newTable(c.out)
	rows.row("job", strconv.FormatUint(job.ID, 10))
	rows.row("state", string(job.State))
	rows.row("station", job.Station)
	rows.row(c.timeHead("received"), c.formatTime(job.ReceivedAt))
	if job.FinishedAt != nil {
		rows.row("finished", c.formatTime(*job.FinishedAt))
	}

	rows.row("attempts", strconv.Itoa(job.Attempts))
	rows.given("note", jobNote(job))
	rows.given("order", orderOf(job))
	rows.row("request", job.Request)
	rows.row("record", job.Record)
	rows.row("venue", strings.TrimSpace(job.VenueName+" "+job.Venue))
	rows.row("device", job.Device)
	for _, k := range related {
		if k.ID != job.ID {
			rows.row("related", fmt.Sprintf("job %d, %s at %s", k.ID, k.State, k.Station))
		}
	}
	if err := errors.Join(rows.end(), c.showTimeline(x)); err != nil {
		return err
	}

	delivery := ticket.Delivery{
		// As the next or the last attempt prints it, with its marks.
		Job: job.ID, Station: job.Station, Attempt: max(job.Attempts, 1),
		Ticket: x.Ticket, Doubt: job.Doubt, Reprint: job.Reprint, RefusedBy: job.RefusedBy,
	}
	// The stored ticket has text from the network, so each line is cleaned for the terminal.
	return printBody(c.out, []byte("\n"+layout.Plain(layout.Compose(delivery, columns, job.Station), columns)))
}

// showTimeline shows one line for each moment, with the time on the clock of the venue: kitchen and floor compare it
// with their memory. A day is written only where it begins.
func (c *cli) showTimeline(x admin.Detail) error {
	zone, err := time.LoadLocation(x.Ticket.Zone) // of an empty name it is UTC
	if err != nil {
		zone = time.UTC
	}

	rows := newTable(c.out, "") // an empty line comes first
	day := ""
	for _, m := range x.Timeline {
		at := m.At.In(zone)
		cells := []string{"", at.Format("15:04:05 MST"), m.Text}
		if date := at.Format(time.DateOnly); date != day {
			day, cells[0] = date, date
		}
		rows.row(cells...)
	}

	return rows.end()
}
