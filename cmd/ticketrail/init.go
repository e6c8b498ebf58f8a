package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// initFlags answer the questions of init. A flag that is given is not asked.
type initFlags struct {
	venue, venueID, zone, reach, host, cert, key string
	printers, networks                           []string
	noTest                                       bool
}

// init writes the first configuration of a box.
func (c *cli) init() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "write the first configuration, find printers, print a test ticket",
		Long: `init asks for the venue, its time zone, the printers and how the service reaches
this box, writes the configuration with a new secret, checks it, prints a test
ticket, and says what to enter at the service. It looks for printers on the
box's own networks (see "printers discover"). It replaces no file, and leaves
none behind if something fails.

Each question has a flag; with all of them, nothing is asked. The answers may
also come from a file or a pipe, one on each line.`,
		Example: `  ticketrail init
  ticketrail init --config ./kitchen.yaml --venue "Harbour Grill" \
    --venue-id new --timezone Australia/Melbourne \
    --printer grill=tcp://192.168.1.50 --reach proxy --host ""`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := &questions{c: c, given: cmd.Flags().Changed, in: bufio.NewScanner(c.in)}
			return c.setUp(cmd.Context(), f, q)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.venue, "venue", "", "`name` of the venue, on tickets and in routes")
	fl.StringVar(&f.venueID, "venue-id", "",
		"the venue's `id`, as the service shows it; new invents one, to try things out")
	fl.StringVar(&f.zone, "timezone", "", "the venue's time `zone`, as Australia/Melbourne")
	fl.StringArrayVar(&f.printers, "printer", nil,
		"a station and its printer, `NAME=ADDRESS`; repeat it for several; the first gets everything until "+
			"there are routes")
	fl.StringSliceVar(&f.networks, "network", nil, "look for printers only in this `part` of the box's networks")
	fl.StringVar(&f.reach, "reach", "",
		"how the service reaches this box: `proxy` (a proxy or a tunnel on this box), tls (directly), or acme "+
			"(directly; Let's Encrypt gives the certificate)")
	fl.StringVar(&f.host, "host", "", "the `name` in the address that the service gets, as kitchen.example.com")
	fl.StringVar(&f.cert, "cert", "", "certificate `file` for --reach tls")
	fl.StringVar(&f.key, "key", "", "key `file` of that certificate")
	fl.BoolVar(&f.noTest, "no-test", false, "print no test tickets")
	return cmd
}

func (c *cli) setUp(ctx context.Context, f initFlags, q *questions) error {
	// Before the questions: nobody answers eight of them for nothing.
	if _, err := os.Lstat(c.config); err == nil {
		return usagef("%s exists already, and init replaces nothing: move it away, or name another file with --config",
			c.config)
	}
	s := doctor.NewSetup()
	if err := c.askSetup(ctx, f, q, &s); err != nil {
		return err
	}
	secret, err := s.Write(ctx, c.config)
	if err != nil {
		return fmt.Errorf("nothing was set up: %w", err)
	}
	fmt.Fprintf(c.out, "\nwrote %s\n", c.config)
	var failed []error
	if !f.noTest {
		failed = c.printTests(ctx, s)
	}
	if err := c.showNext(s, secret); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// askSetup fills in s. Each answer is checked as the daemon will check it.
func (c *cli) askSetup(ctx context.Context, f initFlags, q *questions, s *doctor.Setup) error {
	take := func(set func(answer string)) func(string) error {
		return func(answer string) error { set(answer); return s.Problems(c.config) }
	}
	err := q.ask("venue", f.venue, "Name of the venue, for tickets", "", take(func(a string) { s.VenueName = a }))
	if err != nil {
		return err
	}
	err = q.ask("venue-id", f.venueID, "Its id at the service (a UUID), or new to invent one and try things out", "new",
		take(func(a string) {
			if s.VenueID = a; a == "new" {
				s.VenueID = uuid.NewString()
			}
		}))
	if err != nil {
		return err
	}
	err = q.ask("timezone", f.zone, "Its time zone, as Australia/Melbourne", boxZone(), take(func(a string) {
		s.Timezone = cmp.Or(a, "?") // without one, tickets would show UTC
	}))
	if err != nil {
		return err
	}
	if err = c.askPrinters(ctx, f, q, s); err != nil {
		return err
	}
	err = q.ask("reach", f.reach, "How the service reaches this box: proxy (a proxy or a tunnel on this box; "+
		"also to try things out), tls (directly, with a certificate), or acme (directly, with a certificate that "+
		"Let's Encrypt gives)", "proxy", func(a string) error {
		if f.reach = a; a != "proxy" && a != "tls" && a != "acme" {
			return fmt.Errorf("%q is not proxy, tls or acme", a)
		}
		return nil
	})
	if err == nil && f.reach != "proxy" {
		s.Listen, s.ACME = "0.0.0.0:8443", f.reach == "acme"
	}
	if err == nil && f.reach == "tls" {
		cert := func(a string) error { s.CertFile = a; return nil }
		err = q.ask("cert", f.cert, "File with the certificate", "", cert)
		if err == nil {
			err = q.ask("key", f.key, "File with its key", "", take(func(a string) { s.KeyFile = a }))
		}
	}
	if err != nil {
		return err
	}
	err = q.ask("host", f.host, "Host name in the address for the service, as kitchen.example.com; - if not known yet",
		"-", func(a string) error {
			if strings.ContainsAny(a, "/ ") {
				return fmt.Errorf("%q is no host name; write it without https:// and without a path", a)
			}
			if s.Host = strings.Trim(a, "-"); s.Host == "" && s.ACME {
				return errors.New("a certificate of an ACME server needs the host name")
			}
			return s.Problems(c.config)
		})
	return err
}

// askPrinters takes the printers of the flags, or looks for some and asks for the names of their stations, or asks
// for an address.
func (c *cli) askPrinters(ctx context.Context, f initFlags, q *questions, s *doctor.Setup) error {
	var all []doctor.SetupPrinter
	add := func(p doctor.SetupPrinter) error {
		s.Printers = append(all, p)
		err := s.Problems(c.config)
		if err == nil {
			all = s.Printers
		}
		return err
	}
	for _, text := range f.printers {
		name, address, ok := strings.Cut(text, "=")
		if !ok {
			return usagef("--printer %q is not NAME=ADDRESS, as grill=tcp://192.168.1.50", text)
		}
		p := doctor.SetupPrinter{Name: name, FoundPrinter: doctor.FoundPrinter{Address: address}}
		if err := add(p); err != nil {
			return usagef("--printer %s: %w", text, err)
		}
	}
	if len(all) > 0 {
		return nil
	}
	found, err := c.discover(ctx, f.networks)
	if err != nil {
		return err
	}
	for _, p := range found {
		if p.Program != "" {
			continue
		}
		what := fmt.Sprintf("Found %s (%s). Name of its station, - to leave it out", p.Address,
			cmp.Or(strings.TrimSpace(p.Model+" "+p.State), "it answers nothing"))
		byDefault := map[bool]string{true: "kitchen", false: "-"}[len(all) == 0 && p.Ability != "sent"]
		err := q.ask("printer", "", what, byDefault, func(a string) error {
			if a == "-" {
				return nil
			}
			return add(doctor.SetupPrinter{Name: a, FoundPrinter: p})
		})
		if err != nil {
			return err
		}
	}
	if len(all) > 0 {
		s.Printers = all
		return nil
	}
	return q.ask("printer", "", "Address of the printer, as tcp://192.168.1.50 or usb://; its station is kitchen", "",
		func(a string) error {
			return add(doctor.SetupPrinter{Name: "kitchen", FoundPrinter: doctor.FoundPrinter{Address: a}})
		})
}

// boxZone is the time zone of the box, which is often that of the venue; empty if it is UTC, which no restaurant has.
func boxZone() string {
	path, err := os.Readlink("/etc/localtime")
	if _, zone, ok := strings.Cut(path, "/zoneinfo/"); err == nil && ok && !strings.HasSuffix(zone, "UTC") {
		return zone
	}
	return ""
}

// printTests prints a ticket at each printer. What was written stays: the printer may only be off.
func (c *cli) printTests(ctx context.Context, s doctor.Setup) (failed []error) {
	for _, p := range s.Printers {
		fmt.Fprintf(c.out, "printing a test ticket at %s\n", p.Name)
		proof, err := doctor.PrintTest(ctx, c.config, p.Name)
		if err != nil {
			failed = append(failed, fmt.Errorf("no test ticket at %s: %w", p.Name, err))
			continue
		}
		fmt.Fprintf(c.out, "it is %s; look at the paper\n", proof)
	}
	return failed
}

// showNext says what the operator does now.
func (c *cli) showNext(s doctor.Setup, secret string) error {
	flag := " --config " + c.config
	start := "ticketrail serve" + flag
	if filepath.Dir(c.config) == "/etc/ticketrail" {
		flag, start = "", "systemctl enable --now ticketrail"
	}
	router := ""
	if s.CertFile != "" || s.ACME {
		router = "\n   At the router, port 443 must lead to port 8443 of this box."
	}
	return write(c.out, strings.NewReplacer(
		"ROUTER",
		router,
		"SECRETFILE",
		filepath.Join(filepath.Dir(c.config), "secrets/webhook"),
		"START",
		start,
		"VENUE",
		singleLine(s.VenueName),
		"HOST",
		cmp.Or(s.Host, "HOST"),
		"SECRET",
		secret,
		"FLAG",
		flag,
		"LOCAL",
		localURL(s),
		"ID",
		s.VenueID,
		"ORDER",
		uuid.NewString(),
	).Replace(`
1. Start the daemon:
     START
2. Enter this address at the service, for VENUE. Who knows it can print: keep it secret.
     https://HOST/webhooks/print/SECRET
   The secret is also in SECRETFILE.ROUTER
3. See that everything answers:
     ticketrail check --onlineFLAG
     ticketrail doctorFLAG
4. Send an order as the service would:
     curl LOCAL/webhooks/print/SECRET \
       -H 'Content-Type: application/json' -H 'x-svc-device-id: test' \
       -H 'x-svc-venueid: ID' \
       -d '{"records":[{"id":"ORDER","items":[{"name":"Burger"}]}]}'
`))
}

// localURL is the webhook as this box itself reaches it. Its certificate is for another name.
func localURL(s doctor.Setup) string {
	if s.CertFile != "" || s.ACME {
		return "-k https://127.0.0.1:8443"
	}
	return "http://" + s.Listen
}

// questions asks on stdout and reads lines from stdin.
type questions struct {
	c     *cli
	given func(flag string) bool
	in    *bufio.Scanner
}

// maxTries keeps a pipe with a wrong answer from asking for ever.
const maxTries = 3

// ask takes the answer of a flag, or asks until check accepts one. An empty answer is the default.
func (q *questions) ask(flag, value, question, byDefault string, check func(string) error) error {
	if q.given(flag) {
		if err := check(cmp.Or(value, byDefault)); err != nil {
			return usagef("--%s: %w", flag, err)
		}
		return nil
	}
	for range maxTries {
		hint := ""
		if byDefault != "" {
			hint = " [" + byDefault + "]"
		}
		if err := write(q.c.out, strings.TrimSuffix(q.c.line(question+hint), "\n")+": "); err != nil {
			return err
		}
		if !q.in.Scan() {
			return usagef("no answer; answer it, or give --%s: %w", flag, cmp.Or(q.in.Err(), io.ErrUnexpectedEOF))
		}
		err := check(cmp.Or(strings.TrimSpace(q.in.Text()), byDefault))
		if err == nil {
			return nil
		}
		q.c.printError("  ", err)
	}
	return usagef("no valid answer; give --%s", flag)
}
