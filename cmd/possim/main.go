// Command possim simulates both neighbours of ticketrail, kitchen printers and the point-of-sale
// service, so that an integration can be tried without either.
//
// "possim printer" is a kitchen printer on a network port. It shows its tickets on the terminal, and
// fails as real printers do, if a flag says so. "possim serve" is the service's API,
// "possim send" posts print requests as the service does, and "possim check" tests whether a webhook
// meets the contract. Each command has its own file. Nothing of this ships with the
// daemon.
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

// Exit codes. The first three are the daemon's; its 3 has no meaning here.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // a mistake on the command line
	exitUnseen = 4 // nothing failed, but possim check did not see everything
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	// Before Exit, which runs no deferred call.
	stop()
	os.Exit(code)
}

// usageError is a mistake on the command line. A command returns it for a wrong value; mistakes that
// cobra finds itself come before the command begins.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is the program. It returns the exit code, so that tests can call it.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	root := &cobra.Command{
		Use:           "possim",
		Short:         "Simulated printers and a simulated point-of-sale service",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		// Without a command cobra would print the help and exit with 0, so a script would not
		// notice.
		RunE: func(c *cobra.Command, _ []string) error {
			return usageError{errors.New("name a command; possim --help lists them")}
		},
	}

	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	root.AddCommand(printerCommand(), serveCommand(), sendCommand(), checkCommand())

	// Exit code 2 says that nothing has happened yet.
	began := false // flags and arguments were valid, and the command has started
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }

	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}

	fmt.Fprintf(errs, "possim: %v\n", err)
	if _, usage := errors.AsType[usageError](err); usage || !began {
		return exitUsage
	}
	if errors.Is(err, errUnseen) {
		return exitUnseen
	}
	return exitFailed
}
