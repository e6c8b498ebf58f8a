package station

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

const (
	connectTimeout = 5 * time.Second // for a connection to a printer
	// queryTimeout is for the status of a station. Probing the capability of a printer, which the
	// first connection does, may take this long.
	queryTimeout = 15 * time.Second
)

// once is for a printer that is asked once.
var once = printer.Connection{ConnectTimeout: connectTimeout, Linger: -1}

// askPrinters asks each printer for its status. A printer that several stations share is asked
// once, because it may accept only one connection. It asks the printers directly, because it must
// also work before the daemon runs. If the daemon is printing, a printer that serves one client
// does not answer here until that ticket is done.
func askPrinters(ctx context.Context, conf *config.Config) (out findings) {
	answers := map[string]*printerAnswer{}
	var asking sync.WaitGroup
	for _, c := range conf.Printers {
		if at := transport.CanonicalAddress(c.Address); answers[at] == nil {
			a := &printerAnswer{}
			answers[at] = a
			asking.Go(func() { a.ask(ctx, c) })
		}
	}
	asking.Wait()
	for _, c := range conf.Printers {
		switch a := answers[transport.CanonicalAddress(c.Address)]; {
		case a.foreign != "":
			out.add(admin.Fail, "printer", c.Name, fmt.Sprintf("%s is no printer: %s answers there; "+
				"to fix: correct the address; the printer's self-test page shows it", c.Address, a.foreign))
		case a.err != nil:
			out.add(admin.Fail, "printer", c.Name, layout.Clean(a.err.Error()))
		case !a.status.Fine():
			out.add(admin.Fail, "printer", c.Name, fmt.Sprintf("%s: %s; to fix: %s",
				c.Address, strings.ReplaceAll(a.status.State, "_", " "), a.status.Advice))
		default:
			verb := "answers"
			if a.status.State == printer.Silent || a.status.State == printer.Unknown {
				verb = "is reachable"
			}
			out.add(admin.OK, "printer", c.Name, fmt.Sprintf("%s %s%s", c.Address, verb, a.details()))
			if a.unchecked {
				out.add(admin.Warn, "printer", c.Name, "mac is of no use: this box does not see the MAC "+
					"address at "+c.Address+", which is behind a router, on this box or IPv6; to fix: remove mac")
			}
		}
	}
	return out
}

// A printerAnswer is the result of asking a printer: its status, or why it did not answer.
type printerAnswer struct {
	status  printer.Status
	foreign string // what answers and is no printer
	// unchecked: the MAC address of what answers is not known.
	unchecked bool
	err       error
}

// ask queries one printer. It sends no ticket byte, so nothing comes out.
func (a *printerAnswer) ask(ctx context.Context, c config.Printer) {
	m, err := c.Model()
	if err != nil {
		a.err = err
		return
	}
	d, _, err := openOnce(c)
	if c.MAC != "" {
		defer func() {
			at, neighbours := knownPrinter(c).Addresses(ctx), transport.Neighbours()
			a.unchecked = !slices.ContainsFunc(at, func(ip netip.Addr) bool { return neighbours[ip] != "" })
		}()
	}
	switch {
	case err != nil:
		a.err = err
		return
	case m.Confirm == profile.NoConfirm: // the configuration forbids status queries
		id, err := identify(ctx, d, false)
		a.status.State, a.foreign, a.err = printer.Unknown, id.Program, err
		return
	}
	if c.Networked() {
		// First, because most letters look like a status byte, and because a device waits long for a printer that
		// answers nothing.
		id, err := identify(ctx, d, true)
		a.foreign, a.err = id.Program, err
		if err != nil || !id.Printer {
			a.status.State = printer.Silent
			return
		}
	}
	a.status = query(ctx, c.Name, d, m.Confirm)
	if a.status.State == printer.Unreachable {
		a.err = errors.New(a.status.Err)
	}
}

// Query is the status of the printer at d, and the best result that a ticket can have there. It sends no ticket
// byte.
func Query(ctx context.Context, d transport.Dialer) printer.Status {
	return query(ctx, "printer", d, profile.Auto)
}

func query(ctx context.Context, name string, d transport.Dialer, by profile.Confirm) printer.Status {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return printer.NewDevice(printer.DeviceOptions{
		Name: name, Dialer: d, Confirm: by, Connection: once,
	}).Ask(ctx)
}

// details is what an answer tells beyond that the printer answered.
func (a *printerAnswer) details() string {
	var parts []string
	if a.status.State == printer.Ready {
		parts = append(parts, "ready")
	}
	switch {
	case a.status.State == printer.Silent:
		parts = append(parts, "it answers no status query: tickets will be sent, never confirmed, "+
			"unless another program prints there now and keeps it busy")
	case a.status.Capability == string(ticket.Sent): // the bytes were taken; no more can be known
		parts = append(parts, "it cannot say whether a ticket was printed")
	case a.status.Capability != "":
		parts = append(parts, "best proof "+a.status.Capability)
	}
	if a.status.Advice != "" {
		parts = append(parts, a.status.Advice)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

// identify is [printer.Identify] with a limit for the connection.
func identify(ctx context.Context, d transport.Dialer, ask bool) (printer.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return printer.Identify(ctx, d, ask)
}

// PrintTest prints a test ticket at once, past the queue: for a box whose daemon does not run yet.
func PrintTest(ctx context.Context, conf *config.Config, name string) (ticket.Proof, error) {
	at := slices.IndexFunc(conf.Printers, func(p config.Printer) bool { return p.Name == name })
	if at < 0 {
		return "", fmt.Errorf("%s is no printer", name)
	}
	c := conf.Printers[at]
	m, err := c.Model()
	if err != nil {
		return "", err
	}
	d, _, err := openOnce(c)
	if err != nil {
		return "", err
	}
	device := printer.NewDevice(printer.DeviceOptions{
		Name: c.Name, Dialer: d, Confirm: m.Confirm, Connection: once,
	})
	defer device.Retire()
	drawer, _ := newDrawer(conf)
	paper := printer.NewPaper(printer.Options{
		Name: c.Name, Device: device, Profile: m, Columns: c.Columns, Layout: look(c, conf), Drawer: drawer,
	})
	return paper.Print(ctx, ticket.Delivery{Station: name, Attempt: 1, Ticket: ticket.Ticket{
		Kind: ticket.Test, Number: "TEST", Zone: conf.Venues[0].Timezone, Received: time.Now(),
	}}, func(context.Context) error { return nil })
}
