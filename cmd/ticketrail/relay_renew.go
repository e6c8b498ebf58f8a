package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/relay"
	"ticketrail/config"
)

// relayRenew is for the years after init, and for a file of a relay that somebody else may have.
func (c *cli) relayRenew() *cobra.Command {
	return &cobra.Command{
		Use:   "renew DIR",
		Short: "write new certificates and credentials of the servers and relays",
		Long: `renew writes new files into DIR, the folder of "relay init", and says what to
copy where: the certificates and configurations of the NATS servers and the
credentials of the relays. Orders, venues and boxes stay as they are. The old
files stay valid, so copy the new ones to one machine after the other; then
"relay revoke" ends the old credentials of the relays.

For two servers more, first write their addresses at the end of nats.urls in
DIR/relay/relay.yaml. For a server that gets another address, write that in the
place of the old one. The authorities of "relay init" and its operator.secret
stay. New credentials of a box are written by "relay venues renew".`,
		Args: oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			s, folders, err := relay.Renew(args[0])
			if err != nil {
				return ofSetup(err)
			}
			var b page
			b.add("wrote new files into %s; the old ones stay valid", args[0])
			b.add("")
			b.add("1. Copy the files of each folder to /etc/nats on its server and restart it, one after the other. " +
				"Before the next one, wait until ticketrail relay status says that all have every request:")
			for i, f := range folders {
				b.add("  %s: %s", s.Nodes[i].Host, f)
			}
			b.add("2. Copy relay.creds of %s to /etc/ticketrail on each relay and restart it, one after the other.",
				filepath.Join(args[0], relay.RelayFolder))
			b.add("3. End the old credentials of the relays:")
			b.add("  ticketrail relay revoke %s", args[0])
			return write(c.out, b.String())
		},
	}
}

func (c *cli) relayRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke DIR",
		Short: "end the credentials of the relays before those in DIR",
		Long: `revoke ends all credentials of relays that were written before those in DIR, the
folder of "relay init", at once and also for an open connection. Run it when
every relay has those that "relay renew" has written: a relay without them
accepts no orders from then on. Boxes are not affected; theirs are renewed with
"relay venues renew".`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := relay.Revoke(cmd.Context(), args[0])
			if err != nil {
				return ofSetup(err)
			}
			return c.endChange("revoked all credentials of relays before those in "+
				singleLine(filepath.Join(args[0], relay.RelayFolder))+"\n", change)
		},
	}
}

// ofSetup is an error of the folder of init.
func ofSetup(err error) error {
	if _, ok := errors.AsType[config.Problems](err); ok {
		return &configError{err}
	}
	return err
}
