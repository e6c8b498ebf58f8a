package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
)

const (
	// statusWithin is for all questions of a status, whatever is down.
	statusWithin = 2500 * time.Millisecond
	// nodeWithin is for the connection to one node.
	nodeWithin = time.Second
	// boxesWithin is how long the relays have for their reports: all that run answer at once.
	boxesWithin = 500 * time.Millisecond
)

// Status asks the servers and the relays how everything is, and says which of it could not be read. It changes nothing.
func Status(ctx context.Context, conf *config.Relay) Overview {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	var wg sync.WaitGroup

	nodes := make([]error, len(conf.NATS.URLs))
	for i, url := range conf.NATS.URLs {
		wg.Go(func() {
			nc, err := connectOnce(conf.NATS, nodeWithin, url)
			if err == nil {
				nc.Close()
			}
			nodes[i] = err
		})
	}
	overview, err := ask(ctx, conf)
	wg.Wait()

	overview.At = time.Now()
	for i := range overview.Sites {
		overview.Sites[i].Token = "" // its hash is for the relays
	}
	if err != nil {
		overview.find("servers/unread", finding.Fail, "not everything could be read: "+
			strings.ReplaceAll(err.Error(), "\n", "; "), "look at the nodes: systemctl status nats-server")
	}

	for i, err := range nodes {
		if err != nil {
			node := conf.NATS.URLs[i]
			overview.find("servers/node/"+node, finding.Fail, fmt.Sprintf("node %s cannot be read: %v", node, err),
				"look there: systemctl status nats-server")
		}
	}
	slices.SortStableFunc(overview.Findings, finding.WorstFirst)
	return overview
}

// ask reads as much as it can. The venues get the time that the stream leaves.
func ask(ctx context.Context, conf *config.Relay) (o Overview, err error) {
	each := statusWithin / 2 / time.Duration(len(conf.NATS.URLs)) // it tries one after the other
	servers, err := attach(ctx, conf, each)
	if err != nil {
		return o, err
	}
	defer servers.Close()

	limited, cancel := context.WithTimeout(ctx, boxesWithin)
	defer cancel()
	boxes, relays, boxesErr := servers.stream.Boxes(limited)
	o, err = look(ctx, servers.stream, boxes)
	if relays == 0 {
		o.find("relays/none", finding.Fail, "no relay answers: no order is taken, and no box can fetch one",
			"systemctl status ticketrail-relay on each")
	}
	return o, errors.Join(boxesErr, err)
}
