package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"ticketrail/cmd/internal/httpserver"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
	"ticketrail/receiver/contract"
)

func station(i int) string { return fmt.Sprintf("s%02d", i) }

// A setup is how a daemon is configured and started.
type setup struct {
	store    string   // path of the database
	copy     string   // folder of its copies; empty: the default
	cold     bool     // the page cache is empty, as after a power cut
	printers []string // addresses; each is a station. None: one station whose printer is switched off
	runner   []string // a program that runs the daemon, with its arguments
}

// yaml is the configuration: a station for each printer, a route for each course that an order names.
func (s setup) yaml(socket string) []byte {
	if s.printers == nil {
		s.printers = []string{"127.0.0.1:9"}
	}

	printers, routes := "", ""
	for i, addr := range s.printers {
		printers += fmt.Sprintf("  - { name: %s, address: \"tcp://%s\", profile: %s, expire_after: 720h }\n",
			station(i), addr, model)
		routes += fmt.Sprintf("  - { when: 'item.courseName == %q', to: [%s] }\n", station(i), station(i))
	}

	// The load comes from one address, which is allowed fewer connections unless it is a proxy's.
	return fmt.Appendf(nil, `receiver: { listen: "127.0.0.1:0", trusted_proxies: [127.0.0.1/32] }
metrics: { listen: "127.0.0.1:0" }
admin: { socket: %q }
storage: { path: %q, copy: %q, max_backlog: 10000000 }
venues:
  - { id: %s, name: Harbour Grill, timezone: Australia/Melbourne }
printers:
%sroutes:
%sfallback: %s
`, socket, s.store, s.copy, venueID, printers, routes, station(0))
}

// A daemon is a process that takes orders.
type daemon struct {
	webhook, metrics string        // addresses
	ready            time.Duration // from starting the process until it logged that it is ready
	pid              int
}

// daemon starts the daemon. The next cleanUp stops it.
func (b *bench) daemon(s setup) *daemon {
	// The kernel allows 107 bytes for the path of a socket, which --dir could exceed.
	dir := must(os.MkdirTemp("", "trb"))
	b.cleanups = append(b.cleanups, func() error { return os.RemoveAll(dir) })
	conf := filepath.Join(dir, "ticketrail.yaml")
	check(os.WriteFile(conf, s.yaml(filepath.Join(dir, "admin")), 0o600))
	return b.start(append(slices.Clone(s.runner), b.path("ticketrail"), "serve", "--config", conf)...)
}

// readyLine is the log line of a daemon that is ready. It has the ports that the kernel chose.
var readyLine = regexp.MustCompile(` msg=ready webhook=(\S+)(?: metrics=(\S+))?`)

// start starts a program and waits until it logs that it is ready. The next cleanUp ends it as
// the init system would.
func (b *bench) start(argv ...string) *daemon {
	ctx, stop := context.WithCancel(b.ctx)

	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // no GOGC or the like: the daemon as it ships
	stderr, began := must(cmd.StderrPipe()), time.Now()

	check(cmd.Start())

	b.cleanups = append(b.cleanups, func() error {
		stop()
		if err := cmd.Wait(); !errors.Is(err, context.Canceled) { // which Wait returns after an orderly end
			return fmt.Errorf("%s ended: %v", argv[0], err)
		}
		return nil
	})

	started, log := &daemon{pid: cmd.Process.Pid}, ""
	for lines := bufio.NewScanner(stderr); started.ready == 0 && lines.Scan(); {
		log += lines.Text() + "\n"
		if match := readyLine.FindStringSubmatch(lines.Text()); match != nil {
			started.ready, started.webhook, started.metrics = time.Since(began), match[1], match[2]
		}
	}

	if started.ready == 0 {
		check(fmt.Errorf("%s did not start: %s", argv[0], log))
	}

	go io.Copy(io.Discard, stderr) // a full pipe would block the daemon
	return started
}

// model is the model of all printers. It answers every question, so each ticket is confirmed.
const model = "epson-tm-t88"

// A daemonWithPrinters is a daemon and its simulated printers. They print as fast as the
// computer can, so the daemon is measured.
type daemonWithPrinters struct {
	*daemon
	ctx      context.Context // of the run
	printers []*printer
	tickets  int // ordered so far
}

// A printer notes when each ticket comes out.
type printer struct {
	*virtual.Printer

	mu  sync.Mutex  // guards out
	out []time.Time // when each ticket of the current load came out, in order
}

// withPrinters starts n printers and a daemon with a new store, and prints one ticket on each
// printer. That is not measured: before it the daemon probes the printer. The next
// cleanUp stops all, and fails if a printer found an error in its bytes.
func (b *bench) withPrinters(n int, s setup) *daemonWithPrinters {
	kitchen := &daemonWithPrinters{ctx: b.ctx}
	like, _ := profile.Lookup(model) // the daemon does not start if there is no such profile
	ctx, switchOff := context.WithCancel(b.ctx)
	var serving sync.WaitGroup

	for range n {
		listener := must(net.Listen("tcp", "127.0.0.1:0"))
		printing, options := &printer{}, virtual.OptionsFor(like)
		options.Keep, options.Remembers = 1, true
		options.OnTicket = func(virtual.Ticket) {
			printing.mu.Lock()
			defer printing.mu.Unlock()
			printing.out = append(printing.out, time.Now())
		}
		printing.Printer = virtual.New(options)
		serving.Go(func() { _ = printing.Serve(ctx, listener) })
		kitchen.printers, s.printers = append(kitchen.printers, printing), append(s.printers, listener.Addr().String())
	}

	b.cleanups = append(b.cleanups, func() (err error) {
		switchOff()
		serving.Wait()
		for _, p := range kitchen.printers {
			if list := p.Problems(); len(list) > 0 {
				err = fmt.Errorf("a printer found %d errors in what it got, the first: %s", len(list), list[0])
			}
		}
		return err
	})

	s.store = b.path(fmt.Sprintf("printers-%d.db", time.Now().UnixNano()))
	kitchen.daemon = b.daemon(s)
	kitchen.print(atRate(ordersFor(n, 0), n, time.Second))
	return kitchen
}

// waitSettled waits until every ordered ticket is on paper, exactly once, and the daemon knows it.
func (d *daemonWithPrinters) waitSettled() {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		figures, printed := d.scrape(), 0
		confirmed := int(figures.sum(`ticketrail_station_tickets_total\{.*outcome="confirmed".*\}`))
		for _, p := range d.printers {
			printed += p.TicketCount()
		}

		if printed == d.tickets && confirmed == d.tickets && figures.open() == 0 {
			return
		}

		if time.Since(began) > time.Minute {
			check(fmt.Errorf("a minute after %d tickets were ordered %d are on paper, %d confirmed, %d open",
				d.tickets, printed, confirmed, figures.open()))
		}
	}
}

// printed has the answers to a load and its printed tickets.
type printed struct {
	ack     samples
	slowest float64 // tickets in time per second, of the slowest printer that the load had orders for
}

// gather joins the acks of some loads, and lists the slowest printer of each.
func gather(all []printed) (ack samples, slowest []float64) {
	for _, p := range all {
		ack, slowest = append(ack, p.ack...), append(slowest, p.slowest)
	}
	return ack, slowest
}

// print posts a load and waits until every ticket of it is out. A ticket is in time if it is out
// before the load has lasted its time, from the first order for the printer; orders[i] has
// a ticket for printer i.
func (d *daemonWithPrinters) print(l *load) printed {
	result := printed{must(l.run(d.ctx, d.webhook)), math.Inf(1)}
	d.tickets += len(result.ack) * l.orders[0].tickets

	d.waitSettled()
	for i := range l.orders {
		printing := d.printers[i]
		printing.mu.Lock()
		printedBy, _ := slices.BinarySearchFunc(printing.out, l.due(i).Add(l.lasts), time.Time.Compare)
		printing.out = nil
		printing.mu.Unlock()
		result.slowest = min(result.slowest, float64(printedBy)/l.lasts.Seconds())
	}

	return result
}

// modeNoStorage makes this program an endpoint that stores nothing.
const modeNoStorage = "no-storage-for-bench"

// serveWithoutStorage does the least that an endpoint in Echo can do: it reads the body, parses it and answers.
func serveWithoutStorage(ctx context.Context) error {
	server := echo.New()
	server.Use(middleware.Recover())
	server.POST(contract.PathWebhook, func(c echo.Context) error {
		body, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, 1<<20))
		var request map[string]any
		if err = errors.Join(err, json.Unmarshal(body, &request)); err != nil {
			return c.String(http.StatusBadRequest, err.Error())
		}
		return c.JSONBlob(http.StatusOK, []byte(storedAnswer+"1}"))
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	slog.New(slog.NewTextHandler(os.Stderr, nil)).Info("ready", "webhook", listener.Addr())
	srv := &http.Server{Handler: server, ReadHeaderTimeout: patience}
	return httpserver.Serve(ctx, listener, srv, httpserver.Options{Grace: contract.WebhookTimeout})
}

// metrics is the daemon's metrics page.
type metrics string

func (d *daemon) scrape() metrics {
	resp := must(http.Get("http://" + d.metrics + "/metrics"))
	defer resp.Body.Close()
	return metrics(must(io.ReadAll(resp.Body)))
}

// sum adds up the series that match a pattern.
func (m metrics) sum(series string) (sum float64) {
	for _, found := range regexp.MustCompile(`(?m)^`+series+` (\S+)$`).FindAllStringSubmatch(string(m), -1) {
		sum += must(strconv.ParseFloat(found[1], 64))
	}
	return sum
}

// open counts the tickets that are not finished.
func (m metrics) open() int {
	return int(m.sum(`ticketrail_queue_jobs\{.*state="(?:pending|held|printing)".*\}`))
}

// waitIdle waits until the daemon has not committed for 300 ms: it has finished the work of
// a start, such as removing old keys, which would slow down the measurement.
func (d *daemon) waitIdle() {
	for last := -1.0; ; time.Sleep(300 * time.Millisecond) {
		commits := d.scrape().sum("ticketrail_queue_commit_seconds_count")
		if commits == last {
			return
		}
		last = commits
	}
}
