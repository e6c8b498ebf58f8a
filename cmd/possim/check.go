package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ticketrail/receiver/sim"
)

// checkFlags are what a conformance run needs to know.
type checkFlags struct {
	venues            []string
	device            string
	load, concurrency int
}

func checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check URL",
		Short: "Is a webhook what the contract asks for?",
		Long: `Is a webhook what the contract asks for? Each line is one thing that the service may send, the
section of the contract that it is from, the answer that is expected, and the one that came.

It sends some 250 real orders: do not point it at a kitchen that is cooking. It exits with 0 when
everything is as the contract says, else with 1.`,
		Example: `  possim check --venue ` + sampleVenue + ` http://127.0.0.1:8443/webhooks/print`,
		Args:    oneURL,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], c.OutOrStdout())
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.venues, "venue", nil, "UUID of a venue on the allow-list; may be given several times (default "+sampleVenue+")")
	fl.StringVar(&f.device, "device", "POSSIM-1", "a device that may send orders")
	fl.IntVar(&f.load, "count", 200, "orders to send under load")
	fl.IntVar(&f.concurrency, "concurrency", 16, "how many of them at a time")
	return c
}

func (f *checkFlags) run(ctx context.Context, to string, out io.Writer) error {
	if f.load < 1 || f.concurrency < 1 || f.concurrency > 10_000 {
		return usageError{fmt.Errorf("--count %d, --concurrency %d: use 1 or more, and at most 10000 at a time", f.load, f.concurrency)}
	}
	venues, err := venuesOf(f.venues)
	if err != nil {
		return err
	}
	failed := 0
	results := sim.Check(ctx, sim.CheckOptions{
		URL: to, Venues: venues, Device: f.device, Load: f.load, Concurrency: f.concurrency,
		OnResult: func(r sim.Result) {
			verdict := "pass"
			if !r.Pass {
				verdict = "FAIL"
				failed++
			}
			fmt.Fprintf(out, "%s  %s  %s\n      want %s; got %s\n", verdict, r.Section, r.Name, r.Want, r.Got)
		},
	})
	if ctx.Err() != nil {
		return fmt.Errorf("stopped after %d checks, %d of them failed", len(results), failed)
	}
	fmt.Fprintf(out, "%d checks, %d failed\n", len(results), failed)
	if failed > 0 {
		return errors.New("the endpoint is not what the contract asks for")
	}
	return nil
}
