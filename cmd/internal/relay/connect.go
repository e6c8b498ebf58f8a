package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"ticketrail/config"
	store "ticketrail/receiver/relay"
)

// connect returns a connection that is made in the background, and again whenever it ends, for ever: the servers may
// be away when a relay starts.
func connect(c config.NATS, log *slog.Logger) (*nats.Conn, error) {
	options := append(connectOptions(c, "ticketrail relay"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(250*time.Millisecond), nats.ReconnectJitter(time.Second, time.Second),
		nats.IgnoreAuthErrorAbort(), logConnection(log))
	return nats.Connect(strings.Join(c.URLs, ","), options...)
}

// attach connects to one of these servers, each of which has so long to answer, and looks at the stream, for a command.
func attach(ctx context.Context, conf *config.Relay, within time.Duration) (*Admin, error) {
	nc, err := connectOnce(conf.NATS, within, conf.NATS.URLs...)
	if err != nil {
		return nil, fmt.Errorf("no node answers: %w: are the servers of nats.urls running, and is this machine "+
			"allowed to connect to them?", err)
	}

	admin := &Admin{Conf: conf, Venues: []store.VenueEntry{}, nc: nc}
	admin.stream = store.New(nc, storeOptions(conf, false, slog.New(slog.DiscardHandler)))
	if err := admin.stream.Attach(ctx); err != nil {
		admin.Close()
		return nil, err
	}
	return admin, nil
}

// connectOnce connects to one of these servers.
func connectOnce(c config.NATS, within time.Duration, urls ...string) (*nats.Conn, error) {
	return nats.Connect(strings.Join(urls, ","), append(connectOptions(c, "ticketrail relay command"),
		nats.NoReconnect(), nats.Timeout(within), nats.IgnoreDiscoveredServers())...)
}

// user is the servers' only one.
const user = "relay"

// connectOptions returns the options of every connection.
func connectOptions(c config.NATS, name string) []nats.Option {
	options := []nats.Option{
		nats.Name(name), nats.UserInfo(user, c.Password.Reveal()),
		// A publish while the servers are away fails at once: an order that waited in memory could be lost
		// with it, and its sender has been answered already.
		nats.ReconnectBufSize(-1),
		// A server that hangs is noticed within some seconds, and another one is used.
		nats.Timeout(2 * time.Second), nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2),
	}
	if c.CAFile != "" {
		options = append(options, nats.RootCAs(c.CAFile))
	}
	return options
}

// logConnection logs the states of the connection, each once: a server that is away for an evening must not
// fill the disk.
func logConnection(log *slog.Logger) nats.Option {
	return func(o *nats.Options) error {
		last := "" // of the callbacks, which nats.go calls one after another
		down := func(_ *nats.Conn, err error) {
			if err != nil && err.Error() != last {
				last = err.Error()
				log.Warn("no connection to the NATS servers; it is tried again for ever", "err", err)
			}
		}
		up := func(c *nats.Conn) {
			last = ""
			log.Info("connected to the NATS servers", "server", c.ConnectedServerName(),
				"url", c.ConnectedUrlRedacted())
		}
		o.ConnectedCB, o.ReconnectedCB = up, up
		o.DisconnectedErrCB, o.ReconnectErrCB = down, down
		o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("the NATS servers report an error", "err", err)
		}
		return nil
	}
}

// writeSecret replaces a file with one for its owner alone, and makes it durable: the servers accept it afterwards, and
// it is nowhere else. No other user can have made or linked the file that it writes.
func writeSecret(path string, text string) error {
	if err := syscall.Unlink(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // no folder, also if it is empty
		return &fs.PathError{Op: "replace", Path: path, Err: err}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text + "\n")
	return errors.Join(err, file.Sync(), file.Close())
}
