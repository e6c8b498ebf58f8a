package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/sim"
)

// sampleVenue is the venue of the examples.
const sampleVenue = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"

// maxEmployees keeps a mistyped number from using all memory of a small machine.
const maxEmployees = 1_000_000

// serviceFlags are the flags of possim serve.
type serviceFlags struct {
	listen, id, secret, zone      string
	prefix, laborPrefix, cursorAt string // what the contract does not show
	venues, faults                []string
	employees, maxLimit           int
	ttl                           time.Duration
	seed                          uint64
}

// serveCommand is possim serve. Seed, venue and number of employees have the same defaults as with
// possim send, so that the service knows the servers of the orders.
func serveCommand() *cobra.Command {
	var f serviceFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "The service's API: tokens, /me, employees, payroll periods",
		Long: `The service's API: tokens, /me, employees, payroll periods.

Its first line of output is its base address, for service.base_url. Then it prints one line for
each request. Where the contract leaves a choice, a flag makes it. The employees are random, determined by the seed.

Faults are CALL:KIND[=DURATION][:TIMES]. A call is token, me, employees, payrollperiods or any. A kind is a
status from 400 to 599, or
  slow[=7s]      the answer comes late             hang           no answer comes
  truncated      half the JSON                     broken         half the body, then it hangs up
  nonjson        an HTML page, with 200            unsuccessful   200, but status is not SUCCESS
  samecursor     a page names itself as the next   redirect       302
  large          64 MiB                            churn          the list changes after each page`,
		Example: `  possim serve --listen 127.0.0.1:8090 --employees 250
  possim serve --venue ` + sampleVenue + ` --fault employees:500:1 --fault token:slow=3s`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8090", "address to listen on; port 0 chooses a free port")
	fl.StringVar(&f.prefix, "prefix", "/api", "the beginning of every path; may be empty")
	fl.StringVar(&f.id, "client-id", "possim", "the integrator's client id")
	// No real secret: it is in the help, and the service listens on this machine.
	fl.StringVar(&f.secret, "client-secret", "possim-secret", "the integrator's client secret")
	fl.StringArrayVar(&f.venues, "venue", nil, "UUID of a venue; may be repeated (default "+sampleVenue+")")
	fl.StringVar(&f.zone, "timezone", sim.DefaultZone, "time zone of the venues")
	fl.IntVar(&f.employees, "employees", 25, "employees of each venue")
	fl.DurationVar(&f.ttl, "token-ttl", contract.TokenLifetime, "lifetime of a token")
	fl.Uint64Var(&f.seed, "seed", 1, "determines the employees")
	fl.StringArrayVar(&f.faults, "fault", nil, "a fault, for example employees:500; may be repeated")
	fl.StringVar(&f.laborPrefix, "labor-prefix", "", "put before /v1/labor, after --prefix")
	fl.StringVar(&f.cursorAt, "cursor-at", contract.FieldNextCursor,
		"where a page names the next: a dotted path, or header:NAME")
	fl.IntVar(&f.maxLimit, "max-limit", 100, "the largest page of employees")
	return c
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

// plainPath has no dots at the beginning of a segment and nothing that must be escaped, so that paths
// can be compared byte for byte.
var plainPath = regexp.MustCompile(`^/?([A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?)?$`)

var cursorPlace = regexp.MustCompile(`^(header:[A-Za-z0-9-]+|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)$`)

// options converts the flags to the options of the service. Mistakes are usage errors, found before
// anything listens.
func (f *serviceFlags) options(log *slog.Logger) (sim.Options, error) {
	o := sim.Options{
		Prefix: f.prefix, LaborPrefix: f.laborPrefix, ClientID: f.id, ClientSecret: f.secret, TokenTTL: f.ttl,
		Seed: f.seed, Logger: log, CursorAt: f.cursorAt, MaxLimit: f.maxLimit,
	}
	switch {
	case !plainPath.MatchString(f.prefix) || !plainPath.MatchString(f.laborPrefix):
		return o, usageError{fmt.Errorf("--prefix %q, --labor-prefix %q: use plain paths, for example /api", f.prefix,
			f.laborPrefix)}
	case !cursorPlace.MatchString(f.cursorAt):
		return o, usageError{
			fmt.Errorf("--cursor-at: %q is not a place; use for example meta.nextCursor or header:X-After", f.cursorAt),
		}
	case f.maxLimit < 1:
		return o, usageError{fmt.Errorf("--max-limit: %d is out of range; use 1 or more", f.maxLimit)}
	case f.employees < 0 || f.employees > maxEmployees:
		return o, usageError{fmt.Errorf("--employees: %d is out of range; use 0 to %d", f.employees, maxEmployees)}
	// Lifetimes are whole seconds in the answer.
	case f.ttl < time.Second:
		return o, usageError{fmt.Errorf("--token-ttl: %s is too short; use 1s or more", f.ttl)}
	case f.id == "" || f.secret == "":
		return o, usageError{errors.New("--client-id and --client-secret cannot be empty")}
	}
	ids, err := venuesOf(f.venues)
	if err != nil {
		return o, err
	}
	for _, id := range ids {
		o.Venues = append(o.Venues, sim.Venue{ID: id, Employees: f.employees, Zone: f.zone})
	}
	for _, text := range f.faults {
		fault, err := sim.ParseFault(text)
		if err != nil {
			return o, usageError{fmt.Errorf("--fault: %w", err)}
		}
		o.Faults = append(o.Faults, fault)
	}
	return o, nil
}

// run runs the service until ctx ends.
func (f *serviceFlags) run(ctx context.Context, out io.Writer) error {
	log := slog.New(slog.NewTextHandler(out, nil))
	o, err := f.options(log)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", f.listen, err)
	}
	h := sim.New(o).Handler() // before the address is printed: with many employees it takes a second
	prefix := strings.TrimSuffix("/"+strings.Trim(f.prefix, "/"), "/")
	// The first line is for scripts, as with possim printer.
	fmt.Fprintf(out, "http://%s%s\n", l.Addr(), prefix)
	log.Info("ready", "client_id", f.id, "venues", len(o.Venues), "employees", f.employees, "token_ttl", f.ttl,
		"seed", f.seed)
	s := &http.Server{
		Handler: h,
		// No other time-outs: faults delay answers for as long as they like.
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1) // buffered: Serve returns also when nobody waits for it
	go func() { ended <- s.Serve(l) }()
	select {
	case <-ctx.Done():
		// Close and not Shutdown: an answer that a fault delays must not keep the program running.
		err := s.Close()
		<-ended
		return err
	case err := <-ended:
		return err
	}
}
