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

// daemon returns the client of the running daemon: at --socket, else where the
// environment or the configuration says.
//
// Only admin.socket is read, and a configuration that was not named and cannot be read
// (it is root's, or half edited at the worst moment) means the usual place: whoever asks
// why the kitchen gets nothing is not to be told about a misspelt key first.
func (c *cli) daemon() (*admin.Client, error) {
	if c.socket != "" {
		return admin.NewClient(c.socket), nil
	}
	s := os.Getenv(config.EnvName("admin.socket"))
	if s == "" {
		var err error
		if s, err = socketIn(c.config); err != nil && c.configNamed {
			return nil, &configError{fmt.Errorf("look for admin.socket: %w: name another file with --config, or the socket with --socket", err)}
		}
	}
	s = cmp.Or(s, config.Default().Admin.Socket)
	if !filepath.IsAbs(s) { // names in the configuration begin at its folder
		s = filepath.Join(filepath.Dir(c.config), s)
	}
	return admin.NewClient(s), nil
}

func socketIn(path string) (string, error) {
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

// answers has cmd ask the running daemon for something, and show it: as JSON with --json.
func answers[T any](c *cli, cmd *cobra.Command,
	ask func(ctx context.Context, d *admin.Client, args []string) (T, error), show func(T) error,
) *cobra.Command {
	var asJSON bool
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := c.daemon()
		if err != nil {
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

// each has cmd do something with every job that is named, and say what. One that is refused
// does not keep it from the others.
func (c *cli) each(cmd *cobra.Command, do func(ctx context.Context, d *admin.Client, id uint64) (string, error)) *cobra.Command {
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		d, err := c.daemon()
		if err != nil {
			return err
		}
		var refused []error
		for _, id := range ids {
			done, err := do(cmd.Context(), d, id)
			if err != nil {
				refused = append(refused, err)
				continue
			}
			if err := say(c.out, "%s", done); err != nil {
				return err
			}
		}
		return errors.Join(refused...)
	}
	return cmd
}

// A kept is one thing that the daemon keeps, in the three ways it can be shown.
type kept struct {
	text, body func() error
	json       any
}

// shows has cmd show the one thing that is named by its number.
func (c *cli) shows(cmd *cobra.Command, bodyUsage string, get func(ctx context.Context, d *admin.Client, id uint64) (kept, error)) *cobra.Command {
	var asJSON, body bool
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&body, "body", false, bodyUsage)
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if body && asJSON {
			return usage("--body is the body alone: leave --json away")
		}
		id, err := parseID(args[0])
		if err != nil {
			return err
		}
		d, err := c.daemon()
		if err != nil {
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
