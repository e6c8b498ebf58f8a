package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"ticketrail/cmd/internal/app"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/sim"
)

const (
	venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	path    = contract.PathWebhook
	staff   = 12 // employees of the venue
)

// service starts the simulated point-of-sale service, which knows the employees and the time zone of
// the venue. It writes the client secret to the file.
//
// It is started before the daemon, which asks it within seconds.
func (d *demo) service(secretFile string) (address string, stop func() error, err error) {
	const secret = "the-demo-has-no-secrets" // both ends are this process
	if err := os.WriteFile(secretFile, []byte(secret), 0o600); err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: sim.New(sim.Options{
		Prefix: "/api", ClientID: "demo", ClientSecret: secret, Seed: d.seed,
		Venues: []sim.Venue{{ID: venueID, Employees: staff}},
	}).Handler()}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return "http://" + l.Addr().String() + "/api", func() error {
		err := s.Close()
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}, nil
}

// waitForService waits until the daemon knows the venue's employees and time zone. A real kitchen
// does not wait: the ticket then shows the end of the employee's id instead of the name. Here the
// orders wait, so that the scene about the name has it.
func (d *demo) waitForService(ctx context.Context, a *app.App) error {
	return until(ctx, "the employees and the time zone", func(context.Context) (bool, error) {
		zone, ok := a.Names().Zone(venueID)
		if ok {
			d.say("  read from the service: %d employees, and the zone %s", a.Names().Count(venueID), zone)
		}
		return ok, nil
	})
}

// send posts one order as the service does, and prints the answer and how long it took. An order that is not
// accepted ends the demo: in here nothing may get lost.
func (d *demo) send(ctx context.Context, s *sim.Sender, o sim.Order) error {
	job := s.Send(ctx, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	last := job.Attempts[len(job.Attempts)-1]
	d.say("   POST %d B → %d in %.1f ms  %s", len(o.Body(0)), job.Status, float64(last.Took.Microseconds())/1000,
		bytes.TrimSpace(job.Answer))
	if !job.Accepted() {
		return fmt.Errorf("post order: %s", job.Problem)
	}
	return nil
}
