package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/queue"
)

// Options are the inputs of a daemon. ConfigPath or Config is required.
type Options struct {
	// ConfigPath is the configuration file, read now and at every reload.
	ConfigPath string
	// Config is used instead of a file. Such a daemon cannot reload.
	Config *config.Config
	// Webhook, Metrics and Display are used instead of listeners at the configured addresses, for
	// tests. The App closes them.
	Webhook, Metrics, Display net.Listener
	// Keeper keeps the webhook's port open while the daemon restarts; empty: the port closes.
	Keeper Keeper
	// Dialer opens the connection to a printer; nil is transport.Open of its address.
	Dialer func(config.Printer) (transport.Dialer, error)
	// Dial connects to a third-party kitchen display; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Service carries the requests to the point-of-sale API; nil is the network.
	Service http.RoundTripper
	// CheckStore checks the database file before it is opened. It must do so in another process,
	// because a damaged page can kill the process that reads it. Nil: no check.
	CheckStore func(ctx context.Context, path string) error
	// Reload triggers a reload of the configuration for each value.
	Reload <-chan os.Signal
	// Notify sends a state such as "READY=1" to the init system (sd_notify(3)); nil sends nothing.
	Notify func(state string)
	// WatchdogEvery is the interval of watchdog notifications; 0: none.
	WatchdogEvery time.Duration
	// Log receives the log; nil discards it.
	Log io.Writer
	// Clock is the wall clock; nil is the clock of the box.
	Clock queue.Clock
	// CrashOutput has the process write its last words to a file; nil: the next start does not know them.
	CrashOutput func(*os.File) error
	// NoSync leaves commits in the page cache. Tests use it to prove that they can detect a loss.
	NoSync bool
}
