package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
)

// printerFlags are the flags of possim printer.
type printerFlags struct {
	listen, profile, condition, png string
	lines                           float64
}

func printerCommand() *cobra.Command {
	var f printerFlags
	command := &cobra.Command{
		Use:   "printer",
		Short: "A kitchen printer on a network port",
		// The first line of output is for scripts: with --listen and port 0 it is the only way to
		// learn the address.
		Long: `A kitchen printer on a network port. It shows each ticket on the terminal.

Its first line of output begins with its address, in the form for the configuration file.`,
		Example: `  possim printer --listen 127.0.0.1:9100 --profile epson-tm-t88
  possim printer --condition paper_out --png /tmp/tickets --lines-per-second 3`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}

	fl := command.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:9100", "address to listen on; port 0 chooses a free port")
	fl.StringVar(&f.profile, "profile", "generic-80mm", "model: "+strings.Join(profile.Names(), ", "))
	fl.StringVar(&f.condition, "condition", "", "its condition at the start: "+
		strings.Join(virtual.ConditionNames(), ", ")+"; separate several by commas")
	fl.StringVar(&f.png, "png", "", "folder for a picture (PNG) of each ticket")
	fl.Float64Var(&f.lines, "lines-per-second", 0, "print speed; 0 is as fast as possible")
	return command
}

// modelOptions are the options of a printer that gives the answers of its model, and no more.
func modelOptions(name string) (virtual.Options, error) {
	model, ok := profile.Lookup(name)
	if !ok {
		return virtual.Options{}, usageError{fmt.Errorf("--profile: there is no model %q; use one of %s", name,
			strings.Join(profile.Names(), ", "))}
	}

	options := virtual.OptionsFor(model)
	options.Name, options.Keep = model.Name, 1 // a printer that runs for days must not keep every ticket
	return options, nil
}

// options converts the flags to the options of a simulated printer. All checks are here, before
// anything listens: a mistake exits with 2.
func (f *printerFlags) options() (virtual.Options, error) {
	o, err := modelOptions(f.profile)
	if err != nil {
		return o, err
	}
	if f.lines < 0 {
		return o, usageError{fmt.Errorf("--lines-per-second: %v is out of range; use 0 or more", f.lines)}
	}

	o.LinesPerSecond = f.lines
	if f.condition != "" {
		if o.Condition, err = virtual.ParseCondition(f.condition); err != nil {
			return o, usageError{fmt.Errorf("--condition: %w", err)}
		}
	}

	return o, nil
}

// run runs the printer until ctx ends.
func (f *printerFlags) run(ctx context.Context, out, errs io.Writer) error {
	options, err := f.options()
	if err != nil {
		return err
	}

	options.OnTicket = func(t virtual.Ticket) {
		fmt.Fprint(out, t.Draw(options.Name+", "+t.End.String()))
		for _, b := range t.Buzzes {
			fmt.Fprintf(out, "  beeps: %d\n", b.Times)
		}
		for _, p := range t.Problems {
			fmt.Fprintf(out, "  problem: %s\n", p)
		}

		if f.png == "" {
			return
		}
		// A full disk must not stop the printer: the ticket is on the terminal.
		if err := t.WritePNG(filepath.Join(f.png, options.Name)); err != nil {
			fmt.Fprintf(errs, "possim: picture: %v\n", err)
		}
	}

	// Before the printer listens: a folder that cannot be made must not be noticed at the first ticket.
	if f.png != "" {
		if err := os.MkdirAll(f.png, 0o755); err != nil {
			return fmt.Errorf("--png: %w", err)
		}
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", f.listen, err)
	}

	printer := virtual.New(options)
	fmt.Fprintf(out, "tcp://%s %s, %d columns, %s\n", listener.Addr(), f.profile, options.Columns, printer.Conditions())
	return printer.Serve(ctx, listener)
}
