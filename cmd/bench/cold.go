package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// nowhere refuses every connection: nothing waits there for a printer that is not held.
const nowhere = "127.0.0.1:9"

// coldStart is row 5: the daemon as a process, from its start until it says READY=1, with
// nothing of its database (and, as root, of itself) in the page cache.
func (b *bench) coldStart(ctx context.Context) (finding, error) {
	small, err := b.smallStore(ctx)
	if err != nil {
		return finding{}, err
	}
	starts, how, err := b.starts(ctx, small, pick(b, 7, 3))
	if err != nil {
		return finding{}, err
	}
	large, err := b.largeStore(ctx)
	if err != nil {
		return finding{}, err
	}
	largeStarts, _, err := b.starts(ctx, large, pick(b, 3, 2))
	if err != nil {
		return finding{}, err
	}
	return finding{
		Measured: fmt.Sprintf("median %s, slowest %s of %d (%d keys, %d jobs, %s); with %d keys and %d jobs (%s) median %s, slowest %s of %d; %s",
			ms(starts.p50()), ms(starts.quantile(1)), len(starts), small.keys, small.jobs, small.size(),
			large.keys, large.jobs, large.size(), ms(largeStarts.p50()), ms(largeStarts.quantile(1)), len(largeStarts), how),
		Values: map[string]float64{"ready": millis(starts.p50()), "ready_slowest": millis(starts.quantile(1)), "ready_large": millis(largeStarts.p50())},
		Hit:    starts.p50() <= time.Second,
	}, nil
}

func (b *bench) starts(ctx context.Context, s store, n int) (took samples, how string, err error) {
	for range n {
		if how, err = chill(s.path); err != nil {
			return nil, "", err
		}
		d, err := b.daemon(ctx, daemonOptions{store: s.path, within: 5 * time.Minute})
		if err != nil {
			return nil, "", err
		}
		took = append(took, d.ready)
		if err := d.stop(); err != nil {
			return nil, "", err
		}
		b.say("  %s: ready after %s", s.size(), ms(d.ready))
	}
	return took, how, nil
}

// chill empties the page cache, or without the right to do so takes the database out of it.
func chill(path string) (how string, err error) {
	unix.Sync()
	if os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0) == nil {
		return "page cache dropped before each", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	return "only the database was cold: dropping the whole page cache needs root", errors.Join(err, f.Close())
}

// memory is row 6. Working is part of it: what counts is the most that was seen.
func (b *bench) memory(ctx context.Context) (finding, error) {
	s, err := b.largeStore(ctx)
	if err != nil {
		return finding{}, err
	}
	d, err := b.daemon(ctx, daemonOptions{store: s.path, within: 5 * time.Minute})
	if err != nil {
		return finding{}, err
	}
	ready, worked, most, err := b.work(ctx, d)
	_, waiting, err2 := d.scrape()
	if err := errors.Join(err, err2, d.stop()); err != nil {
		return finding{}, err
	}
	if want := s.jobs + ordersOfWork; waiting != want {
		return finding{}, fmt.Errorf("%d jobs waited in the daemon, want %d", waiting, want)
	}
	const mb = 1e6
	return finding{
		Measured: fmt.Sprintf("%.1f MB when ready, %.1f MB after %d orders in 10 s, at most %.1f MB; %d keys, %d jobs, %s",
			ready/mb, worked/mb, ordersOfWork, most/mb, s.keys, s.jobs, s.size()),
		Values: map[string]float64{"ready_mb": ready / mb, "worked_mb": worked / mb, "most_mb": most / mb},
		Hit:    most <= 40*mb,
	}, nil
}

const ordersOfWork = 2000

// work posts orders for ten seconds and looks at the memory all the while.
func (b *bench) work(ctx context.Context, d *daemon) (ready, worked, most float64, err error) {
	if ready, err = d.anonymous(); err != nil {
		return
	}
	most = ready
	l, err := order()
	if err != nil {
		return
	}
	cr, err := gather(ctx, d.webhook, 32)
	if err != nil {
		return
	}
	posted := make(chan error, 1)
	go func() {
		_, err := b.pace(ctx, cr, []letter{l}, ordersOfWork/10, 10*time.Second)
		posted <- errors.Join(err, cr.close())
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case err = <-posted:
			if done = true; err != nil {
				return
			}
		case <-tick.C:
		}
		if worked, err = d.anonymous(); err != nil {
			return
		}
		most = max(most, worked)
	}
	return ready, worked, most, nil
}
