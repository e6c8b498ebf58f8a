package station

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	connectTimeout  = 5 * time.Second // for a connection to a printer
	identifyTimeout = 8 * time.Second // then, for the question who answers there
	// queryTimeout is for the status of a station. Probing the capability of a printer, which the
	// first connection does, may take this long.
	queryTimeout = 15 * time.Second
)

// askPrinters asks each printer for its status. A printer that several stations share is asked
// once, because it may accept only one connection. It asks the printers directly, because it must
// also work before the daemon runs. If the daemon is printing, a printer that serves one client
// does not answer here until that ticket is done.
func askPrinters(ctx context.Context, conf *config.Config) (out []finding.Finding) {
	answers := map[string]*printer.Status{}
	var asking sync.WaitGroup
	for _, c := range conf.Printers {
		if at := transport.CanonicalAddress(c.Address); answers[at] == nil {
			status := &printer.Status{}
			answers[at] = status
			asking.Go(func() { *status = askPrinter(ctx, c) })
		}
	}

	asking.Wait()
	for _, c := range conf.Printers {
		status := *answers[transport.CanonicalAddress(c.Address)]
		status.Since = time.Time{} // since it was asked, which says nothing
		asked := finding.Station{Name: c.Name, Address: c.Address, Device: &status}
		out = append(out, judged(asked, howItAnswers(status))...)
	}

	return out
}

// askPrinter queries one printer. It sends no ticket byte, so nothing comes out.
func askPrinter(ctx context.Context, c config.Printer) printer.Status {
	model, d, err := openOnce(c)
	if err != nil {
		return printer.StatusOf(printer.Unreachable, err)
	}

	if model.Confirm != profile.NoConfirm && !c.Networked() {
		return Query(ctx, d, model.Confirm)
	}
	_, status := Ask(ctx, d, model.Confirm, connectTimeout)
	return status
}

// Ask finds out who answers at d, and queries only a printer: most letters look like a status byte, further questions
// may print where they are not known, and a [printer.Device] waits long for a printer that answers nothing.
func Ask(ctx context.Context, d transport.Dialer, confirm profile.Confirm, connect time.Duration) (
	printer.Identity, printer.Status,
) {
	asked := confirm != profile.NoConfirm // else the configuration forbids status queries
	identifying, cancel := context.WithTimeout(ctx, connect+identifyTimeout)
	defer cancel()
	id, err := printer.Identify(identifying, quick{d, connect}, asked, asked)
	switch {
	case err != nil:
		return id, printer.StatusOf(printer.Unreachable, err)
	case id.Program != "":
		return id, printer.StatusOf(printer.NotAPrinter, errors.New(id.Program+" answers there"))
	case !asked:
		return id, printer.StatusOf(printer.Unknown, nil)
	case !id.Printer:
		silent := printer.StatusOf(printer.Silent, nil)
		silent.BestProof = string(ticket.Sent)
		return id, silent
	}
	return id, Query(ctx, d, confirm)
}

// quick limits the time for a connection, not for the answers.
type quick struct {
	transport.Dialer
	within time.Duration
}

func (d quick) Dial(ctx context.Context) (transport.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.within)
	defer cancel()
	return d.Dialer.Dial(ctx)
}

// Query is the status of the printer at d, and the best result that a ticket can have there. It sends no ticket
// byte.
func Query(ctx context.Context, d transport.Dialer, confirm profile.Confirm) printer.Status {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return printer.NewDevice(printer.DeviceOptions{
		Name: "printer", Dialer: d, Confirm: confirm, Connection: printer.Connection{ConnectTimeout: connectTimeout},
	}).Ask(ctx)
}

// howItAnswers has the best outcome of a ticket there.
func howItAnswers(s printer.Status) string {
	switch {
	case s.State == printer.Silent:
		return "is reachable, and answers nothing: tickets are only sent"
	case s.BestProof == string(ticket.Sent): // the bytes were taken; no more can be known
		return "is reachable: tickets are only sent"
	case s.State == printer.Unknown:
		return "is reachable"
	case s.BestProof == "":
		return "answers: ready"
	}
	return "answers: ready; best proof " + s.BestProof
}

// PrintTest prints a test ticket at once, past the queue: for a box whose daemon does not run yet.
func PrintTest(ctx context.Context, conf *config.Config, name string) (ticket.Proof, error) {
	at := slices.IndexFunc(conf.Printers, func(p config.Printer) bool { return p.Name == name })
	if at < 0 {
		return "", fmt.Errorf("%s is no printer", name)
	}

	chosen := conf.Printers[at]
	model, dialer, err := openOnce(chosen)
	if err != nil {
		return "", err
	}

	device := printer.NewDevice(printer.DeviceOptions{
		Name: chosen.Name, Dialer: dialer, Confirm: model.Confirm, Connection: chosen.Connection,
	})
	defer device.Retire()
	drawer, _ := NewDrawer(conf)
	paper := printer.NewPaper(printer.Options{
		Name: chosen.Name, Device: device, Profile: model, Columns: chosen.Columns, Layout: look(chosen, conf),
		Drawer: drawer,
	})
	return paper.Print(ctx, ticket.Delivery{Station: name, Attempt: 1, Ticket: ticket.Ticket{
		Kind: ticket.Test, Number: "TEST", Zone: conf.Venues[0].Timezone, Received: time.Now(),
	}}, func(context.Context) error { return nil })
}
