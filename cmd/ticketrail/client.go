package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	yaml "go.yaml.in/yaml/v3"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/layout"
)

// The commands that talk to the running daemon share the search for its socket, and their kinds. asking is any of
// them; query asks and shows, forEachID changes one thing after another, showEntry shows one stored thing in full.

// client returns a client of the running daemon. Its socket is --socket, else the environment
// variable of admin.socket, else admin.socket of the configuration.
//
// No other key is read or checked, and a configuration that was not named with --config and cannot
// be read means the default socket: an operator who asks why the kitchen gets nothing must get an
// answer, also if the file belongs to root or is half edited.
func (c *cli) client() (*admin.Client, error) {
	if c.socket != "" {
		return admin.NewClient(c.socket), nil
	}

	// The daemon reads its configuration from the environment too, so its commands must find the
	// same socket.
	socket := os.Getenv(config.EnvName("admin.socket"))
	if socket == "" {
		var err error
		if socket, err = socketFrom(c.config); err != nil && c.configGiven {
			return nil, &configError{error: fmt.Errorf(
				"look for admin.socket: %w: name another file with --config, or the socket with --socket", err)}
		}
	}

	socket = cmp.Or(socket, config.Default().Admin.Socket)
	if !filepath.IsAbs(socket) { // relative paths in the configuration start at its folder
		socket = filepath.Join(filepath.Dir(c.config), socket)
	}
	return admin.NewClient(socket), nil
}

// socketFrom reads one key with the YAML package and not with config.Load, which would refuse a
// file with any mistake in it.
func socketFrom(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}

	var f struct{ Admin struct{ Socket string } }
	if err := yaml.Unmarshal(text, &f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return f.Admin.Socket, nil
}

// A question asks the running daemon and shows the answer. It checks args first, so that a mistake is told whether or
// not the daemon runs.
type question func(ctx context.Context, d *admin.Client, args []string) error

// asking makes cmd ask the running daemon.
func (c *cli) asking(cmd *cobra.Command, ask question) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		daemon, err := c.client()
		if err != nil {
			return err
		}

		err = ask(cmd.Context(), daemon, args)
		if _, is := errors.AsType[*admin.NotRunning](err); is && !c.isSetUp() {
			return fmt.Errorf("%w; %s does not exist yet: run ticketrail init", admin.ErrUnreachable, c.config)
		}
		return err
	}

	return cmd
}

// isSetUp says whether the box has a configuration.
func (c *cli) isSetUp() bool {
	_, err := os.Stat(c.config)
	return c.socket != "" || !errors.Is(err, fs.ErrNotExist)
}

// findZone asks for the kitchen's zone, before times are shown or read.
func (c *cli) findZone(ctx context.Context, d *admin.Client) (err error) {
	c.zone, err = d.Zone(ctx)
	return err
}

// query makes cmd ask the running daemon and show the answer: with --json as JSON, else with show.
func query[T any](c *cli, cmd *cobra.Command,
	ask func(ctx context.Context, d *admin.Client, args []string) (T, error), show func(T) error,
) *cobra.Command {
	return c.asking(c.jsonFlag(cmd), func(ctx context.Context, d *admin.Client, args []string) error {
		answer, err := ask(ctx, d, args)
		if err != nil {
			return err
		}
		return c.show(answer, func() error {
			if err := c.findZone(ctx, d); err != nil {
				return err
			}
			return show(answer)
		})
	})
}

// forEachID makes cmd call do for every id on the command line and print each result. A job that is refused does not
// stop the others; the exit code is then 1. All ids are read first: a typing mistake in the last one must not leave
// the others changed. Each job is its own transaction, so a result is printed at once and stays true.
func (c *cli) forEachID(
	cmd *cobra.Command, do func(ctx context.Context, d *admin.Client, id uint64) (string, error),
) *cobra.Command {
	cmd.Args = someArgs
	return c.asking(cmd, func(ctx context.Context, d *admin.Client, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}

		var refused []error
		for _, id := range ids {
			done, err := do(ctx, d, id)
			if err != nil {
				// Such as a ticket that has printed by itself: the operator wants the other nine.
				refused = append(refused, err)
				continue
			}
			if err := printLine(c.out, "%s", done); err != nil {
				return err
			}
		}
		return errors.Join(refused...)
	})
}

// An entry is a job or a refused request, in the forms in which it can be shown. text is a function,
// because it may ask the daemon again.
type entry struct {
	text func() error
	body []byte
	json any
}

// showEntry makes cmd show the entry with the id on the command line.
func (c *cli) showEntry(
	cmd *cobra.Command, get func(ctx context.Context, d *admin.Client, id uint64) (entry, error),
) *cobra.Command {
	var body bool
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&body, "body", false, "print only the request body, as it was received")
	cmd.MarkFlagsMutuallyExclusive("body", "json") // the JSON has the body in it already
	cmd.Args = oneArg
	return c.asking(cmd, func(ctx context.Context, d *admin.Client, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		found, err := get(ctx, d, ids[0])
		switch {
		case err != nil:
			return err
		case body && len(found.body) == 0:
			return fmt.Errorf("%d has no request body", ids[0])
		case body:
			return writeBody(c.out, found.body)
		}
		return c.show(found.json, func() error {
			if err := c.findZone(ctx, d); err != nil {
				return err
			}
			return found.text()
		})
	})
}

// stationArg makes the shell complete the arguments of cmd with the names of stations.
func (c *cli) stationArg(cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = c.complete(stationNames)
	return cmd
}

// stationFlag is a flag with the name of a station.
func (c *cli) stationFlag(cmd *cobra.Command, station *string, name, usage string) {
	cmd.Flags().StringVar(station, name, "", usage)
	_ = cmd.RegisterFlagCompletionFunc(name, c.complete(stationNames)) // the flag is there
}

// complete asks the running daemon, which members of its group can do who cannot read the
// configuration. If it does not answer, nothing is completed.
func (c *cli) complete(names func(context.Context, *admin.Client) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		daemon, err := c.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd.Context(), daemon), cobra.ShellCompDirectiveNoFileComp
	}
}

func stationNames(ctx context.Context, d *admin.Client) (names []cobra.Completion) {
	all, _ := d.Stations(ctx)
	for _, s := range all.Stations {
		names = append(names, s.Name)
	}
	return names
}

// jobIDs are the ids of the newest jobs.
func jobIDs(ctx context.Context, d *admin.Client) (ids []cobra.Completion) {
	jobs, _ := d.Jobs(ctx, admin.Filter{Limit: terminalLimit})
	for _, j := range jobs {
		about := strings.TrimSuffix(fmt.Sprintf("%s at %s, %s", j.State, j.Station, orderOf(j)), ", ")
		ids = append(ids, cobra.CompletionWithDesc(strconv.FormatUint(j.ID, 10), layout.Clean(about)))
	}
	return ids
}

func rejectIDs(ctx context.Context, d *admin.Client) (ids []cobra.Completion) {
	all, _ := d.Rejects(ctx)
	for _, r := range all {
		ids = append(ids, cobra.CompletionWithDesc(strconv.FormatUint(r.ID, 10), layout.Clean(r.Code)))
	}
	return ids
}

// venueFlag is a flag with a venue of the configuration; each command has its own default.
func (c *cli) venueFlag(cmd *cobra.Command, venue *string, usage string) {
	cmd.Flags().StringVar(venue, "venue", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("venue", func(*cobra.Command, []string, string) (
		names []cobra.Completion, _ cobra.ShellCompDirective,
	) {
		if conf, err := config.Load(c.config); err == nil {
			for _, v := range conf.Venues {
				names = append(names, v.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}
