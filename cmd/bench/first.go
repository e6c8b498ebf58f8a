package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ticketrail/cmd/internal/app"
)

// firstByte is row 8: the whole daemon, one order at a time, from the moment the order is
// sent until the first byte of its ticket is at the printer. Printers that answer are asked
// how they are before each ticket, and those bytes are not the ticket's; others are not.
func (b *bench) firstByte(ctx context.Context) (finding, error) {
	l, err := order()
	if err != nil {
		return finding{}, err
	}
	y, err := b.newYardstick(ctx, "row8", twoStations(), l)
	if err != nil {
		return finding{}, err
	}
	answering, commit, err := b.firstBytes(ctx, y, l, true)
	if err != nil {
		return finding{}, errors.Join(err, y.close())
	}
	silent, commit2, err := b.firstBytes(ctx, y, l, false)
	if err := errors.Join(err, y.close()); err != nil {
		return finding{}, err
	}
	commit = append(commit, commit2...)
	limit := 3*commit.p50() + 5*time.Millisecond
	return finding{
		Measured: fmt.Sprintf("a printer that answers: p99 %s, p50 %s, slowest %s of %d; one that says nothing: p99 %s, p50 %s; against 3 · %s + 5 ms = %s (commit p99 %s)",
			ms(answering.p99()), ms(answering.p50()), ms(answering.quantile(1)), len(answering), ms(silent.p99()), ms(silent.p50()),
			ms(commit.p50()), ms(limit), ms(commit.p99())),
		Values: map[string]float64{"first_byte_p50": millis(answering.p50()), "first_byte_p99": millis(answering.p99()),
			"silent_first_byte_p50": millis(silent.p50()), "silent_first_byte_p99": millis(silent.p99()),
			"commit_p50": millis(commit.p50()), "commit_p99": millis(commit.p99()), "limit": millis(limit)},
		Hit: max(answering.p99(), silent.p99()) <= limit,
	}, nil
}

// firstBytes measures one kind of printer.
func (b *bench) firstBytes(ctx context.Context, y *yardstick, l letter, answers bool) (byteAfter, commit samples, err error) {
	printer, err := newWire(answers)
	if err != nil {
		return nil, nil, err
	}
	defer printer.close()
	o := daemonOptions{store: b.path("row8.db"), printer: printer}
	a, stop, err := b.wholeDaemon(ctx, func(socket string) []byte { return daemonConfig(o, socket) }, app.Options{})
	if err != nil {
		return nil, nil, err
	}
	byteAfter, commit, err = b.orders(ctx, a, y, printer, l, pick(b, 400, 100))
	return byteAfter, commit, errors.Join(err, stop(), removeStore(o.store))
}

// wholeDaemon runs the daemon in this process. config is given the admin socket's path.
func (b *bench) wholeDaemon(ctx context.Context, config func(socket string) []byte, o app.Options) (_ *app.App, stop func() error, err error) {
	sockets, err := os.MkdirTemp("", "trb")
	if err != nil {
		return nil, nil, err
	}
	conf := b.path("whole.yaml")
	if err := os.WriteFile(conf, config(filepath.Join(sockets, "admin")), 0o600); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(sockets))
	}
	o.ConfigPath = conf
	a, err := app.New(ctx, o)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(sockets))
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(serving) }()
	return a, func() error { end(); return errors.Join(<-ended, os.RemoveAll(sockets)) }, nil
}

// orders sends one order after the other, each when the one before it is settled, with a
// commit in between. The very first does not count: the printer is asked what it can do.
func (b *bench) orders(ctx context.Context, a *app.App, y *yardstick, printer *wire, l letter, n int) (byteAfter, commit samples, err error) {
	k := &kitchen{addr: a.WebhookAddr().String(), queue: a.Queue()}
	first, err := dial(ctx, k.addr)
	if err != nil {
		return nil, nil, err
	}
	_, err = b.orderOne(ctx, first, k, printer, l)
	if err := errors.Join(err, first.conn.Close()); err != nil {
		return nil, nil, fmt.Errorf("first ticket: %w", err)
	}
	c, err := dial(ctx, k.addr) // the first may have waited for too long
	if err != nil {
		return nil, nil, err
	}
	defer c.conn.Close()
	for i := range n + n/20 {
		took, err := b.orderOne(ctx, c, k, printer, l)
		if err != nil {
			return nil, nil, err
		}
		d, err := y.commit()
		if err != nil {
			return nil, nil, err
		}
		if i >= n/20 {
			byteAfter, commit = append(byteAfter, took), append(commit, d)
		}
	}
	return byteAfter, commit, nil
}

// orderOne sends an order, waits until it is settled, and returns how long it took to the first
// byte of its ticket.
func (b *bench) orderOne(ctx context.Context, c *caller, k *kitchen, printer *wire, l letter) (time.Duration, error) {
	began := time.Now()
	if err := c.post(l, b.ids.Add(1)); err != nil {
		return 0, err
	}
	var t arrival
	select {
	case t = <-printer.tickets:
	case <-time.After(patience):
		return 0, errors.New("no ticket came out")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if t.first.Before(began) {
		return 0, errors.New("a byte came before its order: the printer was asked something")
	}
	for k.waiting() > 0 {
		if err := pause(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	return t.first.Sub(began), nil
}
