package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const screensAtOnce = 50

// fiftyScreens is row 15: the daemon as a process of its own, with pages that stay while tickets
// come and go, and then come all at once, as after a power cut. What counts is the most
// that was seen. The pages are played: fifty browsers would not fit beside it.
func (b *bench) fiftyScreens(ctx context.Context) (finding, error) {
	return b.screens(ctx, screensAtOnce, ticketsOpen, pick(b, 100, 25))
}

func (b *bench) screens(ctx context.Context, pages, open, orders int) (finding, error) {
	store := b.path("row15.db")
	d, err := b.daemon(ctx, daemonOptions{store: store, config: screenConfig(store), within: time.Minute})
	if err != nil {
		return finding{}, err
	}
	m, err := b.weighScreens(ctx, d, pages, open, orders)
	if err := errors.Join(err, d.stop(), removeStore(store)); err != nil {
		return finding{}, err
	}
	const mb = 1e6
	return finding{
		Measured: fmt.Sprintf("%.1f MB with %d open tickets and no screen; with %d screens %.1f MB, %.1f MB after %d more tickets at %d/s, at most %.1f MB so far; "+
			"when all of them loaded their pages at once %.1f MB, at most %.1f MB",
			m.filled/mb, open, pages, m.opened/mb, m.worked/mb, orders, screenRate, m.mostWorked/mb, m.again/mb, m.mostAgain/mb),
		Values: map[string]float64{"filled_mb": m.filled / mb, "opened_mb": m.opened / mb, "worked_mb": m.worked / mb, "most_mb": m.mostWorked / mb,
			"at_once_mb": m.again / mb, "most_at_once_mb": m.mostAgain / mb},
		Hit: max(m.mostWorked, m.mostAgain) <= 64*mb,
	}, nil
}

// screenRate is how many tickets come a second.
const screenRate = 5

// weights are the anonymous memory at some moments, and the most between them, in bytes.
type weights struct{ filled, opened, worked, mostWorked, again, mostAgain float64 }

func (b *bench) weighScreens(ctx context.Context, d *daemon, pages, open, orders int) (m weights, err error) {
	s := newStation(d.webhook, d.display)
	if err := b.putUp(ctx, s, open); err != nil {
		return m, err
	}
	if m.filled, err = d.anonymous(); err != nil {
		return m, err
	}
	m.mostWorked, err = d.most(func() error {
		tablets, err := b.openTablets(ctx, s, pages, 1)
		if err == nil {
			m.opened, err = d.anonymous()
		}
		if err == nil {
			err = b.flow(ctx, s, orders)
		}
		for _, t := range tablets {
			if err == nil {
				err = t.holds(ctx, open)
			}
		}
		if err == nil {
			m.worked, err = d.anonymous()
		}
		return errors.Join(err, closeTablets(ctx, tablets))
	})
	if err != nil {
		return m, err
	}
	m.mostAgain, err = d.most(func() error {
		tablets, err := b.openTablets(ctx, s, pages, pages)
		if err == nil {
			m.again, err = d.anonymous()
		}
		return errors.Join(err, closeTablets(ctx, tablets))
	})
	return m, err
}

// openTablets opens pages, some at a time, each until it is live. What was opened is returned
// with an error too.
func (b *bench) openTablets(ctx context.Context, s station, n, atATime int) ([]*tablet, error) {
	tablets, errs := make([]*tablet, n), make([]error, n)
	turns := make(chan struct{}, atATime)
	var wg sync.WaitGroup
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			if tablets[i], errs[i] = openTablet(ctx, s.url, b.ids.Add(1)); errs[i] == nil {
				errs[i] = tablets[i].waitLive(ctx)
			}
			<-turns
		})
	}
	wg.Wait()
	return slices.DeleteFunc(tablets, func(t *tablet) bool { return t == nil }), errors.Join(errs...)
}

func closeTablets(ctx context.Context, tablets []*tablet) (err error) {
	for _, t := range tablets {
		err = errors.Join(err, t.close(ctx))
	}
	return err
}

// flow sends orders at their pace, and for each has a ticket bumped that was there before.
func (b *bench) flow(ctx context.Context, s station, orders int) error {
	old, err := s.open(ctx)
	if err != nil {
		return err
	}
	c, err := dial(ctx, s.webhook)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	for i := range orders {
		if err := s.send(c, b.ids.Add(1)); err != nil {
			return err
		}
		if err := s.bump(ctx, old[i]); err != nil {
			return err
		}
		if err := pause(ctx, time.Second/screenRate); err != nil {
			return err
		}
	}
	return s.shown(ctx, len(old))
}

// most runs f and returns the most memory that the daemon had meanwhile.
func (d *daemon) most(f func() error) (bytes float64, err error) {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := d.anonymous()
		if err != nil {
			return bytes, errors.Join(err, <-ended)
		}
		bytes = max(bytes, now)
		select {
		case err := <-ended:
			return bytes, err
		case <-tick.C:
		}
	}
}
