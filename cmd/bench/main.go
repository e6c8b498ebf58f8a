// Command bench measures whether the kitchen can rely on ticketrail being quick: what a durable
// answer costs, how long a cook waits for the first byte of a ticket, how soon the daemon is
// back after a power cut, what it keeps in memory, whether fifty printers are as quick as one.
//
//	go run ./cmd/bench              every row, about ten minutes
//	go run ./cmd/bench --short      smaller counts and fewer keys; for a look, not for a claim
//	go run ./cmd/bench --only ack   one row
//
// The daemon is the real program in a process of its own; the load generator and simulated
// printers are this process, on the same cores. What is durable is compared with a commit: one
// bbolt Update that puts the same amount, on the same disk, in the same run. Figures of
// different runs or machines are not comparable, the ratios are. A row that cannot be measured
// says so and why. Single steps have Go benchmarks beside their packages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	run := measure
	if len(os.Args) == 2 && os.Args[1] == modeForget {
		run = forget
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A bench is one run.
type bench struct {
	dir   string // temporary: every file of the run
	short bool
	disk  *yardstick // on the disk that is measured
	large string     // the large store, once a row has needed it
}

// A row is one line of the table.
type row struct {
	name    string // for --only
	measure string
	bound   string
	run     func(*bench, context.Context) (measured string, hit bool, err error)
}

var rows = []row{
	{"durable", "durable acks/s, 256 connections ÷ the same with nothing stored", "≥ 0.40", (*bench).durable},
	{"full", "the same with a million keys and 50,000 jobs ÷ empty", "≥ 0.75", (*bench).full},
	{"ack", "p50 ack, one connection ÷ one commit", "≤ 2.5", (*bench).ack},
	{"busy", "p99 ack at 50/s while ten stations settle ten tickets/s each", "≤ 8 commits", (*bench).busy},
	{"slowdisk", "p99 ack at 200/s when each commit takes 100 ms", "≤ 250 ms", (*bench).slowDisk},
	{"firstbyte", "accept → first ticket byte, idle, p99", "≤ 6 commits + 20 ms", (*bench).firstByte},
	{"start", "start to ready, cold, 20,000 keys and 10,000 jobs", "≤ 1 s", (*bench).start},
	{"memory", "anonymous memory, a million keys and 50,000 jobs", "≤ 40 MB", (*bench).memory},
	{"fifty", "50 printers at once ÷ one alone", "≥ 0.95", (*bench).fifty},
}

// notMeasured is an error that says why this machine cannot measure a row.
type notMeasured string

func (n notMeasured) Error() string { return string(n) }

func measure(ctx context.Context) (err error) {
	b := &bench{}
	parent := flag.String("dir", "/var/tmp", "`folder` on the disk to measure; a temporary folder in it is used and removed")
	flag.BoolVar(&b.short, "short", false, "smaller counts and fewer keys")
	only := flag.String("only", "", "measure only one `row`: durable, full, ack, busy, slowdisk, firstbyte, start, memory, fifty")
	flag.Parse()
	if *only != "" && !slices.ContainsFunc(rows, func(r row) bool { return r.name == *only }) {
		return fmt.Errorf("--only %s: there is no such row, see --help", *only)
	}
	if b.dir, err = os.MkdirTemp(*parent, "ticketrail-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	// Whoever keeps time blocks a processor in the kernel; the others must not be short of it.
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)
	began := time.Now()
	if err := errors.Join(build(ctx, b.path("ticketrail")), b.machine()); err != nil {
		return err
	}
	err = b.table(ctx, *only)
	say("took %s", time.Since(began).Round(time.Second))
	return err
}

// machine prints what the absolute numbers depend on.
func (b *bench) machine() (err error) {
	if b.disk, err = newYardstick(b.path("yardstick.db")); err != nil {
		return err
	}
	commit, err1 := timed(pick(b, 500, 100), func() error { _, err := b.disk.commit(1); return err })
	f, err2 := os.Create(b.path("fsync"))
	fsync, err3 := timed(pick(b, 500, 100), func() error {
		_, err := f.WriteAt(make([]byte, 4096), 0)
		return errors.Join(err, f.Sync())
	})
	fmt.Printf("This run: %s; one commit takes %s (p99 %s), one fsync %s (p99 %s).\n", machine(b.dir),
		ms(commit.p50()), ms(commit.p99()), ms(fsync.p50()), ms(fsync.p99()))
	if b.short {
		fmt.Println("A short run, with smaller counts and fewer keys than the measures say. It claims nothing.")
	}
	return errors.Join(err1, err2, err3, f.Close())
}

// table measures the rows and prints them in Markdown.
func (b *bench) table(ctx context.Context, only string) error {
	fmt.Printf("\n| measure | measured | must be | |\n|---|---|---|---|\n")
	for _, r := range rows {
		if only != "" && only != r.name {
			continue
		}
		say("%s:", r.name)
		measured, hit, err := r.run(b, ctx)
		verdict := "miss"
		if why, ok := errors.AsType[notMeasured](err); ok {
			verdict, measured = "not measured", why.Error()
		} else if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		} else if hit {
			verdict = "hit"
		}
		fmt.Printf("| %s | %s | %s | %s |\n", r.measure, measured, r.bound, verdict)
	}
	return nil
}

// say tells a waiting person how it is going.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// pick returns full, or less in a short run.
func pick[T any](b *bench, full, short T) T {
	if b.short {
		return short
	}
	return full
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }
