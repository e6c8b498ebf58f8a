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

func (c *cli) printersTest() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "test PRINTER",
		Short: "print a test ticket and see whether it came out",
		Long: `test puts a test ticket at the end of a printer's line and waits to see what becomes of it;
its exit code is 1 if it did not go out. Tickets before it go first.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			id, err := d.Test(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := say(c.out, "job %d, a test ticket, is in the line of %s", id, args[0]); err != nil || wait <= 0 {
				return err
			}
			j, err := settled(cmd.Context(), d, id, wait)
			switch {
			case err != nil:
				return err
			case j.State == ticket.Pending || j.State == ticket.Printing:
				return fmt.Errorf("job %d is still %s after %s%s: see ticketrail printers list %s", id, j.State, wait, why(j), args[0])
			case j.FinishedAt == nil || j.State == ticket.Failed || j.State == ticket.Cancelled || j.State == ticket.Expired:
				return fmt.Errorf("job %d is %s%s", id, j.State, why(j))
			}
			return say(c.out, "job %d is %s", id, j.State)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 10*time.Second, "how long to wait for it; 0: not at all")
	return cmd
}

func why(j admin.Job) string {
	if j.Reason == "" {
		return ""
	}
	return " (" + j.Reason + ")"
}

// settled asks until the job is out of its line, or wait is over.
func settled(ctx context.Context, d *admin.Client, id uint64, wait time.Duration) (admin.Job, error) {
	over, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last admin.Job
	for {
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
				return last, errors.New("interrupted: the test ticket stays in the line")
			}
			return last, nil
		}
	}
}
