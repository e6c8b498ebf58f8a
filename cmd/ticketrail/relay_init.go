package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/cmd/internal/relay"
)

// relayInit writes everything that a relay's servers need, on the operator's own machine.
func (c *cli) relayInit() *cobra.Command {
	var nodes []string
	var url string
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "write the keys, certificates and configurations of new servers",
		Long: `init makes the folder DIR with everything for a new relay, and says what to copy
where: a folder for each NATS server (its configuration, certificate and key),
the configuration and credentials of the relays, and operator.secret, with which
credentials of boxes are made. Keep that one off the servers, and keep a copy.

With three servers, one may be lost and nothing is. One server is for a trial;
with an address of this machine it runs from DIR.`,
		Example: `  ticketrail relay init ./relay --url https://orders.example.com \
    --node n1.example.com --node n2.example.com --node n3.example.com
  ticketrail relay init ./trial --node 127.0.0.1:4222`,
		Args: oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			s := relay.Setup{URL: url}
			for _, text := range nodes {
				n, err := natsaccess.ParseNode(text)
				if err != nil {
					return usagef("--node: %w", err)
				}
				s.Nodes = append(s.Nodes, n)
			}
			if n := len(nodes); n != 1 && n != 3 && n != 5 {
				return usagef("--node is given %d times: name three servers, or five, or one for a trial", n)
			}
			if url != "" && !strings.HasPrefix(url, "https://") {
				return usagef("--url %q does not begin with https://; for example https://orders.example.com", url)
			}
			if _, err := os.Lstat(args[0]); err == nil {
				return usagef("%s exists already, and init replaces nothing: name another folder", args[0])
			}
			folders, err := s.Write(args[0])
			if err != nil {
				return fmt.Errorf("nothing was written: %w", err)
			}
			return c.showRelayNext(args[0], s, folders)
		},
	}
	cmd.Flags().StringArrayVar(&nodes, "node", nil,
		"a NATS server, `HOST:PORT`, as boxes and relays reach it; repeat it for three; the port is 4222 unless given")
	cmd.Flags().StringVar(&url, "url", "", "the `address` at which the service reaches the relays, without a path")
	return cmd
}

// showRelayNext says what to copy where, and what to run then.
func (c *cli) showRelayNext(dir string, s relay.Setup, folders []string) error {
	var b page
	conf := filepath.Join(dir, relay.RelayFolder, "relay.yaml")
	b.add("wrote %s", dir)
	b.add("")
	if s.Nodes[0].Local() {
		b.add("This is a trial on this machine. Run, each in a terminal of its own:")
		for _, f := range folders {
			b.add("  nats-server -c %s", filepath.Join(f, "nats-server.conf"))
		}
		b.add("  ticketrail relay --config %s", conf)
	} else {
		b.add("The units, the load balancer and each step are in /usr/share/doc/ticketrail/relay.md. In short:")
		b.add("1. On each server, copy the files of its folder to /etc/nats, readable for the user nats alone:")
		for i, f := range folders {
			b.add("  %s: %s", s.Nodes[i].Host, f)
		}
		b.add("Open port %d to all and port %d to each other. Then:", s.Nodes[0].Port, s.Nodes[0].ClusterPort())
		b.add("  systemctl enable --now nats-server")
		b.add("2. Change the addresses in %s, copy the folder %s to each relay, and there:", conf, filepath.Dir(conf))
		b.add("  install -m640 -g ticketrail %s/* /etc/ticketrail/", relay.RelayFolder)
		b.add("  systemctl enable --now ticketrail-relay")
	}
	b.add("")
	b.add("Then add a venue, and look whether all is well:")
	b.add("  ticketrail relay venues add ID --name NAME --config %s --operator %s", conf,
		filepath.Join(dir, relay.OperatorFile))
	b.add("  ticketrail relay status --config %s", conf)
	b.add("")
	b.add("%s can read and change every order: keep it off the servers, and keep a copy of it. Without it no venue "+
		"can be added, renewed or removed.", filepath.Join(dir, relay.OperatorFile))
	return write(c.out, b.String())
}
