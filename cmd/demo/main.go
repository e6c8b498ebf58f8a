// Command demo runs a whole kitchen to watch: the real daemon in a temporary folder, simulated
// printers, screens for a browser, and the simulated point-of-sale service, which sends the orders and
// knows the employees and the time zone.
//
//	go run ./cmd/demo          until Ctrl-C, a new order every few seconds
//	go run ./cmd/demo --once   a fixed set of orders; exits 0 only if the books balance
//
// It removes all its files at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/app"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/sim"
)

const (
	venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	staff   = 12                        // employees of the venue
	secret  = "the-demo-has-no-secrets" // of the service: both ends are this process
)

func main() {
	once := flag.Bool("once", false,
		"send a fixed set of orders, wait until all are printed, print the books, exit 0 only if they balance")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: demo [--once]")
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	// The first orders of this seed include a void and a refire.
	d := &demo{once: *once, seed: 38}
	if !*once {
		d.seed = uint64(time.Now().UnixNano()) // other orders in every run
	}

	if err := d.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// A demo is one run.
type demo struct {
	once bool
	seed uint64 // of the simulated service

	queue *queue.Queue
	admin *admin.Client // asks the daemon as the commands do

	mu sync.Mutex // guards the terminal: the printers write while the sender does
}

// say prints a paragraph without interleaving it with others.
func (d *demo) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}

// run runs the demo. It starts everything that the daemon needs before the daemon, and stops it after:
// an order that was sent must be printed, or the books would rightly not balance.
//
// Each deferred call undoes one step, in reverse order, so whatever fails, nothing of the demo is
// left running or on the disk.
func (d *demo) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "ticketrail-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	// The printers stop after the daemon, so that they receive its last bytes.
	printing, unplug := context.WithCancel(context.Background())
	var printers sync.WaitGroup
	defer func() { unplug(); printers.Wait() }()
	var bar *virtual.Printer
	at := map[string]string{} // the printers' addresses
	for name, can := range map[string]virtual.Capability{
		"grill": virtual.Everything, "cold": virtual.RealTime, "bar": virtual.Everything,
	} {
		started, address, err := d.printer(printing, &printers, name, can)
		if err != nil {
			return err
		}
		if at[name] = address; name == "bar" {
			bar = started
		}
	}

	// Before the daemon, which asks it within seconds.
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600); err != nil {
		return err
	}
	service := httptest.NewServer(sim.New(sim.Options{
		Prefix: "/api", ClientID: "demo", ClientSecret: secret, Seed: d.seed,
		Venues: []sim.Restaurant{{ID: venueID, Employees: staff}},
	}).Handler())
	defer service.Close()

	daemon, err := d.daemon(ctx, dir, at, service.URL+"/api")
	if err != nil {
		return err
	}
	return d.evening(ctx, daemon, bar)
}

// evening runs the daemon until all orders are sent or ctx ends, and prints the books.
func (d *demo) evening(ctx context.Context, daemon *app.App, bar *virtual.Printer) error {
	// Not ctx: after Ctrl-C the daemon still has to print the accepted tickets.
	serving, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- daemon.Run(serving) }()

	sendErr := d.waitForService(ctx, daemon)
	if sendErr == nil {
		sendErr = d.sendOrders(ctx, &sim.Sender{URL: webhook(daemon)}, bar)
	}
	if errors.Is(sendErr, context.Canceled) {
		sendErr = nil // Ctrl-C is the normal end
	}

	// Not longer: after Ctrl-C a ticket may wait for paper. The books then list the open ones.
	settling, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = d.settle(settling)

	// Before the daemon stops: its database is closed then.
	ok := d.books()
	stop()

	if err := errors.Join(sendErr, <-ended); err != nil {
		return err
	}

	if !ok {
		return errors.New("the books do not balance: please report this")
	}
	return nil
}

// daemon prepares the real daemon, which serves once Run is called, and prints all addresses.
func (d *demo) daemon(ctx context.Context, dir string, printers map[string]string, service string) (*app.App, error) {
	// A file, as in an installation, so that the commands of the greeting work while the demo runs.
	conf := filepath.Join(dir, "ticketrail.yaml")
	if err := os.WriteFile(conf, configuration(dir, printers, service), 0o600); err != nil {
		return nil, err
	}

	started, err := app.New(ctx, app.Options{ConfigPath: conf})
	if err != nil {
		return nil, err
	}

	d.say(greeting, started.DisplayAddr(), started.MetricsAddr(), service, conf, webhook(started), venueID)
	d.queue, d.admin = started.Queue(), admin.NewClient(filepath.Join(dir, "s"))
	return started, nil
}

// webhook is the address to which the service posts.
func webhook(daemon *app.App) string {
	return "http://" + daemon.WebhookAddr().String() + contract.PathWebhook
}

// printer starts a printer that shows its tickets on the terminal. Their proof depends on
// the questions that it can answer: confirmed by their own ids, or only sent.
func (d *demo) printer(
	ctx context.Context, wg *sync.WaitGroup, name string, can virtual.Capability,
) (*virtual.Printer, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}

	p := virtual.New(virtual.Options{Name: name, Columns: 42, Keep: 100, Kanji: true, Can: can,
		OnTicket: func(t virtual.Ticket) {
			d.say("%s", t.Draw(fmt.Sprintf("%s printer, %s", name, t.End)))
		},
	})

	wg.Go(func() { p.Serve(ctx, listener) }) // returns when ctx ends
	return p, listener.Addr().String(), nil
}

// configuration is the daemon's configuration. log.level is error, so that the log does not interrupt
// the drawn tickets. Port 0 is any that is free.
//
// It is short on purpose: it is the first configuration that a new user sees.
func configuration(dir string, printers map[string]string, service string) []byte {
	return fmt.Appendf(nil, `receiver: { listen: "127.0.0.1:0" }
metrics: { listen: "127.0.0.1:0" }
display: { listen: "127.0.0.1:0" }
admin: { socket: "%s" }
storage: { path: "%s" }
log: { level: error }
venues:
  - { id: %s, name: Harbour Grill }
printers:
  - { name: grill, address: "tcp://%s", columns: 42 }
  - { name: cold, address: "tcp://%s", columns: 42 }
  - { name: bar, address: "tcp://%s", columns: 42 }
screens:
  - { name: hot-line, title: Hot line, ack_alarms: true, warn_after: 1m, late_after: 2m, hold_for: 5s }
  - { name: pastry, title: Pastry, hold_for: 5s }
  - { name: pass, title: Pass, mode: pass, of: [hot-line, pastry] }
routes:
  - { when: 'item.courseName == "Drinks"', to: [bar] }
  - { when: 'item.courseName == "Desserts"', to: [pastry] }
  - { when: 'item.courseName == "Entrees"', to: [hot-line] }
  - { when: 'item.courseName == "Appetizers"', to: [cold] }
  - { when: 'item.courseName == "Grill"', to: [grill] }
fallback: grill
service: { base_url: "%s", client_id: demo, client_secret_file: secret }
`, filepath.Join(dir, "s"), filepath.Join(dir, "t.db"), venueID, printers["grill"], printers["cold"],
		printers["bar"], service)
}

// greeting is all that a new user needs to try something: each line can be copied.
const greeting = `ticketrail demo: the real daemon with simulated printers and a simulated service

  Ctrl-C stops the demo and removes its files.
  ▒▒ on a ticket: text whose letters the printer lacks, printed as dots.

  kitchen screens      http://%s/
    Open hot line and pass now, in windows that you see both; their orders come
    in a minute. While nobody can see a screen, grill prints its tickets.
  metrics              http://%s/metrics
  simulated service    %s
  configuration        %s

  What the commands say, in another terminal:
    go run ./cmd/ticketrail printers list --config \
      %[4]s
  An order of your own (sent twice, it prints once; no route matches: NO ROUTE):
    curl -X POST %[5]s \
      -H 'Content-Type: application/json' -H 'x-svc-device-id: my-tablet' \
      -H 'x-svc-venueid: %[6]s' \
      -d '{"records":[{"id":"my-first-order","checkNumber":1,
           "items":[{"name":"Burger","childItems":[{"name":"no onion"}]}]}]}'
`
