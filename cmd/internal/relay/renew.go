package relay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/config"
)

// Renew writes new certificates of the servers and new credentials of the relays into dir, the folder of a [Setup], and
// returns the folders of the servers. The old files stay valid until [Revoke], so that one machine after the other can
// get its files. The servers are those of nats.urls in the folder's relay.yaml: one more there is one more.
//
// After a crash some files are new and some are not, and fit each other all the same. It is run again.
func Renew(dir string) (s Setup, nodes []string, err error) {
	s, o, old, err := readSetup(dir)
	if err != nil {
		return s, nil, err
	}
	if nodes, err = o.WriteNodes(dir, s.Nodes); err != nil {
		return s, nil, err
	}
	// What is revoked is told by the second of its issue: the old ones may not be of the same.
	time.Sleep(time.Until(old.Issued.Add(time.Second)))
	creds, err := o.Relay("relay")
	if err != nil {
		return s, nil, err
	}
	return s, nodes, natsaccess.WriteSecret(filepath.Join(dir, credsFile), creds, true)
}

// Revoke ends all credentials of relays before those in dir, also of an open connection. The files of the servers say
// it first: one whose disk was lost must not allow them again. After a crash in between it is run again.
func Revoke(ctx context.Context, dir string) (c Change, err error) {
	s, o, creds, err := readSetup(dir)
	if err != nil {
		return c, err
	}
	o.RelaysSince = creds.Issued
	if _, err := o.WriteNodes(dir, s.Nodes); err != nil {
		return c, err
	}
	account, err := o.RelaysAccount()
	if err != nil {
		return c, err
	}
	stored, there, err := o.Push(ctx, s.urls(), account)
	return newChange(stored, there), err
}

// readSetup reads the folder that [Setup.Write] has written.
func readSetup(dir string) (s Setup, o *natsaccess.Operator, creds *natsaccess.Credentials, err error) {
	if o, err = natsaccess.ReadOperator(filepath.Join(dir, OperatorFile)); err != nil {
		return s, nil, nil, err
	}
	file := filepath.Join(dir, confFile)
	conf, err := config.LoadRelay(file)
	if err != nil {
		return s, nil, nil, err
	}
	for _, url := range conf.NATS.URLs {
		n, err := natsaccess.ParseNode(strings.TrimPrefix(url, "tls://"))
		if err != nil {
			return s, nil, nil, fmt.Errorf("%s: nats.urls: %w", file, err)
		}
		s.Nodes = append(s.Nodes, n)
	}
	creds, err = natsaccess.ReadCredentials(filepath.Join(dir, credsFile))
	if err = errors.Join(err, s.place(dir), s.same(dir),
		o.ReadRelaysSince(filepath.Join(dir, "node1", "nats-server.conf"))); err != nil {
		return s, nil, nil, err
	}
	return s, o, creds, nil
}

// same says whether the servers have the places that they had in dir. By its place a server has its name, and by that
// the others know it: two that changed their names would each answer for what the other one has on its disk.
func (s Setup) same(dir string) error {
	folders, err := filepath.Glob(filepath.Join(dir, "node*"))
	if err != nil {
		return err
	}
	if now, was := len(s.Nodes), len(folders); now != was && (was != 3 || now != 5) {
		return fmt.Errorf("nats.urls of %s names %d servers, and %d have a folder: three may become five, nothing else",
			filepath.Join(dir, confFile), now, was)
	}
	for i, folder := range folders {
		host, err := natsaccess.HostOf(folder)
		if err != nil {
			return err
		}
		isHost := func(n natsaccess.Node) bool { return n.Host == host }
		if !isHost(s.Nodes[i]) && slices.ContainsFunc(s.Nodes, isHost) {
			return fmt.Errorf("%s is no longer number %d of nats.urls: write the servers of %s in the order of their "+
				"folders, new ones at the end", host, i+1, filepath.Join(dir, confFile))
		}
	}
	return nil
}
