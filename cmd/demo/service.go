package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"

	"ticketrail/cmd/internal/app"
	"ticketrail/receiver/sim"
)

// staff is how many employees the demo's venue has.
const staff = 12

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
			d.say("  read from the service: %d employees; it is %s in %s", a.Names().Count(venueID), timeIn(zone), zone)
		}
		return ok, nil
	})
}

// someone is an employee with a name in Latin letters, which the printers have. The scene is about
// the name, not about letters that have to be drawn.
func (d *demo) someone() sim.Employee {
	for n := range staff {
		e := sim.Staff(d.seed, venueID, n)
		if !strings.ContainsFunc(e.Name,
			func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }) {
			return e
		}
	}
	return sim.Staff(d.seed, venueID, 0)
}

// timeIn is the time of day in a zone, which the tickets show.
func timeIn(zone string) string {
	z, err := time.LoadLocation(zone)
	if err != nil {
		return "an unknown time"
	}
	return time.Now().In(z).Format("15:04")
}
