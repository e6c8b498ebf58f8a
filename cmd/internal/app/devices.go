package app

import (
	"cmp"
	"context"
	"sync"
	"time"

	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/queue"
)

// A manner is how one printer is talked to.
type manner struct {
	name                             string // of the station that stands for it in the log
	address                          string // as it is dialled
	confirm                          profile.Confirm
	linger, pollEvery, waitForPerson time.Duration
}

// A device is a physical printer, whatever number of stations ends at it. A reload that
// leaves its manner alone keeps it.
type device struct {
	*printer.Device
	manner manner
}

// newDevice makes what talks to the printer of c. It touches nothing yet.
func (a *App) newDevice(c config.Printer, m manner) (*device, error) {
	open := a.o.Dialer
	if open == nil {
		open = func(c config.Printer) (transport.Dialer, error) { return transport.Open(c.Address) }
	}
	d, err := open(c)
	if err != nil {
		return nil, err
	}
	return &device{manner: m, Device: printer.NewDevice(printer.DeviceOptions{
		Name: c.Name, Dialer: d, Turn: a.turn(c.Device()), Confirm: m.confirm, Memory: probes{a, c.Device()},
		Linger:    cmp.Or(m.linger, -1), // none said is none
		PollEvery: m.pollEvery, WaitForPerson: m.waitForPerson,
		Logger: a.log.With("component", "printer"),
	})}, nil
}

// probes remembers what the printer at an address was found able to do. Another printer in
// its place has its own address or is found out.
type probes struct {
	a       *App
	address string
}

func (p probes) shelf() *queue.Shelf { return p.a.queue.Shelf("probes") }

func (p probes) Get(string) ([]byte, bool, error) { return p.shelf().Get(p.address) }

func (p probes) Put(ctx context.Context, _ string, v []byte) error {
	return p.shelf().Put(ctx, p.address, v)
}

func (p probes) Delete(ctx context.Context, _ string) error { return p.shelf().Delete(ctx, p.address) }

// A watch is the idle polling of the devices in force.
type watch struct {
	mu   sync.Mutex // guards what follows
	stop map[*device]func()
	over bool
}

// set begins to watch the devices that are new and ends the watch of those that are gone.
// Connections of the latter are given up, after the ticket in hand.
func (w *watch) set(devices map[string]*device) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	wanted := map[*device]bool{}
	for _, d := range devices {
		wanted[d] = true
	}
	var leaving sync.WaitGroup // each may take its time to hang up
	for d, stop := range w.stop {
		if !wanted[d] {
			leaving.Go(func() { stop(); d.Retire() })
			delete(w.stop, d)
		}
	}
	leaving.Wait()
	if w.stop == nil {
		w.stop = map[*device]func(){}
	}
	for d := range wanted {
		if w.stop[d] == nil {
			w.stop[d] = begin(d)
		}
	}
}

func begin(d *device) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var polling sync.WaitGroup
	polling.Go(func() { d.Watch(ctx) })
	return func() { cancel(); polling.Wait() }
}

// end stops all of it and hangs up.
func (w *watch) end(context.Context) error {
	w.set(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	return nil
}
