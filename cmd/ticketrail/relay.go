package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/cmd/internal/relay"
	"ticketrail/config"
)

// relayConfig is where a relay has its configuration: a machine may have a box's file too.
const relayConfig = "/etc/ticketrail/relay.yaml"

// relay is the daemon in the cloud, with the commands that look after it.
func (c *cli) relay() *cobra.Command {
	cmd := group("relay", "keep the orders of many venues until their boxes fetch them",
		c.relayInit(), group("venues", "add, list, renew and remove the venues of the relay",
			c.relayVenuesAdd(), c.relayVenuesList(), c.relayVenuesRenew(), c.relayVenuesRemove()), c.relayStatus(),
		c.relayCheck(), c.relayRenew(), c.relayRevoke())
	cmd.Long = `relay runs the relay in the foreground until SIGTERM or SIGINT: the webhook for
the print requests of many venues. It stores them on the NATS servers until the
venues' boxes have fetched them, so a box needs no public address and may be
away. Any number of relays may run behind a load balancer. SIGHUP reloads the
configuration; an invalid one is logged and changes nothing.

The configuration of these commands is /etc/ticketrail/relay.yaml, unless
--config names another one. "relay init" writes the first one, and everything
that the NATS servers need.`
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// Before anything slow, as in serve.
		reload := make(chan os.Signal, 1)
		signal.Notify(reload, syscall.SIGHUP)
		defer signal.Stop(reload)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		if _, err := c.loadRelay(); err != nil {
			return err
		}
		every, err := watchdogEvery()
		if err != nil {
			return err
		}
		return relay.Run(cmd.Context(), relay.Options{ConfigPath: c.relayConfig(), Reload: reload, Log: c.err,
			WatchdogEvery: every, Notify: func(state string) { _, _ = daemon.SdNotify(false, state) }})
	}
	return cmd
}

func (c *cli) relayConfig() string {
	if c.configGiven {
		return c.config
	}
	return relayConfig
}

func (c *cli) loadRelay() (*config.Relay, error) {
	conf, err := config.LoadRelay(c.relayConfig())
	if err != nil {
		return nil, &configError{err}
	}
	return conf, nil
}

// askRelay connects to the servers for a command.
func (c *cli) askRelay(ctx context.Context, do func(*relay.Admin) error) error {
	conf, err := c.loadRelay()
	if err != nil {
		return err
	}
	a, err := relay.OpenAdmin(ctx, conf)
	if err != nil {
		return err
	}
	defer a.Close()
	return do(a)
}

// readOperator reads the file without which no credentials can be changed.
func readOperator(file string) (*natsaccess.Operator, error) {
	o, err := natsaccess.ReadOperator(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file; --operator names operator.secret, which relay init wrote", file)
	}
	return o, err
}

// changingAccess makes cmd change what the box of the venue on the command line may do.
func (c *cli) changingAccess(cmd *cobra.Command,
	do func(context.Context, *relay.Admin, *natsaccess.Operator, config.Venue) error,
) *cobra.Command {
	var operator string
	operatorFlag(cmd, &operator)
	cmd.Args = oneArg
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := readOperator(operator)
		if err != nil {
			return err
		}
		return c.askRelay(cmd.Context(), func(a *relay.Admin) error {
			v, err := a.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return do(cmd.Context(), a, o, v)
		})
	}
	return cmd
}
