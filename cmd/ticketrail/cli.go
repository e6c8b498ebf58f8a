package main

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

// Exit codes. Scripts and monitoring depend on them, so they do not change.
const (
	exitOK      = 0
	exitProblem = 1 // a problem was found, or the command failed
	exitUsage   = 2 // wrong usage or configuration
)

// cli is one run of the program. Errors are lower case without a period and say what failed, the
// value seen and what to do. They go to stderr, so that scripts can read stdout.
type cli struct {
	in       io.Reader // the body for inspect
	out, err io.Writer

	config, socket string // flags
	configGiven    bool   // --config was given
	parsed         bool   // flags and arguments were right

	changeOptions func(*app.Options) // what a test changes about the daemon; nil in the program
}

// run runs one command and returns its exit code. It does not exit, so that tests run commands
// without a process.
func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if _, ok := errors.AsType[*configError](err); ok {
		c.printError("", err) // without a prefix: each problem begins with its line in the file
		return exitUsage
	}
	c.printError("ticketrail: ", err)
	if _, ok := errors.AsType[*usageError](err); ok || !c.parsed {
		fmt.Fprintf(c.err, "try: %s --help\n", cmd.CommandPath())
		return exitUsage
	}
	// The daemon found the mistake that the command line could not: an unknown state, a move
	// without a destination.
	if e, ok := errors.AsType[*admin.Error](err); ok && e.Code == admin.BadRequest {
		return exitUsage
	}
	return exitProblem
}

// printError prints each of the joined errors on a line of its own. An error may quote a file or an
// answer from the network, so control characters are removed: they could change the terminal. An
// operator reads ten problems of a file one by one; a script counts lines.
func (c *cli) printError(prefix string, err error) {
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(c.err, prefix+layout.Clean(line))
		}
	}
}

// root is the tree of commands. Cobra would print the usage after every error; it is silenced,
// because the error itself says what to do and must not scroll away.
func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ticketrail",
		Short: "prints every order once, at the right station in the kitchen",
		Long: `ticketrail receives print requests from the point-of-sale service, never loses a request that
it has accepted, and prints every ticket at the right station in the kitchen, in order.

Exit codes: 0 OK, 1 a problem was found, 2 wrong usage or configuration.`,
		Args:          rejectArgs,
		RunE:          requireSubcommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		// Cobra calls it after flags and arguments were checked. An error before it is therefore
		// wrong usage, without a type of its own.
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			c.parsed = true
			c.configGiven = cmd.Flags().Changed("config")
		},
	}
	f := root.PersistentFlags()
	// The same default as in the systemd unit: on an installed box no command needs the flag.
	f.StringVar(&c.config, "config", "/etc/ticketrail/ticketrail.yaml", "configuration `file`")
	f.StringVar(&c.socket, "socket", "",
		"admin `socket` of the running daemon (default: admin.socket of the configuration)")
	root.AddCommand(
		c.serve(), c.check(), c.inspect(),
		group("jobs", "list, show, reprint, move and cancel tickets",
			c.jobsList(), c.jobsShow(), c.jobsReprint(), c.jobsMove(), c.jobsCancel()),
		group("printers", "list, test, hold, resume and probe stations; list printer profiles",
			c.printersList(), c.printersTest(), c.printersHold(), c.printersResume(), c.printersProbe(),
			c.printersProfiles()),
		group("screens", "list kitchen screens, pair and revoke browsers, show how long tickets took",
			c.screensList(), c.screensPair(), c.screensRevoke(), c.screensTimes()),
		group("rejects", "list and show refused print requests", c.rejectsList(), c.rejectsShow()),
		group("venues", "check the venues at the point-of-sale API", c.venuesCheck()),
		group("labor", "list the employees and payroll periods of a venue",
			c.laborEmployees(), c.laborPayrollPeriods()),
		c.db(), c.version(),
	)
	return root
}

// group is a command that does nothing itself: without a subcommand it is wrong usage.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: name, Short: short, Args: rejectArgs, RunE: requireSubcommand}
	g.AddCommand(commands...)
	return g
}

// rejectArgs refuses a misspelt subcommand with the nearest right one. Cobra alone would show the
// help and exit with 0, and a script would take that for success.
func rejectArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], hint)
}

// oneArg and someArgs check the number of arguments. Their errors name the missing argument, as the
// command's Use does; cobra's own say "accepts 1 arg(s), received 0".
func oneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes only one %s, unexpected: %q", cmd.CommandPath(), argument(cmd), args[1])
	}
	return someArgs(cmd, args)
}

func someArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no %s given: %s %s", argument(cmd), cmd.CommandPath(), argument(cmd))
	}
	return nil
}

// argument is the name of the argument in "show ID" and "cancel ID...".
func argument(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.Use, " ")
	return strings.TrimSuffix(name, "...")
}

// requireSubcommand makes `ticketrail jobs` wrong usage that lists what can follow. Hidden commands
// are not listed.
func requireSubcommand(cmd *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usagef("%s needs a command: %s", cmd.CommandPath(), strings.Join(names, ", "))
}

// usageError is a mistake on the command line. It ends the run with exitUsage and names the help.
// The same command again cannot succeed, so a script need not retry it.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// usagef makes a usageError in the form of fmt.Errorf.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// configError is an invalid configuration. It ends the run with exitUsage. It is a type of its own
// because its text is a list, each line with its place in the file.
type configError struct{ error }

func (e *configError) Unwrap() error { return e.error }
