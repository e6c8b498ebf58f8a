package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/relay"
	"ticketrail/config"
	store "ticketrail/receiver/relay"
)

// relayConfig is where a relay has its configuration: a machine may have a box's file too.
const relayConfig = "/etc/ticketrail/relay.yaml"

// relay is the daemon in the cloud, with the commands that look after it.
func (c *cli) relay() *cobra.Command {
	cmd := group("relay", "keep the orders of many venues until their boxes fetch them",
		group("venues", "add, list, renew and remove the venues of the relay",
			c.relayVenuesAdd(), c.relayVenuesList(), c.relayVenuesRenew(), c.relayVenuesRemove()), c.relayStatus(),
		c.relayCheck())
	var shrink bool
	cmd.Long = `relay runs the relay in the foreground until SIGTERM or SIGINT: the webhook for
the print requests of many venues. It stores them on the NATS servers until the
venues' boxes have fetched them, so a box needs no public address and may be
away. Any number of relays may run behind a load balancer. SIGHUP reloads the
configuration; an invalid one is logged and changes nothing.

The configuration of these commands is /etc/ticketrail/relay.yaml, unless
--config names another one. Only the start of a relay changes the stream, as
that file says. It makes it shorter or smaller only with --shrink: older orders
are then deleted.`
	cmd.Flags().BoolVar(&shrink, "shrink", false, "let the stream become shorter or smaller, as the file says")
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, reload, stop := hangUps(cmd.Context())
		defer stop()
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // as in serve
		conf, err := c.loadRelay()
		if err != nil {
			return err
		}

		every, err := watchdogEvery()
		if err != nil {
			return err
		}
		return relay.Run(ctx, relay.Options{Config: conf, ConfigPath: c.relayConfig(), Reload: reload, Log: c.err,
			Shrink: shrink, WatchdogEvery: every, Notify: func(state string) { _, _ = daemon.SdNotify(false, state) }})
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
		return nil, invalid(c.relayConfig(), err)
	}
	return conf, nil
}

// askRelay connects to the servers for a command.
func (c *cli) askRelay(ctx context.Context, do func(*relay.Admin) error) error {
	conf, err := c.loadRelay()
	if err != nil {
		return err
	}

	servers, err := relay.OpenAdmin(ctx, conf)
	if err != nil {
		return err
	}
	defer servers.Close()
	return do(servers)
}

// changingVenue makes cmd change the venue on the command line.
func (c *cli) changingVenue(cmd *cobra.Command, do func(context.Context, *relay.Admin, store.VenueEntry) error,
) *cobra.Command {
	cmd.Args = oneArg
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.askRelay(cmd.Context(), func(a *relay.Admin) error {
			venue, err := a.Find(args[0])
			if err != nil {
				return err
			}
			return do(cmd.Context(), a, venue)
		})
	}
	return cmd
}
