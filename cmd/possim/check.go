package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/receiver/sim"
)

// checkFlags are the flags of possim check.
type checkFlags struct {
	sim.CheckOptions
	within, quiet time.Duration

	printer, profile string // where it listens, and as which model
	tickets, restart string // commands
	asJSON           bool
}

// errUnseen says that nothing failed, but not everything was seen.
var errUnseen = errors.New("what is unseen is not proved; possim check --help says how to see it")

// checkCommand is a test that integrators in any language can run: it knows the contract and
// nothing of ticketrail.
func checkCommand() *cobra.Command {
	var f checkFlags
	command := &cobra.Command{
		Use:   "check URL",
		Short: "Test whether a webhook does what the contract requires",
		Long: `Test whether a webhook does what the contract requires. Each result names the section of the
contract, what was sent, the required answer or effect, and what was seen.

An answer does not show what was cooked. To judge by what comes out, possim has to see it:
  --listen-printer   possim is the kitchen printer: let the integration print there
  --tickets-command  prints the text of all tickets so far, with a form feed behind each
With --restart-command it also tests that no order is lost or doubled over a crash. The command must
kill the integration without warning (kill -9) and start it again.

It sends about 500 real orders within two minutes: do not use it on a kitchen that is open. The exit
code is 0 if every requirement is met, 1 if one is not, and 4 if none failed but some could not be
seen.`,
		Example: `  possim check --venue ` + sampleVenue + ` http://127.0.0.1:8443/webhooks/print
  possim check --listen-printer 127.0.0.1:9100 --restart-command ./restart.sh http://127.0.0.1:8443/hook
  possim check --tickets-command 'cat tickets.txt' http://127.0.0.1:8443/hook`,
		Args: oneURL,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], c.OutOrStdout())
		},
	}

	fl := command.Flags()
	fl.StringArrayVar(&f.Venues, "venue", nil,
		"UUID of a venue on the allow-list; may be repeated (default "+sampleVenue+")")
	fl.StringVar(&f.Device, "device", "POSSIM-1", "a device that may send orders")
	fl.IntVar(&f.Burst, "burst", 300, "how many orders come at once")
	fl.StringVar(&f.printer, "listen-printer", "", "be the printer, at this address")
	fl.StringVar(&f.profile, "profile", "generic-80mm", "the model of that printer; possim printer --help lists them")
	fl.StringVar(&f.tickets, "tickets-command", "", "a shell command that prints the tickets, a form feed behind each")
	fl.StringVar(&f.restart, "restart-command", "", "a shell command that kills and starts the integration")
	fl.DurationVar(&f.within, "within", 30*time.Second, "how long to wait for a ticket while no other comes out")
	fl.DurationVar(&f.quiet, "quiet", 2*time.Second, "how long it then waits for a ticket that must not come")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object at the end, instead of text")
	return command
}

// check refuses values that are out of range, before the first order is sent.
func (f *checkFlags) check() error {

	switch {
	case f.Burst < 1:
		return usageError{fmt.Errorf("--burst %d: use 1 or more", f.Burst)}
	case f.printer != "" && f.tickets != "":
		return usageError{errors.New("use only one of --listen-printer and --tickets-command")}
	case f.within <= 0 || f.quiet <= 0:
		return usageError{fmt.Errorf("--within %s, --quiet %s: use more than 0s", f.within, f.quiet)}
	}
	return nil
}

// show sets Output to where the tickets come out, and says where it listens.
func (f *checkFlags) show(ctx context.Context, text io.Writer) error {
	switch {
	case f.printer != "":
		output, at, err := listenPrinter(ctx, f.printer, f.profile)
		if err != nil {
			return err
		}
		f.Output = output
		fmt.Fprintf(text, "printer at tcp://%s\n", at)
	case f.tickets != "":
		f.Output = ticketsCommand(f.tickets)
	default:
		return nil
	}

	f.Output.Within, f.Output.Quiet = f.within, f.quiet
	return nil
}

func (f *checkFlags) run(ctx context.Context, to string, out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}

	var err error
	if f.Venues, err = venuesOf(f.Venues); err != nil {
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
	if err := f.show(listening, text); err != nil {
		return err
	}

	f.URL = to
	if f.restart != "" {
		f.Restart = func(ctx context.Context) error {
			_, err := shell(ctx, "--restart-command", f.restart)
			return err
		}
	}

	// Printed at once: an endpoint that never answers takes 5 s for each row.
	f.OnResult = func(result sim.Result) { printResult(text, result) }

	r := &report{Endpoint: address.Scheme + "://" + address.Host, Started: time.Now()}
	r.Checks = sim.Check(ctx, f.CheckOptions)
	return f.finish(ctx, r, out)
}

func printResult(w io.Writer, c sim.Result) {
	word := string(c.Verdict)
	if c.Verdict == sim.Fail {
		word = "FAIL"
	}
	fmt.Fprintf(w, "%-6s  %s  %s\n        want %s; got %s\n", word, c.Section, c.Name, c.Want, c.Got)
}

// A report is the result for programs. Its keys are fixed.
type report struct {
	// Endpoint is the address without its path, which may be a secret.
	Endpoint string    `json:"endpoint"`
	Started  time.Time `json:"started"`
	TookMS   int64     `json:"took_ms"`
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Unseen   int       `json:"unseen"`
	// Complete is false if the check was stopped: a row that did not run is not met.
	Complete bool         `json:"complete"`
	Checks   []sim.Result `json:"checks"`
}

// finish writes the report. Its error decides the exit code.
func (f *checkFlags) finish(ctx context.Context, r *report, out io.Writer) error {
	counts := map[sim.Verdict]int{}

	for _, c := range r.Checks {
		counts[c.Verdict]++
	}
	r.Passed, r.Failed, r.Unseen = counts[sim.Pass], counts[sim.Fail], counts[sim.Unseen]
	r.TookMS, r.Complete = time.Since(r.Started).Milliseconds(), ctx.Err() == nil

	if f.asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(out, "%d checks, %d failed, %d unseen\n", len(r.Checks), r.Failed, r.Unseen)
	}

	switch {
	// A row that did not run is not met: Ctrl-C exits with 1.
	case !r.Complete:
		return fmt.Errorf("stopped after %d checks, %d of them failed", len(r.Checks), r.Failed)
	case r.Failed > 0:
		return errors.New("the endpoint does not meet the contract")
	case r.Unseen > 0:
		return errUnseen
	}
	return nil
}
