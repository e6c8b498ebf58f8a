package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"ticketrail/receiver/sim"
)

// sendFlags are the flags of possim send.
type sendFlags struct {
	sim.Load
	sim.OrderOptions
	file string
}

// sendCommand is possim send. The rules are in package sim; here are only flags, their checks and
// the output.
func sendCommand() *cobra.Command {
	var f sendFlags
	command := &cobra.Command{
		Use:   "send URL",
		Short: "Post print requests to a webhook, by the service's rules",
		Long: `Post print requests to a webhook, by the service's rules: it waits 5 s for an answer; 200 and 202
make a job SENT or CONSUMED; 400 aborts it as a configuration error; 401 and 403 abort it and alert
the venue's admin; 500, 502, 503, 504 and timeouts are retried up to 3 times with exponential
backoff.

One line for each job reports its outcome. A summary reports how fast the answers came. The exit
code is 0 if all jobs were accepted, otherwise 1. With --count 0 it runs until Ctrl-C; jobs that
are running then are not counted.

The orders are random, determined by the seed: modifiers in modifiers, courses, notes, every
script, voids, refires, servers by name or only by employee id (possim serve knows the employees
if it has the same seed and venue). With --seed the ids of the requests are the same in every run;
an endpoint that has seen them takes them for duplicates. With --file it sends only the file.`,
		Example: `  possim send http://127.0.0.1:8443/webhooks/print
  possim send --rate 5 --count 500 --concurrency 8 http://127.0.0.1:8443/webhooks/print
  possim send --file body.json http://127.0.0.1:8443/webhooks/print`,
		Args: oneURL,
		RunE: func(c *cobra.Command, args []string) error {
			// A seed that is given asks for the same orders again, ids included. Without one, each
			// run is new to the endpoint.
			f.FreshIDs = !c.Flags().Changed("seed")
			return f.run(c.Context(), args[0], c.OutOrStdout())
		},
	}

	fl := command.Flags()
	fl.StringArrayVar(&f.Venues, "venue", nil,
		"UUID of a venue; may be repeated, they send in turns (default "+sampleVenue+")")
	fl.StringVar(&f.Device, "device", "", "device that sends the orders (default: several)")
	fl.IntVar(&f.Count, "count", 10, "how many orders; 0: until Ctrl-C")
	fl.Float64Var(&f.Rate, "rate", 0, "orders a second; 0: as fast as they are answered")
	fl.IntVar(&f.Concurrency, "concurrency", 1, "how many orders may wait for an answer at once")
	fl.StringVar(&f.file, "file", "", "send this file as the body, once, even if it is not JSON")
	fl.Uint64Var(&f.Seed, "seed", 1, "determines the orders")
	return command
}

// oneURL checks that the only argument is the URL of a webhook. It does not ask whether anything
// answers there: the first order shows that.
func oneURL(_ *cobra.Command, args []string) error {
	const example = "for example http://127.0.0.1:8443/webhooks/print"
	if len(args) != 1 {
		return usageError{errors.New("give the URL of one webhook, " + example)}
	}
	address, err := url.Parse(args[0])
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return usageError{fmt.Errorf("%q is not the URL of a webhook; use %s", args[0], example)}
	}
	return nil
}

// check refuses values that are out of range.
func (f *sendFlags) check() error {
	switch {
	case f.Count < 0:
		return usageError{fmt.Errorf("--count %d: use 0 or more", f.Count)}
	case !(f.Rate >= 0): // NaN too
		return usageError{fmt.Errorf("--rate %v: use 0 or more", f.Rate)}
	case f.Concurrency < 1:
		return usageError{fmt.Errorf("--concurrency %d: use 1 or more", f.Concurrency)}
	}
	return nil
}

// run sends the orders.
func (f *sendFlags) run(ctx context.Context, to string, out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}

	var err error
	if f.Venues, err = venuesOf(f.Venues); err != nil {
		return err
	}

	f.Next = sim.NewOrders(f.OrderOptions).Next
	if f.file != "" {
		body, err := os.ReadFile(f.file)
		if err != nil {
			return fmt.Errorf("--file: %w", err)
		}
		f.Count = 1
		f.Next = func() sim.Order { return sim.FileOrder(body, f.Venues[0], cmp.Or(f.Device, "POSSIM-1")) }
	}

	// One transport for all orders, as the service keeps its connections.
	transport := sim.Transport(f.Concurrency)
	defer transport.CloseIdleConnections()

	sender := sim.Sender{URL: to, Transport: transport, Logger: slog.New(slog.NewTextHandler(out, nil))}
	sum := sender.Run(ctx, f.Load)
	fmt.Fprintln(out, sum)

	switch {
	case !sum.Accepted():
		return errors.New("not all jobs were accepted")
	case sum.Jobs < f.Count: // a script that sends 500 orders must not take 300 for success
		return fmt.Errorf("stopped after %d of %d orders", sum.Jobs, f.Count)
	}
	return nil
}
