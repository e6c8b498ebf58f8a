package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/receiver/sim"
)

// checkFlags are the flags of possim check. load is --count, the orders of the load test.
type checkFlags struct {
	venues            []string
	device            string
	load, concurrency int

	printer, profile, display string // where it listens
	count, restart            string // commands
	within, quiet             time.Duration

	asJSON bool
	ca     string
}

// errUnseen says that nothing failed, but not everything was seen.
var errUnseen = errors.New("what is unseen is not proved; possim check --help says how to see it")

// checkCommand is a test that integrators in any language can run: it knows the contract and
// nothing of ticketrail.
func checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check URL",
		Short: "Test whether a webhook does what the contract requires",
		Long: `Test whether a webhook does what the contract requires. Each result names the section of the
contract, what was sent, the required answer or effect, and what was seen.

An answer does not show what was cooked. To judge by what comes out, possim has to see it:
  --listen-printer  possim is the kitchen printer: let the integration print there
  --listen-display  possim is a display: it takes each ticket that is posted there
  --count-command   prints how many tickets exist; it cannot tell them apart
With --restart-command it also tests that no order is lost or doubled over a crash. The command must
kill the integration without warning (kill -9) and start it again.

It sends about 300 real orders: do not use it on a kitchen that is open. The exit code is 0 if
every requirement is met, 1 if one is not, and 4 if none failed but some could not be seen.`,
		Example: `  possim check --venue ` + sampleVenue + ` http://127.0.0.1:8443/webhooks/print
  possim check --listen-printer 127.0.0.1:9100 --restart-command ./restart.sh http://127.0.0.1:8443/hook
  possim check --count-command 'sqlite3 jobs.db "select count(*) from jobs"' http://127.0.0.1:8443/hook`,
		Args: oneURL,
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
	fl.StringVar(&f.printer, "listen-printer", "", "be the printer, at this address")
	fl.StringVar(&f.profile, "profile", "generic-80mm", "the model of that printer; possim printer --help lists them")
	fl.StringVar(&f.display, "listen-display", "", "be a display, at this address: each POST is a ticket")
	fl.StringVar(&f.count, "count-command", "", "a shell command that prints how many tickets exist")
	fl.StringVar(&f.restart, "restart-command", "", "a shell command that kills and starts the integration")
	fl.DurationVar(&f.within, "within", 30*time.Second, "how long to wait for a ticket while no other comes out")
	fl.DurationVar(&f.quiet, "quiet", 2*time.Second, "how long it then waits for a ticket that must not come")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object at the end, instead of text")
	caFlag(c, &f.ca)
	return c
}

// check refuses values that are out of range, before the first order is sent.
func (f *checkFlags) check() error {
	outputs := 0
	for _, o := range []string{f.printer, f.display, f.count} {
		if o != "" {
			outputs++
		}
	}
	switch {
	case f.load < 1 || f.concurrency < 1 || f.concurrency > 10_000:
		return usageError{
			fmt.Errorf("--count %d, --concurrency %d: use 1 or more, and a concurrency of at most 10000", f.load,
				f.concurrency),
		}
	case outputs > 1:
		return usageError{errors.New("use only one of --listen-printer, --listen-display and --count-command")}
	case f.within <= 0 || f.quiet <= 0:
		return usageError{fmt.Errorf("--within %s, --quiet %s: use more than 0s", f.within, f.quiet)}
	}
	return nil
}

// output is where the tickets come out; nil: nothing sees them. It says where it listens.
func (f *checkFlags) output(ctx context.Context, text io.Writer) (o *sim.Output, err error) {
	var at net.Addr
	switch {
	case f.printer != "":
		if o, at, err = listenPrinter(ctx, f.printer, f.profile); err == nil {
			fmt.Fprintf(text, "printer at tcp://%s\n", at)
		}
	case f.display != "":
		if o, at, err = listenDisplay(ctx, f.display); err == nil {
			fmt.Fprintf(text, "display at http://%s/\n", at)
		}
	case f.count != "":
		o = countCommand(f.count)
	}
	if o != nil {
		o.Within, o.Quiet = f.within, f.quiet
	}
	return o, err
}

func (f *checkFlags) run(ctx context.Context, to string, out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	venues, err := venuesOf(f.venues)
	if err != nil {
		return err
	}
	address, err := url.Parse(to)
	if err != nil {
		return err
	}
	text := out
	if f.asJSON {
		text = io.Discard
	}
	listening, end := context.WithCancel(ctx)
	defer end()
	output, err := f.output(listening, text)
	if err != nil {
		return err
	}
	o := sim.CheckOptions{
		URL: to, Venues: venues, Device: f.device, Load: f.load, Concurrency: f.concurrency, Output: output,
	}
	if f.restart != "" {
		o.Restart = func(ctx context.Context) error {
			_, err := shell(ctx, "--restart-command", f.restart)
			return err
		}
	}
	t, err := transportFor(f.concurrency, f.ca)
	if err != nil {
		return err
	}
	defer t.CloseIdleConnections()
	o.Transport = t
	r := newReport(address)
	// Printed at once: an endpoint that never answers takes 5 s for each row.
	o.OnResult = func(result sim.Result) {
		r.add(result)
		printResult(text, result)
	}
	sim.Check(ctx, o)
	return f.finish(ctx, r, out)
}

func printResult(w io.Writer, c sim.Result) {
	word := string(c.Verdict)
	if c.Verdict == sim.Fail {
		word = "FAIL"
	}
	fmt.Fprintf(w, "%-6s  %s  %s\n        want %s; got %s\n", word, c.Section, c.Name, c.Want, c.Got)
}

// finish writes the report. Its error decides the exit code.
func (f *checkFlags) finish(ctx context.Context, r *report, out io.Writer) error {
	r.Complete = ctx.Err() == nil
	if !f.asJSON {
		fmt.Fprintf(out, "%d checks, %d failed, %d unseen\n", len(r.Checks), r.Failed, r.Unseen)
	} else if err := r.writeJSON(out); err != nil {
		return err
	}

	switch {
	// What was not checked is not met: Ctrl-C exits with 1.
	case !r.Complete:
		return fmt.Errorf("stopped after %d checks, %d of them failed", len(r.Checks), r.Failed)
	case r.Failed > 0:
		return errors.New("the endpoint does not meet the contract")
	case r.Unseen > 0:
		return errUnseen
	}
	return nil
}
