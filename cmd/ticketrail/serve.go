package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/app"
	"ticketrail/cmd/internal/setup"
)

// serve translates between the operating system and package app: signals, the environment that
// systemd sets, and the path of this program. Everything else is decided there.
func (c *cli) serve() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "run the daemon",
		Long: `serve runs the daemon in the foreground until SIGTERM or SIGINT, or until its
terminal is closed; a second signal ends it at once. SIGHUP reloads the
configuration; an invalid one is logged and changes nothing. Under nohup the
daemon outlives its terminal.

Under systemd it reports when it is ready, feeds the watchdog, and has the port
of the webhook kept open while it restarts, so that a restart refuses no
connection.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, reload, stop := hangUps(cmd.Context())
			defer stop()
			// Or the program would end when whoever reads its standard output or its log has ended.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

			// The memory of an order is garbage a moment later. Collected half as often it costs less of the
			// processor and more memory, which the GOMEMLIMIT of the unit bounds in a flood.
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(200)
			}
			if err := c.checkConfig(); err != nil {
				return err
			}

			options, err := c.daemonOptions(reload)
			if err != nil {
				return err
			}
			return app.Run(ctx, options)
		},
	}
}

// hangUps tells the two meanings of SIGHUP apart: systemd and people ask for a reload, a terminal that is closed ends
// the daemon, unless it runs under nohup.
func hangUps(ctx context.Context) (_ context.Context, reload <-chan os.Signal, stop func()) {
	endsWithTerminal := hasTerminal() && !signal.Ignored(syscall.SIGHUP)
	// Before anything slow: without a handler an early SIGHUP would end the program. One place in the channels is
	// enough: a reload reads the file as it is then, so a second signal before it begins asks for the same.
	signals, reloads := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)

	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case got := <-signals:
				if endsWithTerminal && !hasTerminal() {
					cancel(errors.New("its terminal was closed"))
					return
				}
				select {
				case reloads <- got:
				default:
				}
			}
		}
	}()

	return ctx, reloads, func() { signal.Stop(signals); cancel(nil) }
}

// hasTerminal says whether there is a terminal whose end also ends this process.
func hasTerminal() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err == nil {
		_ = terminal.Close()
	}
	return err == nil
}

// checkConfig returns all problems of the configuration as a configError. app.Run checks it too,
// but only this gives it the exit code and the form of a list, behind which status and doctor have their line.
func (c *cli) checkConfig() error {
	if _, err := setup.Load(c.config); err != nil {
		return &configError{err, setup.Refused(c.config, err)}
	}
	return nil
}

// daemonOptions collects the parts of the daemon's environment: signals, systemd and the path of this program. None
// of it is in package app, so that tests and the demo run a daemon without systemd and without signals.
func (c *cli) daemonOptions(reload <-chan os.Signal) (app.Options, error) {
	options := app.Options{
		ConfigPath: c.config, Reload: reload, Log: c.err,
		// Without systemd there is no notification socket, which is not an error.
		Notify: func(state string) { _, _ = daemon.SdNotify(false, state) },
	}

	options.CheckStore = checkInChild
	options.CrashOutput = func(f *os.File) error { return debug.SetCrashOutput(f, debug.CrashOptions{}) }
	var err error
	if options.WatchdogEvery, err = watchdogEvery(); err != nil {
		return app.Options{}, err
	}

	// It removes the LISTEN_ variables, so that child processes do not take the listeners again.
	if options.Keeper.Found, err = activation.ListenersWithNames(); err != nil {
		return app.Options{}, fmt.Errorf("take listeners from systemd: %w", err)
	}

	options.Keeper.Send = sendToSystemd
	if c.changeOptions != nil {
		c.changeOptions(&options)
	}
	return options, nil
}

// watchdogEvery is how often systemd wants to hear of a daemon; 0: never. Two pings may be late before it restarts the
// daemon.
func watchdogEvery() (time.Duration, error) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return 0, fmt.Errorf("read WATCHDOG_USEC: %w", err)
	}
	return limit / 3, nil
}

// sendToSystemd is sd_pid_notify_with_fds(3) for one listener; nil is none. Without systemd it does
// nothing.
func sendToSystemd(state string, with net.Listener) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}

	if with == nil {
		_, err := daemon.SdNotify(false, state)
		return err
	}

	// Not connected: package net does not send rights on a datagram socket that is.
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram"})
	if err != nil {
		return err
	}
	defer socket.Close()
	listener, ok := with.(syscall.Conn)
	if !ok {
		return fmt.Errorf("a %T has no file descriptor", with)
	}

	// Not File().Fd(), which would make the listener block for both copies.
	raw, err := listener.SyscallConn()
	if err != nil {
		return err
	}

	ctl := raw.Control(func(fd uintptr) {
		to := &net.UnixAddr{Name: name, Net: "unixgram"}
		_, _, err = socket.WriteMsgUnix([]byte(state), syscall.UnixRights(int(fd)), to)
	})
	return errors.Join(ctl, err)
}

// signalContext ends at the first SIGINT or SIGTERM, which starts a graceful stop. It then restores
// the default handling, so that a second signal ends the process at once. Other commands use it
// too: an interrupted command cancels its request and exits.
func signalContext() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}
