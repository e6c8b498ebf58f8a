package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/sim"
)

// sampleVenue is the venue of the examples.
const sampleVenue = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"

// serviceFlags are the flags of possim serve.
type serviceFlags struct {
	sim.Options
	listen         string
	venues, faults []string
	employees      int
}

// serveCommand is possim serve. Seed, venue and number of employees have the same defaults as with
// possim send, so that the service knows the servers of the orders.
func serveCommand() *cobra.Command {
	var f serviceFlags
	command := &cobra.Command{
		Use:   "serve",
		Short: "The service's API: tokens, /me, employees, payroll periods",
		Long: `The service's API: tokens, /me, employees, payroll periods.

Its first line of output is its base address, for service.base_url. Then it prints one line for
each request. The employees are random, determined by the seed.

Faults are CALL:KIND[:TIMES]. A call is token, me, employees, payrollperiods or any. A kind is a status from 400 to
599, slow (7 s), hang (no answer comes), nonjson (an HTML page, with 200) or churn (the list changes after each page).`,
		Example: `  possim serve --listen 127.0.0.1:8090 --employees 250
  possim serve --venue ` + sampleVenue + ` --fault employees:500:1 --fault token:slow`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout())
		},
	}

	fl := command.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8090", "address to listen on; port 0 chooses a free port")
	fl.StringVar(&f.ClientID, "client-id", "possim", "the integrator's client id")
	// No real secret: it is in the help, and the service listens on this machine.
	fl.StringVar(&f.ClientSecret, "client-secret", "possim-secret", "the integrator's client secret")
	fl.StringArrayVar(&f.venues, "venue", nil, "UUID of a venue; may be repeated (default "+sampleVenue+")")
	fl.IntVar(&f.employees, "employees", 25, "employees of each venue")
	fl.Uint64Var(&f.Seed, "seed", 1, "determines the employees")
	fl.StringArrayVar(&f.faults, "fault", nil, "a fault, for example employees:500; may be repeated")
	return command
}

// venuesOf reads --venue. Without one it is the sample venue, which the README's configuration has
// too.
func venuesOf(flags []string) ([]string, error) {
	if len(flags) == 0 {
		return []string{sampleVenue}, nil
	}
	var ids []string
	for _, v := range flags {
		id, ok := contract.CanonicalID(strings.TrimSpace(v))
		if !ok {
			return nil, usageError{fmt.Errorf("--venue: %q is not a UUID such as %s", v, sampleVenue)}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// servePrefix is the beginning of every path.
const servePrefix = "/api"

// check refuses values that are out of range, and sets the venues and faults of the service.
func (f *serviceFlags) check() error {
	switch {
	case f.employees < 0:
		return usageError{fmt.Errorf("--employees: %d is out of range; use 0 or more", f.employees)}
	case f.ClientID == "" || f.ClientSecret == "":
		return usageError{errors.New("--client-id and --client-secret cannot be empty")}
	}

	ids, err := venuesOf(f.venues)
	if err != nil {
		return err
	}
	for _, id := range ids {
		f.Venues = append(f.Venues, sim.Restaurant{ID: id, Employees: f.employees})
	}

	for _, text := range f.faults {
		fault, err := sim.ParseFault(text)
		if err != nil {
			return usageError{fmt.Errorf("--fault: %w", err)}
		}
		f.Faults = append(f.Faults, fault)
	}
	return nil
}

// run runs the service until ctx ends.
func (f *serviceFlags) run(ctx context.Context, out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}

	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", f.listen, err)
	}

	log := slog.New(slog.NewTextHandler(out, nil))
	f.Prefix, f.Logger = servePrefix, log
	// The first line is for scripts, as with possim printer.
	fmt.Fprintf(out, "http://%s%s\n", listener.Addr(), servePrefix)
	log.Info("ready", "client_id", f.ClientID, "venues", len(f.Venues), "employees", f.employees, "seed", f.Seed)

	server := &http.Server{
		Handler: sim.New(f.Options).Handler(),
		// No other time-outs: faults delay answers for as long as they like.
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}

	// Close and not Shutdown: an answer that a fault delays must not keep the program running.
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
