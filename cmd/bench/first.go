package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"ticketrail/cmd/internal/app"
)

// firstByte is row 8: the whole daemon, one order at a time, from the moment the order is
// sent until the first byte of its ticket is at the printer. No status is asked of the
// printer yet, so the first byte is the ticket's.
func (b *bench) firstByte(ctx context.Context) (finding, error) {
	l, err := order()
	if err != nil {
		return finding{}, err
	}
	y, err := b.newYardstick(ctx, "row8", twoStations(), l)
	if err != nil {
		return finding{}, err
	}
	printer, err := newWire()
	if err != nil {
		return finding{}, errors.Join(err, y.close())
	}
	defer printer.close()
	a, stop, err := b.wholeDaemon(ctx, printer.addr)
	if err != nil {
		return finding{}, errors.Join(err, y.close())
	}
	byteAfter, commit, err := b.orders(ctx, a, y, printer, l, pick(b, 400, 100))
	if err := errors.Join(err, stop(), y.close()); err != nil {
		return finding{}, err
	}
	limit := 3*commit.p50() + 5*time.Millisecond
	return finding{
		Measured: fmt.Sprintf("p99 %s, p50 %s, slowest %s of %d, against 3 · %s + 5 ms = %s (commit p99 %s)",
			ms(byteAfter.p99()), ms(byteAfter.p50()), ms(byteAfter.quantile(1)), len(byteAfter), ms(commit.p50()), ms(limit), ms(commit.p99())),
		Values: map[string]float64{"first_byte_p50": millis(byteAfter.p50()), "first_byte_p99": millis(byteAfter.p99()),
			"commit_p50": millis(commit.p50()), "commit_p99": millis(commit.p99()), "limit": millis(limit)},
		Hit: byteAfter.p99() <= limit,
	}, nil
}

// wholeDaemon runs the daemon in this process.
func (b *bench) wholeDaemon(ctx context.Context, printer string) (_ *app.App, stop func() error, err error) {
	sockets, err := os.MkdirTemp("", "trb")
	if err != nil {
		return nil, nil, err
	}
	conf := b.path("row8.yaml")
	o := daemonOptions{store: b.path("row8.db"), printer: printer}
	if err := os.WriteFile(conf, daemonConfig(o, filepath.Join(sockets, "admin")), 0o600); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(sockets))
	}
	a, err := app.New(ctx, app.Options{ConfigPath: conf, Log: io.Discard})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(sockets))
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(serving) }()
	return a, func() error { end(); return errors.Join(<-ended, os.RemoveAll(sockets)) }, nil
}

// orders sends one order after the other, each when the one before it is settled, with a
// commit in between.
func (b *bench) orders(ctx context.Context, a *app.App, y *yardstick, printer *wire, l letter, n int) (byteAfter, commit samples, err error) {
	c, err := dial(ctx, a.WebhookAddr().String())
	if err != nil {
		return nil, nil, err
	}
	defer c.conn.Close()
	k := &kitchen{queue: a.Queue()}
	for i := range n + n/20 {
		began := time.Now()
		if err := c.post(l, b.ids.Add(1)); err != nil {
			return nil, nil, err
		}
		var t arrival
		select {
		case t = <-printer.tickets:
		case <-time.After(patience):
			return nil, nil, errors.New("no ticket came out")
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		for k.waiting() > 0 {
			if err := pause(ctx, time.Millisecond); err != nil {
				return nil, nil, err
			}
		}
		d, err := y.commit()
		if err != nil {
			return nil, nil, err
		}
		if i >= n/20 {
			byteAfter, commit = append(byteAfter, t.first.Sub(began)), append(commit, d)
		}
	}
	return byteAfter, commit, nil
}
