package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// printersTest proves the whole way of an order but the webhook: disk, queue, dispatcher, printer.
// A test page of the printer itself proves only the printer.
func (c *cli) printersTest() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "test STATION",
		Short: "print a test ticket and report the result",
		Long: `test puts a test ticket at the end of a station's queue and waits for the
result; the exit code is 1 if the ticket did not print. Tickets that were queued
before it print first.`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client()
			if err != nil {
				return err
			}
			id, err := d.Test(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			err = printLine(c.out, "job %d, a test ticket, is queued for %s", id, args[0])
			if err != nil || wait <= 0 {
				return err
			}
			j, err := waitForOutcome(cmd.Context(), d, id, wait)
			switch {
			case err != nil:
				return err
			// Perhaps behind other tickets, or at a printer that does not answer: the list says
			// which.
			case j.State == ticket.Pending || j.State == ticket.Printing:
				return fmt.Errorf("job %d is still %s after %s%s: see ticketrail printers list %s",
					id, j.State, wait, reasonText(j), args[0])
			// Held is not finished either: it is not known whether the test came out.
			case j.FinishedAt == nil, j.State == ticket.Failed, j.State == ticket.Cancelled, j.State == ticket.Expired:
				return fmt.Errorf("job %d is %s%s", id, j.State, reasonText(j))
			}
			return printLine(c.out, "job %d is %s", id, j.State)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 10*time.Second, "how long to wait for the result; 0: do not wait")
	return cmd
}

// reasonText is why a job has not printed, in brackets; empty if that is not known.
func reasonText(j admin.Job) string {
	if j.Reason == "" {
		return ""
	}
	return " (" + j.Reason + ")"
}

// waitForOutcome polls until the job is neither pending nor printing, or until wait is over. The
// daemon has no way to notify a client; ten polls a second are cheap on a local socket. It returns
// the last state that it saw, also when the time is over: the ticket stays in the queue and prints
// later.
func waitForOutcome(ctx context.Context, d *admin.Client, id uint64, wait time.Duration) (admin.Job, error) {
	over, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last admin.Job
	for {
		// With ctx and not over, so that the last answer is not cut off when the time ends.
		x, err := d.Job(ctx, id)
		if err != nil {
			return last, err
		}
		last = x.Job
		if last.State != ticket.Pending && last.State != ticket.Printing {
			return last, nil
		}
		select {
		case <-tick.C:
		case <-over.Done():
			if ctx.Err() != nil {
				return last, errors.New("interrupted: the test ticket stays in the queue")
			}
			return last, nil
		}
	}
}
