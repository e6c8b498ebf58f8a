package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/app"
	"ticketrail/cmd/internal/doctor"
)

func (c *cli) serve() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "run the daemon",
		Long: `serve runs the daemon in the foreground until SIGTERM or SIGINT; a second one ends it at
once. SIGHUP reads the configuration again; a bad one changes nothing and is logged.

Under systemd it says when it is ready, feeds the watchdog, and takes the webhook's listener
from ticketrail.socket, so that a restart refuses nobody.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Heard from here on, so that an early SIGHUP does not end the program.
			reload := make(chan os.Signal, 1)
			signal.Notify(reload, syscall.SIGHUP)
			defer signal.Stop(reload)
			if err := c.configured(); err != nil {
				return err
			}
			o, err := c.options(reload)
			if err != nil {
				return err
			}
			return app.Run(cmd.Context(), o)
		},
	}
}

// configured refuses a configuration that will not do with all its problems.
func (c *cli) configured() error {
	if _, err := doctor.Check(c.config); err != nil {
		return &configError{err}
	}
	return nil
}

// options is what the world around this process gives the daemon.
func (c *cli) options(reload <-chan os.Signal) (app.Options, error) {
	o := app.Options{
		ConfigPath: c.config, Reload: reload, Log: c.err,
		// Without systemd nobody listens, which is no error.
		Notify: func(state string) { _, _ = daemon.SdNotify(false, state) },
	}
	exe, err := os.Executable()
	if err != nil {
		return app.Options{}, fmt.Errorf("find this program, which checks the database in a process of its own: %w", err)
	}
	o.CheckStore = doctor.CheckInChild(exe)
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return app.Options{}, fmt.Errorf("read WATCHDOG_USEC: %w", err)
	}
	o.WatchdogEvery = limit / 3
	if o.Webhook, err = inherited(); err != nil {
		return app.Options{}, err
	}
	if c.with != nil {
		c.with(&o)
	}
	return o, nil
}

// inherited is the listener that ticketrail.socket opened for us, if it did. What the
// program starts itself must not find it again.
func inherited() (net.Listener, error) {
	ls, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("take listeners from systemd: %w", err)
	}
	switch {
	case len(ls) == 0:
		return nil, nil
	case len(ls) > 1 || ls[0] == nil:
		return nil, fmt.Errorf("take listeners from systemd: %d sockets, want one stream: ticketrail.socket needs exactly one ListenStream", len(ls))
	}
	return ls[0], nil
}

// background is the context of a run: the first signal asks for a graceful end, the
// second one ends.
func background() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}
