package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// durable compares the daemon with an endpoint that parses a request and stores nothing: the quotient is the
// price of everything that ticketrail does before its 200.
func (b *bench) durable() result {
	noStorage := func() *daemon { return b.start("/proc/self/exe", modeNoStorage) }
	return b.compare(0.40, b.onStore(store{}, setup{}), noStorage)
}

// log compares the daemon with one that cannot write its log of requests: there is no folder below a device.
func (b *bench) log() result {
	return b.compare(0.90, b.onStore(store{}, setup{}), b.onStore(store{}, setup{copy: os.DevNull + "/none"}))
}

// full compares a daemon that has a week behind it with one that starts empty.
func (b *bench) full() result {
	return b.compare(0.75, b.onStore(large, setup{}), b.onStore(store{}, setup{}))
}

// compare saturates two daemons in turns and compares the medians of their acks a second. Their
// stations are held: nothing prints.
func (b *bench) compare(least float64, start, startOther func() *daemon) result {
	ones, others := inTurns(b, 5,
		func() float64 { return b.saturate(start) }, func() float64 { return b.saturate(startOther) })

	ratios := make([]float64, len(ones))
	for i := range ratios {
		ratios[i] = ones[i] / others[i]
	}

	ratio := median(ones) / median(others)
	return result{fmt.Sprintf("%.0f ÷ %.0f = %.2f (rounds %.2f to %.2f)",
		median(ones), median(others), ratio, slices.Min(ratios), slices.Max(ratios)), ratio >= least}
}

// saturate returns how many orders a second a new daemon acknowledges on 256 connections. The
// warm-up is not counted: the first commits fill caches and grow the file.
func (b *bench) saturate(start func() *daemon) float64 {
	most := &load{
		orders: ordersFor(1, 0), connections: 256,
		warmUp: time.Second, lasts: 4 * time.Second,
	}

	took := must(most.run(b.ctx, start().webhook))
	check(b.cleanUp())
	return float64(len(took)) / most.lasts.Seconds()
}

// ack measures one order at a time. Its station is held: nothing else commits.
func (b *bench) ack() result {
	const warmUp = 100 // orders
	sender := must(connect(b.ctx, b.onStore(store{}, setup{})().webhook, 1))[0]
	defer sender.Close()
	posted := newOrder(0, 0)

	as, cs := inTurns(b, warmUp+2000, timed(func() error { return sender.post(posted) }), b.commit)
	ack, commit := samples(as[warmUp:]), samples(cs[warmUp:])

	ratio := float64(ack.p50()) / float64(commit.p50())
	return result{fmt.Sprintf("%s ÷ %s = %.2f (p99 %s ÷ %s)",
		ack.p50(), commit.p50(), ratio, ack.p99(), commit.p99()), ratio <= 2.5}
}

// busy is an evening. An order for two stations makes two tickets, and each of them is begun
// and settled on the disk: five commits, if none are made together. The commits to compare with
// are made between the rounds, with nothing else running and at the same rate.
func (b *bench) busy() result {
	const n, rate = 10, 50
	orders, lasts := ordersFor(n, 1), 6*time.Second
	kitchen := b.withPrinters(n, setup{})
	evenings, pauses := inTurns(b, 10, func() printed { return kitchen.print(atRate(orders, rate, lasts)) },
		func() samples { return must(atRate(orders, rate, lasts/2).post(b.ctx, b.disk)) })

	ack, slowest := gather(evenings)
	commit := slices.Concat(pauses...)

	commits, settled := float64(ack.p99())/float64(commit.p50()), median(slowest)
	return result{fmt.Sprintf("%s ÷ %s = %.1f commits "+
		"(ack p50 %s, a commit's own p99 %s; slowest station %.1f tickets/s)",
		ack.p99(), commit.p50(), commits, ack.p50(), commit.p99(), settled), commits <= 8 && settled >= 9.5}
}

// slowDisk has strace slow the disk down, without touching the daemon: a commit syncs twice,
// and each sync takes 50 ms longer. A printer drains its queue at the same time.
func (b *bench) slowDisk() result {
	strace := strings.Fields("strace -D -f -qq --seccomp-bpf -o /dev/null -e trace=fdatasync" +
		" -e inject=fdatasync:delay_exit=50000")
	if out, err := exec.CommandContext(b.ctx, strace[0], append(strace[1:], "true")...).CombinedOutput(); err != nil {
		check(notMeasured(fmt.Sprintf("needs strace, to make each sync slow: %v %.200s", err, out)))
	}

	kitchen := b.withPrinters(1, setup{runner: strace})
	var ack samples = must(atRate(ordersFor(1, 0), 200, 20*time.Second).run(b.ctx, kitchen.webhook))

	figures := kitchen.scrape()
	const commit = "ticketrail_queue_commit_seconds_"
	each := 1000 * figures.sum(commit+"sum") / figures.sum(commit+"count")
	if each < 95 {
		check(notMeasured(fmt.Sprintf("a commit took only %.0f ms although strace slows the disk down", each)))
	}

	return result{fmt.Sprintf("%s (p50 %s; a commit took %.0f ms)", ack.p99(), ack.p50(), each),
		ack.p99() <= ms(250*time.Millisecond)}
}

// readiness is the time from starting the daemon until it is ready, with an empty page cache.
func (b *bench) readiness() result {
	var took samples
	for range 7 {
		took = append(took, b.onStore(store{keys: 20_000, jobs: 10_000}, setup{cold: true})().ready)
		check(b.cleanUp())
	}
	return result{fmt.Sprintf("%s (slowest of %d: %s)", took.p50(), len(took), ms(slices.Max(took))),
		took.p50() <= ms(time.Second)}
}

// memory is the largest amount seen while orders arrived for ten seconds. Only anonymous memory
// counts: the pages of the database file belong to the kernel, which takes them back when
// another program needs them.
func (b *bench) memory() result {
	started := b.onStore(large, setup{})()
	posted := make(chan error, 1)

	go func() {
		_, err := atRate(ordersFor(1, 0), 200, 10*time.Second).run(b.ctx, started.webhook)
		posted <- err
	}()

	most, running := 0.0, true
	for running {
		select {
		case err := <-posted:
			check(err)
			running = false
		case <-time.After(100 * time.Millisecond):
		}
		kib := strings.TrimSuffix(procField(fmt.Sprintf("/proc/%d/status", started.pid), "RssAnon"), " kB")
		most = max(most, 1024*must(strconv.ParseFloat(kib, 64)))
	}

	if open, want := started.scrape().open(), large.jobs+2000; open != want {
		check(fmt.Errorf("%d jobs wait in the daemon, want %d", open, want))
	}
	return result{fmt.Sprintf("%.1f MB at most", most/1e6), most <= 64e6}
}

// fifty gives one printer of fifty its ten tickets a second while the others have none, then
// all of them. Each ticket is one request and is confirmed by the printer.
func (b *bench) fifty() result {
	const n, each = 50, 10
	orders, lasts := ordersFor(n, 0), 12*time.Second
	kitchen := b.withPrinters(n, setup{})

	ones, alls := inTurns(b, 4, func() printed { return kitchen.print(atRate(orders[:1], each, lasts)) },
		func() printed { return kitchen.print(atRate(orders, n*each, lasts)) })

	_, alone := gather(ones)
	ack, slowest := gather(alls)

	ratio := median(slowest) / median(alone)
	return result{fmt.Sprintf("%.2f ÷ %.2f tickets/s = %.3f (the slowest of the 50; ack p99 %s)",
		median(slowest), median(alone), ratio, ack.p99()), ratio >= 0.95}
}

// large is the store of the rows "full" and "memory". Its requests are small, so that it is made
// in a minute: the rows are about keys and jobs.
var large = store{keys: 1_000_000, jobs: 50_000, small: true}

// onStore returns a function that starts a daemon on a copy of a store and waits until it is idle. A copy,
// so that no row is slower for another one's files. The store is filled when a row first
// needs it.
func (b *bench) onStore(s store, with setup) func() *daemon {
	return func() *daemon {
		if b.stores[s] == "" {
			filled := b.path(fmt.Sprintf("store-%d.db", len(b.stores)))
			b.fill(filled, s)
			b.stores[s] = filled
		}

		path := b.path("copy.db")
		check(os.RemoveAll(path + ".copy")) // the log of the store before would be played into this one
		check(exec.CommandContext(b.ctx, "cp", b.stores[s], path).Run())
		unix.Sync() // or the kernel would write the copy out during the measurement

		if with.cold {
			if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
				check(notMeasured(fmt.Sprintf("emptying the page cache needs root: %v", err)))
			}
		}

		with.store = path
		started := b.daemon(with)
		started.waitIdle()
		return started
	}
}
