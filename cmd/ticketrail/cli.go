package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

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
	exitNoReply = 3 // the daemon is not reachable
)

// cli is one run of the program. Errors are lower case without a period and say what failed, the
// value seen and what to do. They go to stderr, so that scripts can read stdout.
type cli struct {
	in       io.Reader // the body for inspect
	out, err io.Writer

	config, socket string         // flags
	configGiven    bool           // --config was given
	parsed         bool           // flags and arguments were right
	zone           *time.Location // in which times are shown: the kitchen's, once the daemon was asked; nil: the box's

	withoutOrders bool // nothing that is shown may come from an order, see support

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
	if errors.Is(err, admin.ErrUnreachable) {
		return exitNoReply
	}
	return exitProblem
}

// printError prints each of the joined errors on a line of its own. An error may quote a file or an
// answer from the network, so control characters are removed: they could change the terminal. An
// operator reads ten problems of a file one by one; a script counts lines.
func (c *cli) printError(prefix string, err error) {
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(c.err, fold(prefix+layout.Clean(line), columnsOf(c.err), 2))
		}
	}
}

// root is the tree of commands. Cobra would print the usage after every error; it is silenced,
// because the error itself says what to do and must not scroll away.
func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ticketrail",
		Short: "prints every order once, at the right station in the kitchen",
		Long: `ticketrail receives print requests from the point-of-sale service, never loses a
request that it has accepted, and prints every ticket at the right station in
the kitchen, in order.

Exit codes:
  0  OK
  1  a problem was found, or the command failed
  2  wrong usage or configuration
  3  the daemon is not reachable: down, or this user may not open its socket`,
		Version:       admin.ThisBuild().String(),
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
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(help())
	root.SetUsageTemplate(strings.NewReplacer(".FlagUsages ", ".FlagUsagesWrapped 80 ",
		" for more information about a command", " for more about a command").Replace(root.UsageTemplate()))
	// The package installs what it prints.
	root.CompletionOptions.HiddenDefaultCmd = true
	f := root.PersistentFlags()
	// The same default as in the systemd unit: on an installed box no command needs the flag.
	f.StringVar(&c.config, "config", "/etc/ticketrail/ticketrail.yaml",
		"configuration `file`, of relay commands "+relayConfig)
	f.StringVar(&c.socket, "socket", "",
		"admin `socket` of the running daemon (default: admin.socket of the configuration)")
	root.AddCommand(
		c.init(), c.serve(), c.status(), c.doctor(), c.support(), c.check(),
		c.inspect(), c.fields(),
		listGroup("jobs", "list, show, reprint, move and cancel tickets",
			c.jobsList(), c.jobsShow(), c.jobsReprint(), c.jobsMove(), c.jobsCancel()),
		listGroup("printers", "list, test, hold, resume and probe stations; list printer profiles",
			c.printersList(), c.printersTest(), c.printersHold(), c.printersResume(), c.printersProbe(),
			c.printersProfiles(), c.printersDiscover()),
		listGroup("screens", "list kitchen screens, pair and revoke browsers, show times",
			c.screensList(), c.screensPair(), c.screensRevoke(), c.screensTimes()),
		listGroup("rejects", "list, show and print refused print requests", c.rejectsList(), c.rejectsShow(),
			c.rejectsPrint()),
		listGroup("venues", "list the venues, check them at the point-of-sale API", c.venuesList(), c.venuesCheck()),
		group("labor", "list the employees and payroll periods of a venue",
			c.laborEmployees(), c.laborPayrollPeriods()),
		group("db", "check, back up, restore, salvage and compact the database",
			c.dbCheck(), c.dbBackup(), c.dbRestore(), c.dbSalvage(), c.dbCompact()),
		c.relay(), c.man(), c.version(),
	)
	strictCompletion(root)
	c.completeNames(root)
	return root
}
