package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/profile"
	"ticketrail/queue/ticket"
)

// The commands for one station or one profile.

// printersHold is for an operator who is about to switch a printer off or to move it: no ticket is sent during the
// hold, so none can end in doubt. The hold survives a restart, so the answer names the command that ends it.
func (c *cli) printersHold() *cobra.Command {
	var reason string
	cmd := &cobra.Command{Use: "hold STATION", Short: "stop a station after its current ticket, until resume"}
	reasonFlag(cmd, &reason)
	return c.withStation(cmd, func(ctx context.Context, d *admin.Client, name string) (string, error) {
		return fmt.Sprintf("%s is held: its tickets wait; to continue: ticketrail printers resume %[1]s", name),
			d.Hold(ctx, name, reason)
	})
}

// printersResume also ends the wait between two attempts: the operator has just repaired the
// printer and looks at it.
func (c *cli) printersResume() *cobra.Command {
	cmd := &cobra.Command{Use: "resume STATION", Short: "resume a held station"}
	return c.withStation(cmd, func(ctx context.Context, d *admin.Client, name string) (string, error) {
		// Asked before, only for the text: a resume of a station that is not held is no error.
		before, err := d.Stations(ctx)
		if err != nil {
			return "", err
		}

		held := func(s finding.Station) bool { return s.Name == name && s.Hold != nil }
		done := name + " is resumed"
		if !slices.ContainsFunc(before.Stations, held) {
			done = name + " was not held: if tickets wait, it is tried now"
		}
		return done, d.Resume(ctx, name)
	})
}

// printersProbe is for an operator who has replaced a printer, or changed its settings. The daemon never
// concludes from silence that a printer can no longer answer, because a printer that hangs is silent too.
func (c *cli) printersProbe() *cobra.Command {
	cmd := &cobra.Command{Use: "probe STATION", Short: "find out again what a new printer at a station can answer"}
	return c.withStation(cmd, func(ctx context.Context, d *admin.Client, name string) (string, error) {
		now, err := d.Probe(ctx, name)
		best := map[string]string{
			"confirmed": "it reports each printed ticket by its id; tickets end as confirmed",
			"processed": "it reports that it has processed a ticket; tickets end as processed",
			"sent":      "it cannot report whether a ticket was printed; tickets end as sent",
		}
		return fmt.Sprintf("%s is %s: %s", name, strings.ReplaceAll(now.State, "_", " "),
			cmp.Or(best[now.BestProof], "it was not asked")), err
	})
}

// withStation makes cmd do something with the station on the command line, and print the result.
func (c *cli) withStation(
	cmd *cobra.Command, do func(ctx context.Context, d *admin.Client, name string) (string, error),
) *cobra.Command {
	cmd.Args = oneArg
	return c.asking(c.stationArg(cmd), func(ctx context.Context, d *admin.Client, args []string) error {
		done, err := do(ctx, d, args[0])
		if err != nil {
			return err
		}
		return printLine(c.out, "%s", done)
	})
}

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
	}

	cmd.Flags().DurationVar(&wait, "wait", 10*time.Second, "how long to wait for the result; 0: do not wait")
	return c.withStation(cmd, func(ctx context.Context, d *admin.Client, name string) (string, error) {
		id, err := d.Test(ctx, name)
		if err != nil {
			return "", err
		}

		queued := fmt.Sprintf("job %d, a test ticket, is queued for %s", id, name)
		if wait <= 0 {
			return queued, nil
		}
		if err := printLine(c.out, "%s", queued); err != nil {
			return "", err
		}

		job, err := waitForOutcome(ctx, d, id, wait)
		reason := ""
		if job.Reason != "" {
			reason = " (" + job.Reason + ")"
		}

		switch {
		case err != nil:
			return "", err

		// Perhaps behind other tickets, or at a printer that does not answer: the list says which.
		case job.State == ticket.Pending || job.State == ticket.Printing:
			return "", fmt.Errorf("job %d is still %s after %s%s: see ticketrail printers list %s",
				id, job.State, wait, reason, name)

		// Held is not finished either: it is not known whether the test came out.
		case job.FinishedAt == nil, job.State == ticket.Failed, job.State == ticket.Cancelled,
			job.State == ticket.Expired:
			return "", fmt.Errorf("job %d is %s%s", id, job.State, reason)
		}
		return fmt.Sprintf("job %d is %s", id, job.State), nil
	})
}

// waitForOutcome polls until the job is neither pending nor printing, or until wait is over. The
// daemon has no way to notify a client; ten polls a second are cheap on a local socket. It returns
// the last state that it saw, also when the time is over: the ticket stays in the queue and prints
// later.
func waitForOutcome(ctx context.Context, d *admin.Client, id uint64, wait time.Duration) (admin.Job, error) {
	over := time.After(wait)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		detail, err := d.Job(ctx, id)
		if err != nil || detail.Job.State != ticket.Pending && detail.Job.State != ticket.Printing {
			return detail.Job, err
		}

		select {
		case <-tick.C:
		case <-over:
			return detail.Job, nil
		case <-ctx.Done():
			return detail.Job, errors.New("interrupted: the test ticket stays in the queue")
		}
	}
}

// printersProfiles helps an operator who sets up a printer to choose its profile; the profiles are
// part of the program.
func (c *cli) printersProfiles() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "profiles [PROFILE]",
		Short: "list the printer profiles, or show one",
		Long: `profiles lists the printer models that printers[].profile can name. With a name
it shows the settings of that profile; printers[].override can change each of
them for one printer. It needs no running daemon.`,
		Example:           `  ticketrail printers profiles generic-80mm`,
		Args:              atMostOneArg,
		ValidArgsFunction: cobra.FixedCompletions(profile.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.show(profile.All(), c.profileTable)
			}
			model, ok := profile.Lookup(args[0])
			if !ok {
				return usagef("%w%s", profile.Unknown(args[0]), config.DidYouMean(args[0], profile.Names()))
			}

			// In the form of printers[].override, so that a line can be copied into the
			// configuration.
			return c.show(model, func() error { return write(c.out, model.YAML()) })
		},
	})
}

func (c *cli) profileTable() error {
	rows := newTable(c.out, "PROFILE", "COLUMNS", "CUTTER", "PRINTERS")
	for _, p := range profile.All() {
		rows.row(p.Name, strconv.Itoa(p.Columns), string(p.Cutter), p.About)
	}

	return rows.end()
}
