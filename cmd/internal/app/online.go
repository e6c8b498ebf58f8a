package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
)

// CheckOnline asks each printer whether it is there and how it is, each kitchen display of others
// whether it is there, the running daemon whether somebody looks at the screens, and the
// point-of-sale API about each venue, a line for each on w. Nothing is printed. What is not there
// or not ready is an error, and so is a venue with which something is wrong.
func CheckOnline(ctx context.Context, path string, w io.Writer) error {
	conf, err := load(path)
	if err != nil {
		return err
	}
	answers := map[string]*answer{} // of each device once, however many stations end there
	var wg sync.WaitGroup
	for _, p := range conf.Printers {
		if at := p.Device(); answers[at] == nil {
			a := &answer{}
			answers[at] = a
			wg.Go(func() { a.ask(ctx, p) })
		}
	}
	var displays *onlineDisplays
	wg.Go(func() { displays = askDisplays(ctx, conf) })
	var venues []VenueCheck
	if conf.Service.Enabled() {
		client, err := newClient(conf.Service, nil, nil, nil)
		if err != nil {
			return err
		}
		defer client.Close()
		wg.Go(func() { venues = checkVenues(ctx, client, conf.Service.Timeout, conf.Venues) })
	}
	wg.Wait()
	var missing, notReady []string
	for _, p := range conf.Printers {
		switch a := answers[p.Device()]; {
		case a.err != nil:
			missing = append(missing, p.Name)
			fmt.Fprintf(w, "FAIL  printer %s  %s\n", p.Name, layout.Clean(a.err.Error()))
		case !a.status.Fine():
			notReady = append(notReady, p.Name)
			fmt.Fprintf(w, "FAIL  printer %s  %s: %s: %s\n", p.Name, p.Address, inWords(a.status.State), a.status.Advice)
		default:
			fmt.Fprintf(w, "OK    printer %s  %s answers%s\n", p.Name, p.Address, a.more())
		}
	}
	dark := displays.show(w)
	if !(wallClock{}).Synchronized() {
		fmt.Fprintln(w, "WARN  clock  nothing says that it is synchronized: times on tickets may be wrong (systemctl status systemd-timesyncd)")
	}
	var wrong []error
	if len(missing) > 0 {
		wrong = append(wrong, fmt.Errorf("no answer from %s", strings.Join(missing, ", ")))
	}
	if len(notReady) > 0 {
		wrong = append(wrong, fmt.Errorf("not ready: %s", strings.Join(notReady, ", ")))
	}
	wrong = append(wrong, dark...)
	return errors.Join(append(wrong, ShowVenues(w, venues))...)
}

// An answer is what a printer had to say.
type answer struct {
	status printer.Status
	err    error
}

// askedWithin is how long a printer is given to be reached, and then to say how it is: as
// long as finding out what it can do may take.
const (
	reachedWithin = 5 * time.Second
	askedWithin   = 15 * time.Second
)

func (a *answer) ask(ctx context.Context, p config.Printer) {
	m, err := model(p)
	if err != nil {
		a.err = err
		return
	}
	d, err := transport.Open(p.Address)
	switch {
	case err != nil:
		a.err = err
		return
	case m.Confirm == profile.NoConfirm: // it is not to be asked
		a.status.State, a.err = printer.Unknown, reach(ctx, d)
		return
	}
	// One connection does it: some printers are long in noticing that one has ended.
	a.status = asked(ctx, printer.NewDevice(printer.DeviceOptions{
		Name: p.Name, Dialer: d, Confirm: m.Confirm, ConnectTimeout: reachedWithin, Linger: -1, PollEvery: time.Hour,
	}))
	if a.status.State == printer.Unreachable {
		a.err = errors.New(a.status.Err)
	}
}

// asked is the status of a device after it was asked once.
func asked(ctx context.Context, d *printer.Device) printer.Status {
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		d.Watch(ctx)
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if s := d.Status(); !s.Connected && (s.State != printer.Unknown || !s.Probed.IsZero()) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	cancel()
	<-over
	return d.Status()
}

// more is what an answer tells beyond that it came.
func (a *answer) more() string {
	var parts []string
	if a.status.State == printer.Ready {
		parts = append(parts, "it is ready")
	}
	if a.status.Ability != "" {
		parts = append(parts, "its tickets can be known to be "+a.status.Ability)
	}
	if a.status.Advice != "" {
		parts = append(parts, a.status.Advice)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

func inWords(state string) string { return strings.ReplaceAll(state, "_", " ") }

func reach(ctx context.Context, d transport.Dialer) error {
	ctx, cancel := context.WithTimeout(ctx, reachedWithin)
	defer cancel()
	c, err := d.Dial(ctx)
	if err != nil {
		return err
	}
	return c.Close()
}
