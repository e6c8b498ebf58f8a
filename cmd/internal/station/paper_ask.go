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

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer"
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

// onceDevice is for a printer that is asked once, or that prints one ticket.
func onceDevice(name string, d transport.Dialer, by profile.Confirm) *printer.Device {
	return printer.NewDevice(printer.DeviceOptions{Name: name, Dialer: d, Confirm: by,
		Connection: printer.Connection{ConnectTimeout: connectTimeout, Linger: -1}})
}

// askPrinters asks each printer for its status. A printer that several stations share is asked
// once, because it may accept only one connection. It asks the printers directly, because it must
// also work before the daemon runs. If the daemon is printing, a printer that serves one client
// does not answer here until that ticket is done.
func askPrinters(ctx context.Context, conf *config.Config) (out []answer) {
	answers := map[string]*printerAnswer{}
	var asking sync.WaitGroup
	for _, c := range conf.Printers {
		if at := transport.CanonicalAddress(c.Address); answers[at] == nil {
			asked := &printerAnswer{}
			answers[at] = asked
			asking.Go(func() { asked.ask(ctx, c) })
		}
	}

	asking.Wait()
	for _, c := range conf.Printers {
		got := answers[transport.CanonicalAddress(c.Address)]
		one := answer{Station: finding.Station{Name: c.Name, Address: c.Address, Device: new(deviceState(got.status))},
			fine: got.details()}
		if got.unchecked {
			one.doubt = "mac is of no use: this box does not see the MAC address"
			one.do = "remove mac: " + c.Address + " is behind a router, on this box or IPv6"
		}
		out = append(out, one)
	}

	return out
}

// A printerAnswer is the result of asking a printer.
type printerAnswer struct {
	status printer.Status
	// unchecked: the MAC address of the device that answers is not known.
	unchecked bool
}

// ask queries one printer. It sends no ticket byte, so nothing comes out.
func (a *printerAnswer) ask(ctx context.Context, c config.Printer) {
	model, err := c.Model()
	var d transport.Dialer
	if err == nil {
		d, _, err = openOnce(c)
	}
	if err != nil {
		a.status = printer.Failed(printer.Unreachable, err)
		return
	}

	if c.MAC != "" {
		defer func() {
			at, neighbours := knownPrinter(c).Addresses(ctx), transport.Neighbours()
			a.unchecked = a.status.Fine() &&
				!slices.ContainsFunc(at, func(ip netip.Addr) bool { return neighbours[ip] != "" })
		}()
	}

	asked := model.Confirm != profile.NoConfirm // else the configuration forbids status queries
	if !asked || c.Networked() {
		// First, because most letters look like a status byte, and because a device waits long for a printer that
		// answers nothing.
		id, err := identify(ctx, d, asked)
		switch {
		case err != nil:
			a.status = printer.Failed(printer.Unreachable, err)
			return
		case id.Program != "":
			a.status = printer.Failed(printer.NotAPrinter, errors.New(id.Program+" answers there"))
			return
		case !asked:
			a.status.State = printer.Unknown
			return
		case !id.Printer:
			a.status.State = printer.Silent
			return
		}
	}
	a.status = query(ctx, c.Name, d, model.Confirm)
}

// Query is the status of the printer at d, and the best result that a ticket can have there. It sends no ticket
// byte.
func Query(ctx context.Context, d transport.Dialer) printer.Status {
	return query(ctx, "printer", d, profile.Auto)
}

func query(ctx context.Context, name string, d transport.Dialer, by profile.Confirm) printer.Status {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return onceDevice(name, d, by).Ask(ctx)
}

// details is how it answers, and the best outcome of a ticket there.
func (a *printerAnswer) details() string {
	switch {
	case a.status.State == printer.Silent:
		return "is reachable, and answers nothing: tickets are only sent"
	case a.status.Capability == string(ticket.Sent): // the bytes were taken; no more can be known
		return "is reachable: tickets are only sent"
	case a.status.State == printer.Unknown:
		return "is reachable"
	}
	return strings.TrimSuffix("answers: ready; best proof "+a.status.Capability, "; best proof ")
}

// identify is [printer.Identify] with a limit for the connection.
func identify(ctx context.Context, d transport.Dialer, ask bool) (printer.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return printer.Identify(ctx, d, ask, false)
}

// PrintTest prints a test ticket at once, past the queue: for a box whose daemon does not run yet.
func PrintTest(ctx context.Context, conf *config.Config, name string) (ticket.Proof, error) {
	at := slices.IndexFunc(conf.Printers, func(p config.Printer) bool { return p.Name == name })
	if at < 0 {
		return "", fmt.Errorf("%s is no printer", name)
	}

	chosen := conf.Printers[at]
	model, err := chosen.Model()
	if err != nil {
		return "", err
	}

	dialer, _, err := openOnce(chosen)
	if err != nil {
		return "", err
	}

	device := onceDevice(chosen.Name, dialer, model.Confirm)
	defer device.Retire()
	drawer, _ := newDrawer(conf)
	paper := printer.NewPaper(printer.Options{
		Name: chosen.Name, Device: device, Profile: model, Columns: chosen.Columns, Layout: look(chosen, conf),
		Drawer: drawer,
	})
	return paper.Print(ctx, ticket.Delivery{Station: name, Attempt: 1, Ticket: ticket.Ticket{
		Kind: ticket.Test, Number: "TEST", Zone: conf.Venues[0].Timezone, Received: time.Now(),
	}}, func(context.Context) error { return nil })
}
