package relay

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"ticketrail/config"
)

// connect returns a connection that is made in the background, and again whenever it ends, for ever: the servers may
// be away when a relay starts.
func connect(c config.NATS, name string, log *slog.Logger) (*nats.Conn, error) {
	options := append(connectOptions(c, name), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.IgnoreAuthErrorAbort(), logConnection(log))
	return nats.Connect(strings.Join(c.URLs, ","), options...)
}

// The pause after no server of the list was reached.
const (
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = time.Second
)

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
	if slices.ContainsFunc(c.URLs, func(url string) bool { return strings.HasPrefix(url, "tls:") }) {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
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
// it is nowhere else. Nobody else can have made or linked the file that it writes.
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
