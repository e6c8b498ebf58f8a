// Command bench measures whether a kitchen can rely on ticketrail being fast: the cost of a durable
// answer, how soon the daemon is ready after a power cut, how much memory it holds, whether
// fifty printers are as fast as one.
//
//	go run ./cmd/bench              every row, about ten minutes
//	go run ./cmd/bench --only ack   one row
//
// The daemon is the real program, in its own process. The load generator and the simulated
// printers run in this process, on the same cores. The cost of durability is given in commits:
// one bbolt transaction that writes as much as one order, on the same disk in the same run.
// Absolute numbers of different runs or machines cannot be compared, the ratios can. A row that
// cannot be measured says so, and why. README.md explains how to read the table. Single steps
// have Go benchmarks in their packages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	run := measure
	if len(os.Args) == 2 && os.Args[1] == modeNoStorage {
		run = serveWithoutStorage
	}

	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A bench is one run.
type bench struct {
	ctx      context.Context  // ends when the run is interrupted
	dir      string           // temporary, removed at the end; every file of the run is in it
	disk     *yardstick       // on the disk that is measured
	stores   map[store]string // the path of each store that a row has needed so far
	cleanups []func() error
}

// A row is one line of the table. It fails by check, as a test fails by testing.T.Fatal.
type row struct {
	name           string // for --only
	measure, bound string
	run            func(*bench) result
}

// A result is a row's text, and whether it is within the row's bound.
type result struct {
	measured string
	hit      bool
}

var rows = []row{
	{"durable", "durable acks/s, 256 connections ÷ the same with nothing stored", "≥ 0.40", (*bench).durable},
	{"log", "the same with the log of requests ÷ without it", "≥ 0.90", (*bench).log},
	{"full", "the same with a million keys and 50,000 jobs ÷ empty", "≥ 0.75", (*bench).full},
	{"ack", "p50 ack, one connection ÷ one commit", "≤ 2.5", (*bench).ack},
	{"busy", "p99 ack at 50/s while ten stations settle ten tickets/s each", "≤ 8 commits", (*bench).busy},
	{"slowdisk", "p99 ack at 200/s when each commit takes 100 ms", "≤ 250 ms", (*bench).slowDisk},
	{"start", "start to ready, cold, 20,000 keys and 10,000 jobs", "≤ 1 s", (*bench).readiness},
	{"memory", "anonymous memory, a million keys and 50,000 jobs", "≤ 64 MB", (*bench).memory},
	{"fifty", "50 printers at once ÷ one alone", "≥ 0.95", (*bench).fifty},
}

// notMeasured is an error that says why this machine cannot measure a row. It ends the row and
// not the run: a table with a hole is honest, a table with a guess is not.
type notMeasured string

func (n notMeasured) Error() string { return string(n) }

// measure runs the rows and prints them as a Markdown table.
func measure(ctx context.Context) (err error) {
	run := &bench{ctx: ctx, stores: map[store]string{}}
	parent := flag.String("dir", "/var/tmp", "`folder` on the disk to measure; a temporary folder is made in it")
	only := flag.String("only", "", "measure one `row`: durable, log, full, ack, busy, slowdisk, start, memory, fifty")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%s: no argument is expected; see --help", flag.Arg(0))
	}

	chosen := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return *only != "" && *only != r.name })
	if len(chosen) == 0 {
		return fmt.Errorf("--only %s: there is no such row, see --help", *only)
	}

	if run.dir, err = os.MkdirTemp(*parent, "ticketrail-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(run.dir)) }()

	// sleepUntil blocks one processor in a system call. One more keeps the others busy.
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)

	began := time.Now()
	if _, err := run.try((*bench).prepare); err != nil {
		return err
	}

	fmt.Printf("\n| measure | measured | must be | |\n|---|---|---|---|\n")
	for _, r := range chosen {
		fmt.Fprintf(os.Stderr, "%s ...\n", r.name)
		result, err := run.try(r.run)

		verdict := "miss"
		if why, ok := errors.AsType[notMeasured](err); ok {
			verdict, result.measured = "not measured", why.Error()
		} else if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		} else if result.hit {
			verdict = "hit"
		}
		fmt.Printf("| %s | %s | %s | %s |\n", r.measure, result.measured, r.bound, verdict)
	}

	fmt.Fprintf(os.Stderr, "took %s\n", time.Since(began).Round(time.Second))
	return nil
}

// prepare compiles the daemon and prints the basis of the absolute numbers: the processor and the disk.
func (b *bench) prepare() (none result) {
	build := exec.CommandContext(b.ctx, "go", "build", "-o", b.path("ticketrail"), "ticketrail/cmd/ticketrail")
	if out, err := build.CombinedOutput(); err != nil {
		check(fmt.Errorf("build ticketrail (run bench in a folder of its sources): %w: %s", err, out))
	}

	b.disk = newYardstick(b.path("yardstick.db"))
	file := must(os.Create(b.path("fsync")))
	defer file.Close()

	var commit, fsync samples
	commit, fsync = inTurns(b, 500, b.commit, timed(func() error {
		_, err := file.WriteAt(make([]byte, 4096), 0)
		return errors.Join(err, file.Sync())
	}))

	fmt.Printf("This run: %d cores of %s, %s; one commit takes %s (p99 %s), one fsync %s (p99 %s).\n",
		runtime.NumCPU(), procField("/proc/cpuinfo", "model name"), runtime.Version(),
		commit.p50(), commit.p99(), fsync.p50(), fsync.p99())
	return none
}

// procField is the value of the first line "key : value" of a file in /proc.
func procField(path, key string) string {
	text, _ := os.ReadFile(path)

	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// A failure is the value with which check panics.
type failure struct{ error }

// check ends the row if err is not nil. Only the goroutine of the row may call it.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must is check for a call that returns a value.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// try runs a row, returns the error that it failed by, and stops the programs that the row has started.
func (b *bench) try(run func(*bench) result) (r result, err error) {
	defer func() {
		panicked := recover()
		failed, ok := panicked.(failure)
		if panicked != nil && !ok {
			panic(panicked)
		}
		err = errors.Join(failed.error, b.cleanUp())
	}()
	return run(b), nil
}

// cleanUp stops the programs started since the last call, the newest first.
func (b *bench) cleanUp() (err error) {
	for _, f := range slices.Backward(b.cleanups) {
		err = errors.Join(err, f())
	}
	b.cleanups = nil
	return err
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }
