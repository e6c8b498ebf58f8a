// Command bench measures whether the kitchen can rely on ticketrail being quick: how much a
// durable answer costs over the handler alone, how long a cook waits for the first byte,
// how soon the daemon is back after a power cut, what it keeps in memory, what a ticket costs
// until it is bytes, whether fifty printers are as quick as one, and how soon a ticket is on a
// screen.
//
//	go run ./cmd/bench             every row, about twenty minutes
//	go run ./cmd/bench --quick     smaller counts; for a look, not for a claim
//	go run ./cmd/bench --row 2 --row 8
//
// What is durable is compared with a commit: one bbolt Update that puts the same records,
// on the same disk, in the same run, taking turns with what is measured. Figures of
// different runs or machines are not comparable, the ratios are. A row that cannot be
// measured says so and why.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if code, ok := bePart(ctx, os.Args[1:]); ok {
		os.Exit(code)
	}
	b := &bench{progress: os.Stderr}
	asJSON, err := b.flags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if err := b.run(ctx, os.Stdout, asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bePart is what this program does as a process that a row has started; ok is false when it is
// the bench itself.
func bePart(ctx context.Context, args []string) (code int, ok bool) {
	switch {
	case len(args) == 2 && args[0] == modeServe:
		return beDaemon(ctx, args[1]), true
	case len(args) == 2 && args[0] == modePrint:
		return beFifty(ctx, args[1]), true
	case len(args) == 3 && args[0] == "db" && args[1] == "check":
		return beChecker(args[2]), true
	}
	return 0, false
}

// A bench is one run.
type bench struct {
	parent   string // where the temporary folder goes
	dir      string // the temporary folder: every database of the run
	quick    bool
	only     []int
	profiles string // folder; empty: none
	progress io.Writer
	ids      atomic.Uint64 // every request of the run gets its own

	million string // the large store, once a row has needed it
}

func (b *bench) flags(args []string) (asJSON bool, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&b.parent, "dir", "", "`folder` on the disk to measure; a temporary folder in it is used and removed (default: that of the system, or /var/tmp where that one is in memory)")
	f.BoolVar(&b.quick, "quick", false, "smaller counts and fewer keys")
	f.StringVar(&b.profiles, "profile", "", "`folder` for a CPU profile of each row")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.Func("row", "measure only row `N`; may be repeated", func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > len(rows()) {
			return fmt.Errorf("want 1 to %d", len(rows()))
		}
		b.only = append(b.only, n)
		return nil
	})
	if err := f.Parse(args); err != nil {
		return false, err
	}
	if f.NArg() > 0 {
		return false, fmt.Errorf("%q: bench takes no arguments, see --help", f.Arg(0))
	}
	return asJSON, nil
}

// A report is everything that is printed.
type report struct {
	Machine machine       `json:"machine"`
	Quick   bool          `json:"quick"`
	Rows    []result      `json:"rows"`
	Took    time.Duration `json:"took_ns"`
}

func (b *bench) run(ctx context.Context, out io.Writer, asJSON bool) (err error) {
	if b.parent == "" {
		b.parent = onDisk(os.TempDir(), "/var/tmp")
	}
	if b.dir, err = os.MkdirTemp(b.parent, "ticketrail-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	began := time.Now()
	r := report{Machine: inspect(b.dir), Quick: b.quick}
	for _, m := range rows() {
		if len(b.only) > 0 && !slices.Contains(b.only, m.n) {
			continue
		}
		res, err := b.measure(ctx, m)
		if err != nil {
			return fmt.Errorf("row %d, %s: %w", m.n, m.name, err)
		}
		r.Rows = append(r.Rows, res)
	}
	slices.SortFunc(r.Rows, func(x, y result) int { return x.Row - y.Row })
	r.Took = time.Since(began)
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return r.print(out)
}

// A measure is one row of the table.
type measure struct {
	n     int
	name  string
	limit string
	run   func(*bench, context.Context) (finding, error)
}

// rows lists the table in the order of measuring: what the large store is needed for comes
// last, and what adds to it comes after what wants it as it was.
func rows() []measure {
	return []measure{
		{1, "durable acks/s at 256 connections ÷ the same with an Accept that stores nothing", "≥ 0.40 (aim 0.60)", (*bench).durableAcks},
		{2, "p50 ack with 1 connection ÷ one commit", "≤ 1.5", (*bench).oneConnection},
		{3, "p99 ack at 50 requests/s while ten stations settle ten tickets/s each", "≤ 3 commits", (*bench).busyKitchen},
		{7, "p99 ack at 200 requests/s when each commit takes 100 ms", "≤ 250 ms", (*bench).slowDisk},
		{8, "accept → first ticket byte on the printer's wire, idle, p99", "≤ 3 commits + 5 ms", (*bench).firstByte},
		{9, "encode a ticket of 20 lines", "p50 ≤ 50 µs", (*bench).encoding},
		{10, "draw a line of print as dots", "p50 ≤ 2 ms", (*bench).rasterLine},
		{11, "ask for 10,000 employees page by page and store them", "≤ 2 s, look-ups without allocation", (*bench).employees},
		{12, "slowest of 50 printers at 10 tickets/s each ÷ one of them alone at its 10 tickets/s", "≥ 0.95", (*bench).fiftyPrinters},
		{13, "accept → drawn and acknowledged by a screen, 200 open tickets, 5 screens, p99", "≤ 300 ms", (*bench).acceptToScreen},
		{14, "an idle page with 200 open tickets costs the server", "< 1 KB/s", (*bench).idlePage},
		{15, "anonymous memory with 50 screens and 200 open tickets", "≤ 64 MB", (*bench).fiftyScreens},
		{5, "start to ready, cold page cache, 20,000 keys and 10,000 jobs", "≤ 1 s", (*bench).coldStart},
		{6, "anonymous memory with a million keys and 50,000 jobs", "≤ 40 MB", (*bench).memory},
		{4, "acks/s at 256 connections with 1 million dedup keys and 50,000 jobs waiting ÷ the same when empty", "≥ 0.85", (*bench).fullStore},
	}
}

func (b *bench) measure(ctx context.Context, m measure) (result, error) {
	b.say("row %d: %s", m.n, m.name)
	stop, err := b.profile(m.n)
	if err != nil {
		return result{}, err
	}
	before := readProcessor()
	f, err := m.run(b, ctx)
	after := readProcessor()
	err = errors.Join(err, stop())
	res := result{Row: m.n, Measure: m.name, Limit: m.limit, finding: f, Verdict: f.verdict(), Load: after.since(before)}
	if no, ok := errors.AsType[*notMeasured](err); ok {
		res.Verdict, res.Measured, err = verdictNone, no.Error(), nil
	}
	b.say("row %d: %s after %.0f s: %s", m.n, res.Verdict, after.at.Sub(before.at).Seconds(), res.Measured)
	return res, err
}

// notMeasured says why this machine cannot measure a row.
type notMeasured struct{ why string }

func (n *notMeasured) Error() string { return "not measured: " + n.why }

func (b *bench) profile(row int) (stop func() error, err error) {
	if b.profiles == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(filepath.Join(b.profiles, fmt.Sprintf("row%d.pprof", row)))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, strings.TrimSuffix(format, "\n")+"\n", args...)
}

// pick returns full, or less in a quick run.
func pick[T any](b *bench, full, quick T) T {
	if b.quick {
		return quick
	}
	return full
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }
