package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/httpserver"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// build makes the program that is measured.
func build(ctx context.Context, path string) error {
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "ticketrail/cmd/ticketrail").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build ticketrail (bench runs in a folder of its sources): %w: %s", err, out)
	}
	return nil
}

func station(i int) string { return fmt.Sprintf("s%02d", i) }

// A setup is what a daemon is configured with.
type setup struct {
	printers []string // addresses; each is a station. None: one station that nobody serves
	keys     string   // further configuration of each printer
	under    []string // a program that runs the daemon, with its arguments
}

func (s setup) yaml(store, socket string) []byte {
	if s.printers == nil {
		s.printers = []string{"127.0.0.1:9"}
	}
	printers, routes := "", ""
	for i, addr := range s.printers {
		printers += fmt.Sprintf("  - { name: %s, address: \"tcp://%s\", profile: %s, expire_after: 720h%s }\n", station(i), addr, model, s.keys)
		routes += fmt.Sprintf("  - { when: 'item.courseName == %q', to: [%s] }\n", station(i), station(i))
	}
	return fmt.Appendf(nil, `receiver: { listen: "127.0.0.1:0" }
metrics: { listen: "127.0.0.1:0" }
admin: { socket: %q }
storage: { path: %q, max_backlog: 10000000 }
venues:
  - { id: %s, name: Harbour Grill, timezone: Australia/Melbourne }
printers:
%sroutes:
%sfallback: %s
`, socket, store, venueID, printers, routes, station(0))
}

// A daemon is a process that takes orders.
type daemon struct {
	webhook, metrics string        // addresses
	ready            time.Duration // from starting the process until it said so
	pid              int
}

// daemon starts the daemon on a store, has it used, and stops it.
func (b *bench) daemon(ctx context.Context, store string, s setup, use func(*daemon) error) error {
	dir, err := os.MkdirTemp("", "trb") // a short name: sockets have at most 107 bytes
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	conf := filepath.Join(dir, "ticketrail.yaml")
	if err := os.WriteFile(conf, s.yaml(store, filepath.Join(dir, "admin")), 0o600); err != nil {
		return err
	}
	return run(ctx, append(s.under[:len(s.under):len(s.under)], b.path("ticketrail"), "serve", "--config", conf), use)
}

var readyLine = regexp.MustCompile(` msg=ready webhook=(\S+)(?: metrics=(\S+))?`)

// run starts a program, waits until it logs that it is ready, has it used, and ends it as the
// init system would.
func run(ctx context.Context, argv []string, use func(*daemon) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // nothing that makes it a different daemon
	stderr, err := cmd.StderrPipe()
	began := time.Now()
	if err := errors.Join(err, cmd.Start()); err != nil {
		return err
	}
	d, log := &daemon{pid: cmd.Process.Pid}, ""
	for lines := bufio.NewScanner(stderr); d.ready == 0 && lines.Scan(); {
		log += lines.Text() + "\n"
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			d.ready, d.webhook, d.metrics = time.Since(began), m[1], m[2]
		}
	}
	if d.ready == 0 {
		return fmt.Errorf("%s did not start: %v: %s", argv[0], cmd.Wait(), log)
	}
	go io.Copy(io.Discard, stderr)
	err = use(d)
	stop()
	if e := cmd.Wait(); !errors.Is(e, context.Canceled) { // that is an orderly end
		err = errors.Join(err, fmt.Errorf("%s ended: %v", argv[0], e))
	}
	return err
}

// modeForget makes this program a receiver that stores nothing: the daemon without a queue and
// what comes after it.
const modeForget = "forget-for-bench"

type forgets struct{}

func (forgets) Accept(_ context.Context, r ticket.Request) (ticket.Receipt, error) {
	return ticket.Receipt{Jobs: len(r.Drafts)}, nil
}

func forget(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	rules, err := plan.Compile(plan.Config{Fallback: station(0), Routes: []plan.Route{
		{When: fmt.Sprintf("item.courseName == %q", station(0)), To: []string{station(0)}},
	}})
	if err != nil {
		return err
	}
	r, err := receiver.New(receiver.Options{
		Intake: forgets{}, Logger: log, Registerer: prometheus.NewRegistry(),
		Policy: &receiver.Policy{
			Plan:   rules,
			Venues: []receiver.Venue{{Venue: plan.Venue{ID: venueID, Name: "Harbour Grill", Zone: "Australia/Melbourne"}}},
		},
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	log.Info("ready", "webhook", l.Addr())
	return httpserver.Serve(ctx, l, r.HTTPServer(), httpserver.Options{Grace: contract.WebhookTimeout})
}

// metrics is what the daemon says of itself, by series.
type metrics map[string]float64

func (d *daemon) scrape() (metrics, error) {
	resp, err := http.Get("http://" + d.metrics + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	m := metrics{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		at := max(0, strings.LastIndexByte(lines.Text(), ' '))
		if v, err := strconv.ParseFloat(strings.TrimSpace(lines.Text()[at:]), 64); err == nil {
			m[lines.Text()[:at]] = v
		}
	}
	return m, lines.Err()
}

// sum adds up the series of a metric that have a label.
func (m metrics) sum(name, label string, value ticket.State) (sum float64) {
	for series, v := range m {
		if of, labels, _ := strings.Cut(series, "{"); of == name && strings.Contains(labels, fmt.Sprintf("%s=%q", label, value)) {
			sum += v
		}
	}
	return sum
}

// open counts the tickets that are not finished.
func (m metrics) open() int {
	const name, label = "ticketrail_queue_jobs", "state"
	return int(m.sum(name, label, ticket.Pending) + m.sum(name, label, ticket.Held) + m.sum(name, label, ticket.Printing))
}

const commitSeconds = "ticketrail_queue_commit_seconds"

// quiet waits until the daemon commits nothing: what a start brings with it is done.
func (d *daemon) quiet(ctx context.Context) error {
	last, since := -1.0, time.Now()
	for time.Since(since) < 300*time.Millisecond {
		m, err := d.scrape()
		if err := errors.Join(err, pause(ctx, 20*time.Millisecond)); err != nil {
			return err
		}
		if n := m[commitSeconds+"_count"]; n != last {
			last, since = n, time.Now()
		}
	}
	return nil
}
