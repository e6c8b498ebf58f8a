package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/app"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// Exit codes. Scripts and monitoring depend on them, so they do not change.
const (
	exitOK      = 0
	exitProblem = 1 // a problem was found, or the command failed
	exitUsage   = 2 // wrong usage or configuration
	exitNoReply = 3 // the daemon is not reachable
)

// cli is one run of the program. An error is lower case without a period, and has the action that failed, the value
// seen and the remedy. Errors go to stderr, so that scripts can read stdout.
type cli struct {
	in       io.Reader // the body for inspect
	out, err io.Writer

	config, socket string // flags
	asJSON         bool
	configGiven    bool           // --config was given
	parsed         bool           // flags and arguments were right
	zone           *time.Location // in which times are shown: the kitchen's, once the daemon was asked; nil: the box's

	withoutOrders bool // nothing that is shown may come from an order, see support

	changeOptions func(*app.Options) // the changes of a test to the daemon; nil in the program
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

	if refused, ok := errors.AsType[*configError](err); ok {
		c.printError("", err) // without a prefix: each problem begins with its line in the file
		c.printError("ticketrail: ", refused.last)
		return exitUsage
	}

	c.printError("ticketrail: ", err)
	if _, ok := errors.AsType[*usageError](err); ok || !c.parsed {
		fmt.Fprintf(c.err, "usage: %s\ntry: %s --help\n", cmd.UseLine(), cmd.CommandPath())
		return exitUsage
	}

	// The daemon found the mistake that the command line could not: an unknown state, a move
	// without a destination.
	if refusal, ok := errors.AsType[*admin.Error](err); ok && refusal.Code == admin.BadRequest {
		return exitUsage
	}
	if errors.Is(err, admin.ErrUnreachable) {
		return exitNoReply
	}

	return exitProblem
}

// printError prints each of the joined errors on a line of its own. An error may quote a file or an
// answer from the network, so control characters are removed: they could change the terminal. An
// operator reads ten problems of a file one by one; a script counts lines.
func (c *cli) printError(prefix string, err error) {
	// The error that ends a service is an error for the journal too, as in the log of the daemon.
	if journald, _ := journal.StderrIsJournalStream(); journald && c.err == os.Stderr {
		prefix = "<3>" + prefix
	}

	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(c.err, prefix+layout.Clean(line))
		}
	}
}

// root is the tree of commands. Cobra would print the usage after every error; it is silenced, because the error
// itself has the remedy and must not scroll away.
func (c *cli) root() *cobra.Command {
	root := group("ticketrail", "prints every order once, at the right station in the kitchen",
		c.init(), c.serve(), c.status(), c.doctor(), c.support(), c.check(),
		c.inspect(), c.fields(),
		group("jobs", "list, show, reprint, move and cancel tickets",
			c.jobsList(), c.jobsShow(), c.jobsReprint(), c.jobsMove(), c.jobsCancel()),
		group("printers", "list, test, hold, resume and probe stations; list printer profiles",
			c.printersList(), c.printersTest(), c.printersHold(), c.printersResume(), c.printersProbe(),
			c.printersProfiles(), c.printersDiscover()),
		group("screens", "list kitchen screens, pair and revoke browsers",
			c.screensList(), c.screensPair(), c.screensRevoke()),
		group("rejects", "list, show and print refused print requests", c.rejectsList(), c.rejectsShow(),
			c.rejectsPrint()),
		group("venues", "list the venues, check them at the point-of-sale API", c.venuesList(), c.venuesCheck()),
		group("labor", "list the employees and payroll periods of a venue",
			c.laborEmployees(), c.laborPayrollPeriods()),
		group("db", "check, back up, restore and compact the database",
			c.dbCheck(), c.dbBackup(), c.dbRestore(), c.dbCompact()),
		c.relay(), c.man(), c.version(),
	)
	root.Long = `ticketrail receives print requests from the point-of-sale service, never loses a
request that it has accepted, and prints every ticket at the right station in
the kitchen, in order.

Exit codes:
  0  OK
  1  a problem was found, or the command failed
  2  wrong usage or configuration
  3  the daemon is not reachable: down, or this user may not open its socket`
	root.SilenceUsage, root.SilenceErrors = true, true

	// Cobra calls it after flags and arguments were checked, each by itself. An error until its end is
	// therefore wrong usage, without a type of its own.
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return err
		}
		c.parsed, c.configGiven = true, cmd.Flags().Changed("config")
		return nil
	}

	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	root.CompletionOptions.HiddenDefaultCmd = true // the package installs its output

	flags := root.PersistentFlags()
	// The same default as in the systemd unit: on an installed box no command needs the flag.
	flags.StringVar(&c.config, "config", "/etc/ticketrail/ticketrail.yaml",
		"configuration `file`, of relay commands "+relayConfig)
	flags.StringVar(&c.socket, "socket", "",
		"admin `socket` of the running daemon (default: admin.socket of the configuration)")
	return root
}

// group is a command with others below it. Alone it does nothing, except that `ticketrail jobs` is
// `ticketrail jobs list`: an operator who does not know the others sees the tickets.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	parent := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs}
	parent.AddCommand(commands...)
	list := commands[0]
	if list.Name() == "list" {
		parent.Flags().AddFlagSet(list.Flags()) // the flags themselves, so list.RunE sees the given ones
	}

	parent.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && list.Name() == "list" {
			return list.RunE(cmd, args)
		}
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}

		if len(args) == 0 {
			return usagef("%s needs a command: %s", cmd.CommandPath(), strings.Join(names, ", "))
		}
		return usagef("%s has no command %q; there is %s%s", cmd.CommandPath(), args[0], strings.Join(names, ", "),
			config.DidYouMean(args[0], names))
	}

	return parent
}

// noArgs, oneArg, someArgs and atMostOneArg check the number of arguments.
var (
	noArgs, oneArg         = cobra.NoArgs, cobra.ExactArgs(1)
	someArgs, atMostOneArg = cobra.MinimumNArgs(1), cobra.MaximumNArgs(1)
)

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
type configError struct {
	error
	last error // the line behind the list, with the name of the file; nil: none
}

func (e *configError) Unwrap() error { return e.error }

// invalid is the error of a configuration file, whose name a list of problems does not have.
func invalid(file string, err error) error {
	refused := &configError{error: err}
	if problems, ok := errors.AsType[config.Problems](err); ok && !strings.Contains(err.Error(), file) {
		refused.last = fmt.Errorf("%s in %s", ticket.Plural(len(problems), "problem"), file)
	}
	return refused
}
