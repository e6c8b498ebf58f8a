package main

// Errors for the person at the keyboard: lower case, no period, the value seen, what to
// do. They go to stderr, control characters taken out, for the
// values seen may come from anywhere.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/app"
	"ticketrail/printer/layout"
)

// Exit codes, as scripts and the service manager know them.
const (
	fine    = 0
	notFine = 1 // the thing asked about is not fine
	wrong   = 2 // wrong usage or configuration
)

// cli is one run of the program.
type cli struct {
	in       io.Reader
	out, err io.Writer

	config, socket string // flags
	configNamed    bool   // --config was given
	began          bool   // flags and arguments were right

	with func(*app.Options) // what a test changes about the daemon; nil in the program
}

func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return fine
	}
	if _, ok := errors.AsType[*configError](err); ok {
		c.complain("", err) // each problem names its place in the file
		return wrong
	}
	c.complain("ticketrail: ", err)
	if _, ok := errors.AsType[*usageError](err); ok || !c.began { // cobra's parsing comes before began
		fmt.Fprintf(c.err, "try: %s --help\n", cmd.CommandPath())
		return wrong
	}
	if e, ok := errors.AsType[*admin.Error](err); ok && e.Code == admin.BadRequest {
		return wrong
	}
	return notFine
}

// complain prints an error, or each of several, on a line of its own.
func (c *cli) complain(prefix string, err error) {
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(c.err, prefix+layout.Clean(line))
		}
	}
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ticketrail",
		Short: "brings every order out of the right kitchen printer, once",
		Long: `ticketrail takes print requests from the point-of-sale service, never forgets one it
said yes to, and brings every ticket out of the right printer, in order.

Exit codes: 0 fine, 1 the thing asked about is not fine, 2 wrong usage or configuration.`,
		Args:          onlyCommands,
		RunE:          needsCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			c.began = true
			c.configNamed = cmd.Flags().Changed("config")
		},
	}
	f := root.PersistentFlags()
	f.StringVar(&c.config, "config", "/etc/ticketrail/ticketrail.yaml", "configuration `file`")
	f.StringVar(&c.socket, "socket", "", "admin socket of the running daemon (default: admin.socket of the configuration)")
	root.AddCommand(
		c.serve(), c.check(), c.inspect(),
		group("jobs", "tickets, waiting and done", c.jobsList(), c.jobsShow(), c.jobsReprint(), c.jobsMove(), c.jobsCancel()),
		group("printers", "the printers and their lines", c.printersList(), c.printersTest(), c.printersHold(), c.printersResume(), c.printersProfiles()),
		group("screens", "the screens in the kitchen, and who may see them", c.screensList(), c.screensPair(), c.screensRevoke()),
		group("rejects", "print requests that were refused, and why", c.rejectsList(), c.rejectsShow()),
		group("venues", "the restaurants, and what the point-of-sale service says of them", c.venuesCheck()),
		group("labor", "who works at a venue, and its payroll periods", c.laborEmployees(), c.laborPayrollPeriods()),
		c.db(), c.version(),
	)
	return root
}

// group is a command that only holds others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: name, Short: short, Args: onlyCommands, RunE: needsCommand}
	g.AddCommand(commands...)
	return g
}

func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], hint)
}

func needsCommand(cmd *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usage("%s needs a command: %s", cmd.CommandPath(), strings.Join(names, ", "))
}

// usageError is something typed wrongly; the run ends with a pointer to the help.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// configError is a configuration that will not do.
type configError struct{ error }

func (e *configError) Unwrap() error { return e.error }
