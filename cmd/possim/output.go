package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/printer/virtual"
	"ticketrail/receiver/sim"
)

// listenPrinter makes a kitchen printer that possim check reads. It runs until ctx ends.
func listenPrinter(ctx context.Context, address, model string) (*sim.Output, net.Addr, error) {
	options, err := modelOptions(model)
	if err != nil {
		return nil, nil, err
	}

	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("--listen-printer: %w", err)
	}

	var mu sync.Mutex
	var slips []sim.Slip // guarded by mu
	options.OnTicket = func(t virtual.Ticket) {
		mu.Lock()
		defer mu.Unlock()
		slips = append(slips, slipOf(t))
	}

	printer := virtual.New(options)
	go func() { _ = printer.Serve(ctx, listener) }()

	return &sim.Output{
		Slips: func(context.Context) ([]sim.Slip, error) {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(slips), nil
		},
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
	}, listener.Addr(), nil
}

func slipOf(t virtual.Ticket) sim.Slip {
	var dots strings.Builder
	for _, i := range t.Images {
		dots.Write(i.Bits)
	}
	return sim.Slip{Text: t.Text, Pictures: dots.String()}
}

// shell runs a command of the user. Its error repeats the command's last words.
func shell(ctx context.Context, flag, command string) (string, error) {
	process := exec.CommandContext(ctx, "sh", "-c", command)
	// A restart command leaves the endpoint running, which keeps the output open.
	process.WaitDelay = time.Second

	var out, errs strings.Builder
	process.Stdout, process.Stderr = &out, &errs

	err := process.Run()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("%s: %w: %.200q", flag, err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// ticketsCommand reads the tickets that a command of the user prints, with a form feed behind each.
func ticketsCommand(command string) *sim.Output {
	return &sim.Output{Slips: func(ctx context.Context) (slips []sim.Slip, err error) {
		all, err := shell(ctx, "--tickets-command", command)

		for t := range strings.SplitSeq(all, "\f") {
			if strings.TrimSpace(t) != "" {
				slips = append(slips, sim.Slip{Text: t})
			}
		}
		return slips, err
	}}
}
