package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// durable is the price of the disk: the whole daemon, and its receiver alone.
func (b *bench) durable(ctx context.Context) (measured string, hit bool, err error) {
	self, err1 := os.Executable()
	if err := errors.Join(err1, b.fill(ctx, b.path("empty.db"), store{})); err != nil {
		return "", false, err
	}
	err = run(ctx, []string{self, modeForget}, func(null *daemon) error {
		nothing := func() (float64, error) { return b.saturate(ctx, null.webhook) }
		measured, hit, err = b.compare(0.40, b.saturated(ctx, b.path("empty.db")), nothing)
		return err
	})
	return measured, hit, err
}

// full is the price of what a week leaves.
func (b *bench) full(ctx context.Context) (measured string, hit bool, err error) {
	if err := errors.Join(b.fill(ctx, b.path("empty2.db"), store{}), b.makeLarge(ctx)); err != nil {
		return "", false, err
	}
	return b.compare(0.75, b.saturated(ctx, b.large), b.saturated(ctx, b.path("empty2.db")))
}

// compare takes turns.
func (b *bench) compare(least float64, one, other func() (float64, error)) (measured string, hit bool, err error) {
	var ones, others, ratios []float64
	for range pick(b, 5, 3) {
		x, err1 := one()
		y, err2 := other()
		if err := errors.Join(err1, err2); err != nil {
			return "", false, err
		}
		say("  %.0f/s ÷ %.0f/s", x, y)
		ones, others, ratios = append(ones, x), append(others, y), append(ratios, x/y)
	}
	ratio := median(ones) / median(others)
	return fmt.Sprintf("%.0f ÷ %.0f = %.2f (rounds %.2f to %.2f)", median(ones), median(others), ratio, slices.Min(ratios), slices.Max(ratios)),
		ratio >= least, nil
}

// saturated saturates a daemon on a copy of a store. The station is held: nothing prints.
func (b *bench) saturated(ctx context.Context, store string) func() (float64, error) {
	return func() (perSecond float64, err error) {
		err = b.onCopy(ctx, store, func(d *daemon) (err error) {
			if err = d.quiet(ctx); err == nil {
				perSecond, err = b.saturate(ctx, d.webhook)
			}
			return err
		})
		return perSecond, err
	}
}

// onCopy runs a daemon on a copy of a store, so that nothing is slower for what went before.
func (b *bench) onCopy(ctx context.Context, store string, use func(*daemon) error) error {
	path := b.path("copy.db")
	if err := exec.CommandContext(ctx, "cp", store, path).Run(); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	unix.Sync()
	return errors.Join(b.daemon(ctx, path, setup{}, use), os.Remove(path))
}

// makeLarge makes the store of a million keys and 50,000 jobs, once in a run. Requests are
// small: the rows are about keys and jobs.
func (b *bench) makeLarge(ctx context.Context) (err error) {
	if b.large == "" {
		b.large = b.path("large.db")
		began := time.Now()
		err = b.fill(ctx, b.large, store{keys: pick(b, 1_000_000, 100_000), jobs: pick(b, 50_000, 5_000), small: true})
		say("  the large store was made in %s", time.Since(began).Round(time.Second))
	}
	return err
}

// ack posts an order, commits, and so on in turns. The station is held: nothing else commits.
func (b *bench) ack(ctx context.Context) (measured string, hit bool, err error) {
	path := b.path("ack.db")
	if err := b.fill(ctx, path, store{}); err != nil {
		return "", false, err
	}
	var ack, commit samples
	err = b.daemon(ctx, path, setup{}, func(d *daemon) error {
		return onConnections(ctx, d.webhook, 1, func(c *client) error {
			o, warm := newOrder(0, 0), 100
			for i := range warm + pick(b, 2000, 300) {
				began := time.Now()
				err1 := c.post(o)
				took := time.Since(began)
				one, err2 := b.disk.commit(1)
				if err := errors.Join(err1, err2, context.Cause(ctx)); err != nil {
					return err
				}
				if i >= warm {
					ack, commit = append(ack, took), append(commit, one)
				}
			}
			return nil
		})
	})
	ratio := float64(ack.p50()) / float64(commit.p50())
	return fmt.Sprintf("%s ÷ %s = %.2f (p99 %s ÷ %s)", ms(ack.p50()), ms(commit.p50()), ratio, ms(ack.p99()), ms(commit.p99())),
		ratio <= 2.5, err
}

// busy is an evening: an order for two stations makes two tickets, each of which is begun and
// ended on the disk, five commits if none are made together. The commits it is compared with
// are made in the pauses, alone and at the same pace.
func (b *bench) busy(ctx context.Context) (measured string, hit bool, err error) {
	const n, rate = 10, 50
	var orders []order
	for i := range n {
		orders = append(orders, newOrder(i, (i+1)%n))
	}
	lasts := pick(b, 6*time.Second, 3*time.Second)
	var ack, commit samples
	var slowest []float64
	err = b.kitchen(ctx, n, setup{}, func(k *kitchen) error {
		for range pick(b, 10, 3) {
			p, perSecond, err1 := k.pace(ctx, orders, rate, lasts)
			c, err2 := b.disk.paced(2, int(lasts.Seconds()/2)*rate, rate)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			ack, commit, slowest = append(ack, p.took...), append(commit, c...), append(slowest, slices.Min(perSecond))
			say("  ack p99 %s, commit p50 %s", ms(p.took.p99()), ms(c.p50()))
		}
		return nil
	})
	commits, settled := float64(ack.p99())/float64(commit.p50()), median(slowest)
	return fmt.Sprintf("%s ÷ %s = %.1f commits (ack p50 %s, a commit's own p99 %s; slowest station %.1f tickets/s)",
		ms(ack.p99()), ms(commit.p50()), commits, ms(ack.p50()), ms(commit.p99()), settled), commits <= 8 && settled >= 9.5, err
}

// slowDisk has strace make the disk slow, without touching the daemon: a commit syncs twice,
// and each sync takes 50 ms longer. A printer drains its queue meanwhile.
func (b *bench) slowDisk(ctx context.Context) (measured string, hit bool, err error) {
	under := []string{"strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_exit=50000"}
	if out, err := exec.CommandContext(ctx, under[0], append(slices.Clone(under[1:]), "true")...).CombinedOutput(); err != nil {
		return "", false, notMeasured(fmt.Sprintf("it needs strace, which makes each sync slow: %v %.200s", err, out))
	}
	lasts := pick(b, 20*time.Second, 6*time.Second)
	var ack samples
	each := 0.0
	err = b.kitchen(ctx, 1, setup{under: under}, func(k *kitchen) error {
		before, err1 := k.scrape()
		p, err2 := pace(ctx, k.webhook, []order{newOrder(0, 0)}, 200, lasts)
		after, err3 := k.scrape()
		ack = p.took
		each = (after[commitSeconds+"_sum"] - before[commitSeconds+"_sum"]) / (after[commitSeconds+"_count"] - before[commitSeconds+"_count"])
		return errors.Join(err1, err2, err3)
	})
	if err == nil && each < 0.095 {
		err = notMeasured(fmt.Sprintf("a commit took only %.0f ms although strace was to make it slow", 1000*each))
	}
	return fmt.Sprintf("%s (p50 %s; a commit took %.0f ms)", ms(ack.p99()), ms(ack.p50()), 1000*each), ack.p99() <= 250*time.Millisecond, err
}

// firstByte is one order at a time, from the moment it is sent until the first byte of its
// ticket is at the printer, which is connected to and asked how it is before that.
func (b *bench) firstByte(ctx context.Context) (measured string, hit bool, err error) {
	var took, commit samples
	err = b.kitchen(ctx, 1, setup{keys: ", linger: 0s, poll_every: 0s"}, func(k *kitchen) error {
		for range pick(b, 400, 100) {
			t, err1 := k.firstByte(ctx, newOrder(0, 0))
			c, err2 := b.disk.commit(1)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			took, commit = append(took, t), append(commit, c)
		}
		return nil
	})
	limit := 6*commit.p50() + 20*time.Millisecond
	return fmt.Sprintf("%s (p50 %s); 6 · %s + 20 ms = %s", ms(took.p99()), ms(took.p50()), ms(commit.p50()), ms(limit)), took.p99() <= limit, err
}

// start is the daemon from its start until it is ready, with nothing of it in the page cache.
func (b *bench) start(ctx context.Context) (measured string, hit bool, err error) {
	path := b.path("start.db")
	if err := b.fill(ctx, path, store{keys: 20_000, jobs: 10_000}); err != nil {
		return "", false, err
	}
	var took samples
	for range pick(b, 7, 3) {
		unix.Sync()
		if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
			return "", false, notMeasured(fmt.Sprintf("emptying the page cache needs root: %v", err))
		}
		if err := b.daemon(ctx, path, setup{}, func(d *daemon) error { took = append(took, d.ready); return nil }); err != nil {
			return "", false, err
		}
	}
	return fmt.Sprintf("%s (slowest of %d: %s)", ms(took.p50()), len(took), ms(slices.Max(took))), took.p50() <= time.Second, nil
}

// memory is the most that was seen while orders came in for ten seconds, of what only the
// process itself can give back: the pages of the database are the kernel's.
func (b *bench) memory(ctx context.Context) (measured string, hit bool, err error) {
	if err := b.makeLarge(ctx); err != nil {
		return "", false, err
	}
	most := 0.0
	err = b.onCopy(ctx, b.large, func(d *daemon) error {
		posted := make(chan error, 1)
		go func() {
			_, err := pace(ctx, d.webhook, []order{newOrder(0, 0)}, 200, 10*time.Second)
			posted <- err
		}()
		for {
			kib, err1 := strconv.ParseFloat(strings.TrimSuffix(procField(fmt.Sprintf("/proc/%d/status", d.pid), "RssAnon"), " kB"), 64)
			most = max(most, 1024*kib)
			select {
			case err2 := <-posted:
				m, err3 := d.scrape()
				if want := pick(b, 50_000, 5_000) + 2000; err3 == nil && m.open() != want {
					err3 = fmt.Errorf("%d jobs wait in the daemon, want %d", m.open(), want)
				}
				return errors.Join(err1, err2, err3)
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return fmt.Sprintf("%.1f MB at most", most/1e6), most <= 40e6, err
}

// fifty has one printer of fifty get its ten tickets a second while the others have none, then
// all of them. Each ticket is a request of its own and is confirmed by the printer.
func (b *bench) fifty(ctx context.Context) (measured string, hit bool, err error) {
	const n, each = 50, 10
	orders, lasts := ordersForEach(n), pick(b, 12*time.Second, 4*time.Second)
	var alone, slowest []float64
	var ack samples
	err = b.kitchen(ctx, n, setup{}, func(k *kitchen) error {
		for range pick(b, 4, 2) {
			_, one, err1 := k.pace(ctx, orders[:1], each, lasts)
			p, all, err2 := k.pace(ctx, orders, n*each, lasts)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			say("  slowest %.2f/s, alone %.2f/s", slices.Min(all), one[0])
			alone, slowest, ack = append(alone, one[0]), append(slowest, slices.Min(all)), append(ack, p.took...)
		}
		return nil
	})
	ratio := median(slowest) / median(alone)
	return fmt.Sprintf("%.2f ÷ %.2f tickets/s = %.3f (the slowest of the 50; ack p99 %s)", median(slowest), median(alone), ratio, ms(ack.p99())),
		ratio >= 0.95, err
}
