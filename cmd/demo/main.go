// Command demo is a whole kitchen you can watch: the real daemon in a temporary folder,
// two printers without paper, a screen for your browser, and the point-of-sale service, simulated: it sends the orders,
// and tells the daemon who its employees are and what time it is there.
//
//	go run ./cmd/demo          until Ctrl-C, a new order every few seconds
//	go run ./cmd/demo --once   a fixed batch; exits 0 only if the books balance
//
// Nothing of it stays behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/app"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/receiver/sim"
)

func main() {
	once := flag.Bool("once", false, "send a fixed batch, wait until all of it is out, print the books, exit 0 only if they balance")
	every := flag.Duration("every", 6*time.Second, "time between two orders")
	pictures := flag.String("png", "", "folder for a picture of each piece of paper, as the printer would cut it; it is left behind")
	flag.Parse()
	if flag.NArg() > 0 || *every <= 0 {
		fmt.Fprintln(os.Stderr, "usage: demo [--once] [--every 6s] [--png FOLDER]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := &demo{out: os.Stdout, colour: term.IsTerminal(int(os.Stdout.Fd())), once: *once, every: *every, pictures: *pictures, seed: 146} // an evening with a bit of everything
	if !*once {
		d.seed = uint64(time.Now().UnixNano()) // another evening each time
	}
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// A demo is one evening.
type demo struct {
	colour, once bool
	every        time.Duration
	seed         uint64 // of the simulated service
	pictures     string // folder for what comes out as a picture; empty: none

	queue *queue.Queue
	desk  *admin.Client // what the command line asks
	due   [2]int        // pieces of paper that should be out of grill and bar

	mu  sync.Mutex // guards out: printers draw while the sender talks
	out io.Writer
}

// said prints a paragraph whole, whoever else is printing.
func (d *demo) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.out, format+"\n", args...)
}

func (d *demo) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "ticketrail-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	// The printers outlive the daemon, so that they take the last bytes.
	printing, unplug := context.WithCancel(context.Background())
	var printers sync.WaitGroup
	defer func() { unplug(); printers.Wait() }()
	grill, grillAt, err := d.printer(printing, &printers, "grill")
	if err != nil {
		return err
	}
	bar, barAt, err := d.printer(printing, &printers, "bar")
	if err != nil {
		return err
	}

	serviceAt, end, err := d.service(filepath.Join(dir, "secret"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	a, err := d.daemon(ctx, dir, grillAt, barAt, serviceAt)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(serving) }()

	sendErr := d.learned(ctx, a)
	if sendErr == nil {
		url := "http://" + a.WebhookAddr().String() + path
		sendErr = d.evening(ctx, &sender{sim.Sender{URL: url}, d.say}, grill, bar)
	}
	if errors.Is(sendErr, context.Canceled) {
		sendErr = nil // Ctrl-C is how an evening ends
	}
	settle(a.Queue())
	ok := d.books(a.Queue())
	stop()
	if err := errors.Join(sendErr, <-ended); err != nil {
		return err
	}
	if !ok {
		return errors.New("the books do not balance: please report this")
	}
	return nil
}

// daemon is the real one, which serves when it is run, and says where everything is.
func (d *demo) daemon(ctx context.Context, dir, grillAt, barAt, serviceAt string) (*app.App, error) {
	var at [3]net.Listener // webhook, metrics, display
	for i, usual := range []string{"127.0.0.1:8443", "127.0.0.1:9321", "127.0.0.1:9322"} {
		var err error
		if at[i], err = listen(usual); err != nil {
			for _, l := range at[:i] {
				err = errors.Join(err, l.Close())
			}
			return nil, err
		}
	}
	conf := filepath.Join(dir, "ticketrail.yaml")
	if err := os.WriteFile(conf, configuration(dir, at[0], at[1], at[2], grillAt, barAt, serviceAt), 0o600); err != nil {
		return nil, errors.Join(err, at[0].Close(), at[1].Close(), at[2].Close())
	}
	a, err := app.New(ctx, app.Options{ConfigPath: conf, Webhook: at[0], Metrics: at[1], Display: at[2]})
	if err != nil {
		return nil, err
	}
	url := "http://" + a.WebhookAddr().String() + path
	d.say(greeting, a.DisplayAddr(), conf, url, venueID, url, a.MetricsAddr(), conf, serviceAt, conf)
	d.queue, d.desk = a.Queue(), admin.NewClient(filepath.Join(dir, "s"))
	return a, nil
}

// printer starts a printer that draws what comes out of it.
func (d *demo) printer(ctx context.Context, wg *sync.WaitGroup, name string) (*virtual.Printer, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	p := virtual.New(virtual.Options{Name: name, Columns: 42, Keep: 100, Kanji: true, Can: virtual.Everything, OnTicket: func(t virtual.Ticket) {
		d.say("%s", t.Draw(fmt.Sprintf("%s printer, %s", name, t.End), d.colour))
		if err := d.picture(name, t); err != nil {
			d.say("no picture: %v", err)
		}
	}})
	wg.Go(func() { p.Serve(ctx, l) }) // returns when ctx ends
	return p, l.Addr().String(), nil
}

// picture keeps what a printer's paper looks like, letters drawn as dots included, which a
// terminal cannot show. Printers call it one ticket at a time each.
func (d *demo) picture(printer string, t virtual.Ticket) error {
	if d.pictures == "" {
		return nil
	}
	if err := os.MkdirAll(d.pictures, 0o755); err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.png", t.At.Format("150405.000000"), printer)
	return os.WriteFile(filepath.Join(d.pictures, name), t.PNG(0), 0o644)
}

// listen takes the usual port if it is free, else any.
func listen(usual string) (net.Listener, error) {
	if l, err := net.Listen("tcp", usual); err == nil {
		return l, nil
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

func configuration(dir string, webhook, metrics, display net.Listener, grill, bar, service string) []byte {
	return fmt.Appendf(nil, `receiver: { listen: "%s" }
metrics: { listen: "%s" }
display: { listen: "%s" }
admin: { socket: "%s" }
storage: { path: "%s" }
log: { level: error }
venues:
  - { id: %s, name: Harbour Grill }
printers:
  - { name: grill, address: "tcp://%s", columns: 42 }
  - { name: bar, address: "tcp://%s", columns: 42 }
screens:
  - { name: pastry, title: Pastry, hold_for: 5s }
routes:
  - { when: 'item.courseName == "Drinks"', to: [bar] }
  - { when: 'item.courseName == "Desserts"', to: [pastry] }
  - { when: 'item.courseName in ["Appetizers", "Entrees"]', to: [grill] }
fallback: grill
service: { base_url: "%s", client_id: demo, client_secret_file: secret }
`, webhook.Addr(), metrics.Addr(), display.Addr(), filepath.Join(dir, "s"), filepath.Join(dir, "t.db"), venueID, grill, bar, service)
}

const greeting = `ticketrail demo: the real daemon, two printers without paper, a screen, and the service that sends the orders.

  the screen     http://%s/ shows desserts; while nobody looks they come out of the grill
  configuration  %s
  webhook        %s
  post your own  curl -X POST -H 'Content-Type: application/json' -H 'x-svc-venueid: %s' \
                   -H 'x-svc-device-id: my-tablet' %s \
                   -d '{"records":[{"id":"my-first-order","checkNumber":1,"items":[{"name":"Burger","childItems":[{"name":"no onion"}]}]}]}'
                 (post it twice: it prints once; it fits no route, so it says NO ROUTE)
  metrics        http://%s/metrics
  ask it         go run ./cmd/ticketrail printers list --config %s
  the service    %s, simulated
                 go run ./cmd/ticketrail venues check --config %s
  Ctrl-C         ends it, prints the books and leaves nothing behind
`
