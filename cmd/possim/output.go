package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
	"ticketrail/receiver/sim"
)

// tickets are the texts of all tickets that came out. The printer's and the display's goroutines
// add to it while a check counts.
type tickets struct {
	mu  sync.Mutex
	all []string // guarded by mu
}

func (t *tickets) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, text)
}

// count is [sim.Output.Count].
func (t *tickets) count(_ context.Context, text string) (n int, _ error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text == "" {
		return len(t.all), nil
	}
	for _, one := range t.all {
		n += strings.Count(one, text)
	}
	return n, nil
}

// listenPrinter makes a kitchen printer that possim check reads. It runs until ctx ends.
func listenPrinter(ctx context.Context, address, model string) (*sim.Output, net.Addr, error) {
	p, ok := profile.Lookup(model)
	if !ok {
		return nil, nil, usageError{fmt.Errorf("--profile: there is no model %q; use one of %s",
			model, strings.Join(profile.Names(), ", "))}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("--listen-printer: %w", err)
	}
	var out tickets
	o := virtual.OptionsFor(p)
	o.Name, o.Keep, o.OnTicket = p.Name, 1, func(t virtual.Ticket) { out.add(t.Text) }
	printer := virtual.New(o)
	go func() { _ = printer.Serve(ctx, l) }()
	return &sim.Output{
		Count: out.count,
		Off: func(on bool) error {
			err := printer.Refuse(on)
			printer.Reset() // the client that it serves now
			return err
		},
		Stall: func(on bool) error {
			if on {
				printer.Stall()
			} else {
				printer.Repair()
			}
			return nil
		},
	}, l.Addr(), nil
}

// maxDisplayBody is the largest ticket that the display accepts, in bytes.
const maxDisplayBody = 16 << 20

// A display takes each POST or PUT as a ticket, in whatever format, and answers 200.
type display struct {
	ctx context.Context
	tickets

	mu    sync.Mutex
	serve *http.Server  // nil: it is off; guarded by mu
	stall chan struct{} // nil: it answers; closed when it answers again; guarded by mu
}

// listenDisplay makes a display that possim check reads. It runs until ctx ends.
func listenDisplay(ctx context.Context, address string) (*sim.Output, net.Addr, error) {
	d := &display{ctx: ctx}
	at, err := d.on(address)
	if err != nil {
		return nil, nil, fmt.Errorf("--listen-display: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = d.off() })
	return &sim.Output{
		Count: d.count,
		Off: func(off bool) error {
			if off {
				return d.off()
			}
			_, err := d.on(at.String())
			return err
		},
		Stall: d.setStall,
	}, at, nil
}

func (d *display) on(address string) (net.Addr, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second}
	d.serve = s
	go func() { _ = s.Serve(l) }()
	return l.Addr(), nil
}

func (d *display) off() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.serve.Close()
}

func (d *display) setStall(on bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if on {
		d.stall = make(chan struct{})
	} else {
		close(d.stall)
		d.stall = nil
	}
	return nil
}

// ServeHTTP takes a ticket. While it is stalled it takes none: a sender that gives up meanwhile has
// shown nothing.
func (d *display) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDisplayBody))
	d.mu.Lock()
	stall := d.stall
	d.mu.Unlock()
	if stall != nil {
		select {
		case <-stall:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodPost || r.Method == http.MethodPut:
		d.add(string(b))
	}
}

// shell runs a command of the user. Its error repeats what the command said last.
func shell(ctx context.Context, flag, command string) (string, error) {
	c := exec.CommandContext(ctx, "sh", "-c", command)
	// A restart command leaves the endpoint running, which keeps the output open.
	c.WaitDelay = time.Second
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("%s: %w: %.200q", flag, err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// countCommand counts tickets with a command of the user.
func countCommand(command string) *sim.Output {
	return &sim.Output{CountsTickets: true, Count: func(ctx context.Context, _ string) (int, error) {
		said, err := shell(ctx, "--count-command", command)
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(said)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("--count-command: said %.80q, which is not a number of tickets", said)
		}
		return n, nil
	}}
}
