package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	yaml "go.yaml.in/yaml/v3"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
)

// What the commands that talk to the running daemon have in common: where its socket is, and the
// three kinds of such commands. query asks and shows, forEachJob changes one job after another,
// showEntry shows one stored thing in full.

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
	s := os.Getenv(config.EnvName("admin.socket"))
	if s == "" {
		var err error
		if s, err = socketFrom(c.config); err != nil && c.configGiven {
			return nil, &configError{fmt.Errorf(
				"look for admin.socket: %w: name another file with --config, or the socket with --socket", err)}
		}
	}
	s = cmp.Or(s, config.Default().Admin.Socket)
	if !filepath.IsAbs(s) { // relative paths in the configuration start at its folder
		s = filepath.Join(filepath.Dir(c.config), s)
	}
	return admin.NewClient(s), nil
}

// socketFrom reads one key with the YAML package and not with config.Load, which would refuse a
// file with any mistake in it.
func socketFrom(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var f struct {
		Admin struct {
			Socket string `yaml:"socket"`
		} `yaml:"admin"`
	}
	if err := yaml.Unmarshal(b, &f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return f.Admin.Socket, nil
}

// query makes cmd ask the running daemon and show the answer: with --json as JSON, else with show.
func query[T any](c *cli, cmd *cobra.Command,
	ask func(ctx context.Context, d *admin.Client, args []string) (T, error), show func(T) error,
) *cobra.Command {
	var asJSON bool
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := c.client()
		if err != nil {
			return err
		}
		if c.zone, err = d.Zone(cmd.Context()); err != nil {
			return err
		}
		v, err := ask(cmd.Context(), d, args)
		switch {
		case err != nil:
			return err
		case asJSON:
			return showJSON(c.out, v)
		}
		return show(v)
	}
	return cmd
}

// forEachJob makes cmd call do for every job id on the command line and print what was done. A job
// that is refused does not stop the others; the exit code is then 1. All ids are read first: a
// typing mistake in the last one must not leave the others changed. Each job is its own
// transaction, so what was done is printed at once and stays done.
func (c *cli) forEachJob(
	cmd *cobra.Command, do func(ctx context.Context, d *admin.Client, id uint64) (string, error),
) *cobra.Command {
	cmd.Args = someArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		d, err := c.client()
		if err != nil {
			return err
		}
		var refused []error
		for _, id := range ids {
			done, err := do(cmd.Context(), d, id)
			if err != nil {
				// Such as a ticket that has printed meanwhile: the operator wants the other nine.
				refused = append(refused, err)
				continue
			}
			if err := printLine(c.out, "%s", done); err != nil {
				return err
			}
		}
		return errors.Join(refused...)
	}
	return cmd
}

// An entry is a job or a refused request, in the three forms in which it can be shown. Functions,
// because only one of the forms is wanted and the table may ask the daemon again.
type entry struct {
	text, body func() error
	json       any
}

// showEntry makes cmd show the entry with the id on the command line.
func (c *cli) showEntry(
	cmd *cobra.Command, get func(ctx context.Context, d *admin.Client, id uint64) (entry, error),
) *cobra.Command {
	var asJSON, body bool
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&body, "body", false, "print only the request body, as it was received")
	cmd.Args = oneArg
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		// The JSON has the body in it already.
		if body && asJSON {
			return usagef("--body and --json cannot be combined")
		}
		id, err := parseID(args[0])
		if err != nil {
			return err
		}
		d, err := c.client()
		if err != nil {
			return err
		}
		if c.zone, err = d.Zone(cmd.Context()); err != nil {
			return err
		}
		x, err := get(cmd.Context(), d, id)
		switch {
		case err != nil:
			return err
		case body:
			return x.body()
		case asJSON:
			return showJSON(c.out, x.json)
		}
		return x.text()
	}
	return cmd
}
