package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/plan"
)

// A kitchen is the receiver behind a real socket, with the real queue or with an intake
// that stores nothing. Both have metrics and a log at level info, as the daemon has; the
// log's lines are made and thrown away.
type kitchen struct {
	addr     string
	queue    *queue.Queue // nil: nothing is stored
	registry *prometheus.Registry
	close    func() error
}

// forgets is an intake that stores nothing.
type forgets struct{}

func (forgets) Accept(_ context.Context, r ticket.Request) (ticket.Receipt, error) {
	return ticket.Receipt{Jobs: len(r.Drafts)}, nil
}

func (forgets) Waiting() time.Duration { return 0 }

// An intake is the queue, or what stands for it.
type intake interface {
	receiver.Intake
	Waiting() time.Duration
}

func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// kitchen opens a queue at path and serves. The file is left behind.
func (b *bench) kitchen(path string, rules plan.Config, clock queue.Clock) (*kitchen, error) {
	reg := prometheus.NewRegistry()
	q, err := queue.Open(queue.Options{
		Path: path, MaxBacklog: 10_000_000, Reserve: -1, Clock: clock, Logger: logger(), Registerer: reg,
	})
	if err != nil {
		return nil, err
	}
	k, err := serve(q, reg, rules)
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	stop := k.close
	k.queue = q
	k.close = func() error { return errors.Join(stop(), q.Close()) }
	return k, nil
}

// serve puts a receiver in front of an intake, on loopback.
func serve(in intake, reg *prometheus.Registry, rules plan.Config) (*kitchen, error) {
	p, err := plan.Compile(rules)
	if err != nil {
		return nil, err
	}
	r, err := receiver.New(receiver.Options{
		Intake: in, Logger: logger(), Registerer: reg,
		Policy: &receiver.Policy{
			Plan:   p,
			Venues: []receiver.Venue{{Venue: plan.Venue{ID: venueID, Name: "Harbour Grill", Zone: "Australia/Melbourne"}}},
		},
	})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, l) }()
	return &kitchen{addr: l.Addr().String(), registry: reg, close: func() error { cancel(); return <-ended }}, nil
}

// commits reads off the queue's own histogram how many commits there were, how long they
// took and how many changes they held.
type commits struct{ n, seconds, changes float64 }

func (k *kitchen) commits() (c commits, err error) {
	families, err := k.registry.Gather()
	for _, f := range families {
		if len(f.GetMetric()) == 0 || f.GetMetric()[0].GetHistogram() == nil {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		switch f.GetName() {
		case metricCommits:
			c.n, c.seconds = float64(h.GetSampleCount()), h.GetSampleSum()
		case metricChanges:
			c.changes = h.GetSampleSum()
		}
	}
	return c, err
}

const (
	metricCommits = "ticketrail_queue_commit_seconds"
	metricChanges = "ticketrail_queue_batch_operations"
)

func (c commits) since(d commits) commits {
	return commits{c.n - d.n, c.seconds - d.seconds, c.changes - d.changes}
}

func (c commits) String() string {
	if c.n == 0 {
		return "no commits"
	}
	return fmt.Sprintf("%.0f commits of %.1f changes, %.2f ms each", c.n, c.changes/c.n, 1000*c.seconds/c.n)
}

func removeStore(path string) error {
	err := os.Remove(path)
	if e := os.Remove(path + ".reserve"); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}
