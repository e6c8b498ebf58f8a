// Command possim is what ticketrail stands between, simulated: kitchen printers, and the
// point-of-sale service, as programs one can put in their place.
//
// "possim printer" is one kitchen printer on a network port. It shows on the terminal what
// comes out of it, and breaks down in the ways printers do when told to at the keyboard.
// "possim serve" is the service's API, "possim send" the service posting print requests, and
// "possim check" finds out whether a webhook is what the service expects.
// One file here is one command. Nothing of it ships with the daemon.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes, the same as the daemon's.
const (
	fine    = 0
	notFine = 1 // something failed
	wrong   = 2 // wrong usage
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is the program without the process around it.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := &cobra.Command{
		Use:           "possim",
		Short:         "The service and its printers, simulated",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return usageError{errors.New("say what to simulate; possim --help lists it")}
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	root.AddCommand(printerCommand(), serveCommand(), sendCommand(), checkCommand())
	began := false // flags and arguments were right
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	err := root.ExecuteContext(ctx)
	if err == nil {
		return fine
	}
	fmt.Fprintf(errs, "possim: %v\n", err)
	if _, usage := errors.AsType[usageError](err); usage || !began {
		return wrong
	}
	return notFine
}
