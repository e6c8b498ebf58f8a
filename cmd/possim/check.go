package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ticketrail/receiver/sim"
)

// checkFlags are the flags of possim check. load is --count, the orders of the load test.
type checkFlags struct {
	venues            []string
	device            string
	load, concurrency int
}

// checkCommand is a test that integrators in any language can run: it knows the contract and
// nothing of ticketrail.
func checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check URL",
		Short: "Test whether a webhook does what the contract requires",
		Long: `Test whether a webhook does what the contract requires. Each result names the section of the
contract, what was sent, the required answer and the answer received.

It sends about 250 real orders: do not use it on a kitchen that is open. The exit code is 0 if
every requirement is met, otherwise 1.`,
		Example: `  possim check --venue ` + sampleVenue + ` http://127.0.0.1:8443/webhooks/print`,
		Args:    oneURL,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], c.OutOrStdout())
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.venues, "venue", nil,
		"UUID of a venue on the allow-list; may be repeated (default "+sampleVenue+")")
	fl.StringVar(&f.device, "device", "POSSIM-1", "a device that may send orders")
	fl.IntVar(&f.load, "count", 200, "orders to send in the load test")
	fl.IntVar(&f.concurrency, "concurrency", 16, "how many of them at a time")
	return c
}

func (f *checkFlags) run(ctx context.Context, to string, out io.Writer) error {
	// Checked before the first order is sent.
	if f.load < 1 || f.concurrency < 1 || f.concurrency > 10_000 {
		return usageError{
			fmt.Errorf("--count %d, --concurrency %d: use 1 or more, and a concurrency of at most 10000", f.load,
				f.concurrency),
		}
	}
	venues, err := venuesOf(f.venues)
	if err != nil {
		return err
	}
	failed := 0
	results := sim.Check(ctx, sim.CheckOptions{
		URL: to, Venues: venues, Device: f.device, Load: f.load, Concurrency: f.concurrency,
		// Printed at once: an endpoint that never answers takes 5 s for each row.
		OnResult: func(r sim.Result) {
			verdict := "pass"
			if !r.Pass {
				verdict = "FAIL"
				failed++
			}
			fmt.Fprintf(out, "%s  %s  %s\n      want %s; got %s\n", verdict, r.Section, r.Name, r.Want, r.Got)
		},
	})
	// What was not checked is not met: Ctrl-C exits with 1.
	if ctx.Err() != nil {
		return fmt.Errorf("stopped after %d checks, %d of them failed", len(results), failed)
	}
	fmt.Fprintf(out, "%d checks, %d failed\n", len(results), failed)
	if failed > 0 {
		return errors.New("the endpoint does not meet the contract")
	}
	return nil
}
