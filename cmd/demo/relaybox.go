package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"ticketrail/cmd/internal/app"
	"ticketrail/printer/virtual"
	"ticketrail/receiver/relay"
)

// A box is the daemon of one venue, with its printers. It has no webhook: all its orders come from the relay.
type box struct {
	r           *relayDemo
	venue, name string
	stations    []string
	addresses   []string // of the printers

	app  *app.App
	halt context.CancelFunc
	done chan error
}

// printer is the name of a printer, for people.
func (b *box) printer(station string) string { return b.name + ", " + station }

func (b *box) path(name string) string { return filepath.Join(b.r.dir, b.venue, name) }

// orderNumber is the number of an order on a ticket.
var orderNumber = regexp.MustCompile(`(?m)^#(\d+)`)

// plugIn starts the printers of the box, and writes its credentials and its configuration.
func (b *box) plugIn(ctx context.Context, wg *sync.WaitGroup) error {
	for _, s := range b.stations {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		p := virtual.New(virtual.Options{Name: s, Columns: 42, Keep: 1, Can: virtual.Everything,
			OnTicket: func(t virtual.Ticket) {
				b.r.mu.Lock()
				for _, m := range orderNumber.FindAllStringSubmatch(t.Text, -1) {
					b.r.paper[b.printer(s)] = append(b.r.paper[b.printer(s)], m[1])
				}
				b.r.mu.Unlock()
				b.r.say("%s", t.Draw(b.printer(s), b.r.colour))
			}})
		wg.Go(func() { p.Serve(ctx, l) }) // returns when ctx ends
		b.addresses = append(b.addresses, l.Addr().String())
	}
	return os.MkdirAll(b.path(""), 0o700)
}

// register does what "ticketrail relay venues add" does, and puts the credentials on the box.
func (b *box) register(ctx context.Context) error {
	account, err := b.r.access.VenueAccount(b.venue, time.Now(), true)
	if err != nil {
		return err
	}
	if _, _, err = b.r.access.Push(ctx, b.r.urls, account); err != nil {
		return err
	}
	credentials, user, err := b.r.access.Box(b.venue)
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.path("box.creds"), credentials, 0o600); err != nil {
		return err
	}
	return b.r.asks.PutVenue(ctx, relay.Venue{ID: b.venue, Name: b.name, Timezone: "Australia/Melbourne", User: user})
}

// configuration is that of the box. Routes: the first printer gets what no other does.
func (b *box) configuration() []byte {
	conf := fmt.Appendf(nil, `receiver: { listen: "" }
source: { nats: [%q, %q, %q], creds_file: %q }
metrics: { listen: "" }
display: { listen: "" }
admin: { socket: %q }
storage: { path: %q }
log: { level: error }
venues:
  - { id: %s, name: %s, timezone: Australia/Melbourne }
fallback: %s
`, b.r.urls[0], b.r.urls[1], b.r.urls[2], b.path("box.creds"), b.path("s"), b.path("t.db"), b.venue, b.name,
		b.stations[0])
	conf = append(conf, "printers:\n"...)
	for i, s := range b.stations {
		conf = fmt.Appendf(conf, "  - { name: %s, address: \"tcp://%s\", columns: 42 }\n", s, b.addresses[i])
	}
	conf = append(conf, "routes:\n"...)
	for course, at := range map[string]int{"Drinks": len(b.stations) - 1, "Grill": 0} {
		conf = fmt.Appendf(conf, "  - { when: 'item.courseName == %q', to: [%s] }\n", course, b.stations[at])
	}
	return conf
}

// start switches the box on.
func (b *box) start(ctx context.Context) (err error) {
	conf := b.path("ticketrail.yaml")
	if err := os.WriteFile(conf, b.configuration(), 0o600); err != nil {
		return err
	}
	if b.app, err = app.New(ctx, app.Options{ConfigPath: conf}); err != nil {
		return fmt.Errorf("start the box of %s: %w", b.name, err)
	}
	// Not ctx: after Ctrl-C the box still has to print what it has accepted.
	running, halt := context.WithCancel(context.Background())
	b.halt, b.done = halt, make(chan error, 1)
	go func() { b.done <- b.app.Run(running) }()
	return nil
}

// stop switches the box off. It may be off already.
func (b *box) stop() error {
	if b.halt == nil {
		return nil
	}
	b.halt()
	b.halt = nil
	if err := <-b.done; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the box of %s: %w", b.name, err)
	}
	return nil
}
