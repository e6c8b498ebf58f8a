package station

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
)

// openSet is a Set with the stations of conf, with a real file and a running dispatcher.
func openSet(t *testing.T, conf *config.Config) (*Set, *queue.Queue) {
	t.Helper()
	q, err := queue.Open(queue.Options{Path: filepath.Join(t.TempDir(), "t.db"), NoSync: true})
	assert.NoError(t, err)
	d := dispatch.New(dispatch.Options{Queue: dispatch.From(q)})
	s, err := New(Options{
		Queue: q, Dispatcher: d, Registry: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
		Listen: func(config.Display) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		Zone:   func(*config.Config) *time.Location { return time.Local },
	})
	assert.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		assert.NoError(t, errors.Join(d.Stop(ctx), s.Close(ctx), q.Close()))
	})
	built, err := s.Build(conf)
	assert.NoError(t, err)
	q.SetStations(conf.Stations())
	s.Swap(built)
	return s, q
}

// configOfEveryKind is a configuration with stations of every kind. No device is at their addresses.
func configOfEveryKind() *config.Config {
	p, k := config.DefaultPrinter(), config.Defaults[config.KDS]()
	p.Name, p.Address, p.PollEvery = "grill", "tcp://127.0.0.1:1", 0
	k.Name, k.URL = "fresh", "https://kds.example/tickets"
	l := config.Defaults[config.TicketLog]()
	l.Name, l.To = "archive", "stdout"
	hot, pass := config.Defaults[config.Screen](), config.Defaults[config.Screen]()
	hot.Name, hot.Backup = "hot", "grill"
	pass.Name, pass.Mode, pass.Of = "pass", "pass", []string{"hot"}
	return &config.Config{
		Printers: []config.Printer{p}, KDS: []config.KDS{k}, Logs: []config.TicketLog{l},
		Screens:  []config.Screen{hot, pass},
		Fallback: "grill", Fonts: []string{filepath.Join("testdata", "none")},
	}
}
