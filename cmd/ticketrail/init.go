package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/printer/layout"
)

// init writes the first configuration of a box.
func (c *cli) init() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "set a box up: configuration, printers, service, first ticket",
		Long: `init asks for the venue, its time zone and opening hours, the address for
messages about problems, the printers, and how the service reaches this box. It
looks for printers on the box's own networks (see "printers discover"), and asks
each printer on a network for its model, from which it knows the profile.

It writes the configuration with a new secret, checks it, sends a test message,
starts the systemd unit (as root, if it was installed as a package), prints a
test ticket, and shows the address to enter at the service. It replaces no file,
and leaves none behind if something fails.

Each question has a flag; with all of them, nothing is asked. The answers may
also come from a file or a pipe, one on each line.`,
		Example: `  ticketrail init
  ticketrail init --config ./kitchen.yaml --venue "Harbour Grill" \
    --venue-id new --timezone Australia/Melbourne --hours "daily 11:00-23:00" \
    --tell ntfy://ntfy.sh/a-topic-nobody-guesses --printers found \
    --reach proxy --host ""`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.setUp(cmd.Context(), &questions{c: c, flags: cmd.Flags(), in: bufio.NewScanner(c.in)})
		},
	}

	fl := cmd.Flags()
	fl.String("venue", "", "`name` of the venue, on tickets and in routes")
	fl.String("venue-id", "", "the venue's `id`, as the service shows it; new invents one, to try things out")
	fl.String("timezone", "", "the venue's time `zone`, as Australia/Melbourne")
	fl.String("hours", "", "the `times` when orders come, as mon-fri 11:30-14:30; fri,sat 18:00-02:00; - for none")
	fl.String("tell", "", "the `URL` for messages about problems, as ntfy://ntfy.sh/TOPIC or smtp://...; - for none")
	fl.String("printers", "", "`found`: use every printer on the network, named kitchen, kitchen-2 and so on")
	fl.StringArray("printer", nil, "a station and its printer, `NAME=ADDRESS`; repeat it for several; the first gets "+
		"everything until there are routes")
	fl.StringSlice("network", nil, "look for printers only in this `subnet` of the box's networks, as 192.168.1.0/24")
	fl.String("reach", "", "`how` the service reaches this box: proxy (a proxy or a tunnel on this box), tls "+
		"(directly), or acme (directly; Let's Encrypt gives the certificate)")
	fl.String("host", "", "the `name` in the address that the service gets, as kitchen.example.com")
	fl.String("cert", "", "certificate `file` for --reach tls")
	fl.String("key", "", "key `file` of that certificate")
	fl.Bool("no-test", false, "print no test tickets")
	return cmd
}

func (c *cli) setUp(ctx context.Context, q *questions) error {
	// Before the questions, so that the operator does not answer eight of them in vain.
	if _, err := os.Lstat(c.config); err == nil {
		return usagef("%s exists already, and init replaces nothing: move it away, or name another file with --config",
			c.config)
	}

	setup := doctor.NewSetup()
	if err := c.askSetup(ctx, q, &setup); err != nil {
		return err
	}

	secret, err := setup.Write(ctx, c.config)
	if err != nil {
		return fmt.Errorf("nothing was set up: %w", err)
	}

	fmt.Fprintf(c.out, "\nwrote %s\n", c.config)

	// The files stay whatever fails now: a printer may only be off.
	var failed []error
	if setup.Tell != "" {
		fmt.Fprintln(c.out, "sending a test message")
		if err := setup.TellTest(ctx, c.config); err != nil {
			failed = append(failed, fmt.Errorf("no test message: %w; correct %s", err, c.config))
		}
	}

	started, err := doctor.StartService(ctx, c.config)
	if started {
		fmt.Fprintln(c.out, "the service runs, and starts at each boot")
	}

	failed = append(failed, err)
	for _, p := range setup.Printers {
		if q.given("no-test") {
			continue
		}
		fmt.Fprintf(c.out, "printing a test ticket at %s\n", p.Name)
		if err := c.firstTicket(ctx, p.Name, started); err != nil {
			failed = append(failed, fmt.Errorf("no test ticket at %s: %w", p.Name, err))
		}
	}

	return errors.Join(append(failed, c.showNext(setup, secret, started))...)
}

// firstTicket prints a test ticket, by the daemon if it runs: it has the printer then.
func (c *cli) firstTicket(ctx context.Context, station string, started bool) error {
	if started {
		test := c.printersTest()
		test.SetContext(ctx)
		return test.RunE(test, []string{station})
	}

	proof, err := doctor.PrintTest(ctx, c.config, station)
	if err == nil {
		fmt.Fprintf(c.out, "it is %s; look at the paper\n", proof)
	}
	return err
}

// askSetup fills in s. Each answer is checked as the daemon will check it.
func (c *cli) askSetup(ctx context.Context, q *questions, s *doctor.Setup) error {
	take := func(set func(answer string)) func(string) error {
		return func(answer string) error { set(answer); return s.Problems(c.config) }
	}
	q.ask("venue", "Name of the venue, for tickets", "", take(func(a string) { s.VenueName = a }))
	q.ask("venue-id", "Its id at the service (a UUID), or new to invent one and try things out", "new",
		take(func(a string) {
			if s.VenueID = a; a == "new" {
				s.VenueID = uuid.NewString()
			}
		}))

	q.ask("timezone", "Its time zone, as Australia/Melbourne", boxZone(), func(a string) error {
		if a == "" {
			return errors.New("a time zone is required: without one, tickets would show UTC; for example Europe/Berlin")
		}
		s.Timezone = a
		return s.Problems(c.config)
	})
	q.ask("hours", "Opening hours, as mon-fri 11:30-14:30; fri,sat 18:00-02:00; - if nobody shall be told of "+
		"silence in them", "-", take(func(a string) {
		s.Hours = nil
		for line := range strings.SplitSeq(a, ";") {
			if line = strings.TrimSpace(line); line != "" && line != "-" {
				s.Hours = append(s.Hours, line)
			}
		}
	}))

	q.ask("tell", "Who is told when something needs a person, as ntfy://ntfy.sh/TOPIC or "+
		"smtp://USER:PASSWORD@HOST:587/?from=A@B&to=C@D; - for nobody", "-",
		take(func(a string) { s.Tell = strings.TrimPrefix(a, "-") }))
	c.askPrinters(ctx, q, s)

	reach := ""
	q.ask("reach", "How the service reaches this box: proxy (a proxy or a tunnel on this box; also to try "+
		"things out), tls (directly, with a certificate), or acme (directly, with a certificate that Let's Encrypt "+
		"gives)", "proxy",
		func(a string) error {
			if reach = a; a != "proxy" && a != "tls" && a != "acme" {
				return fmt.Errorf("%q is not proxy, tls or acme", a)
			}
			return nil
		})

	if reach == "tls" || reach == "acme" {
		s.Listen, s.ACME = "0.0.0.0:8443", reach == "acme"
	}
	if reach == "tls" {
		q.ask("cert", "File with the certificate", "", func(a string) error { s.CertFile = a; return nil })
		q.ask("key", "File with its key", "", take(func(a string) { s.KeyFile = a }))
	}

	q.ask("host", "Host name in the address for the service, as kitchen.example.com; - if not known yet", "-",
		func(a string) error {
			if strings.ContainsAny(a, "/ ") {
				return fmt.Errorf("%q is no host name; write it without https:// and without a path", a)
			}
			if s.Host = strings.Trim(a, "-"); s.Host == "" && s.ACME {
				return errors.New("a certificate of an ACME server needs the host name")
			}
			return s.Problems(c.config)
		})

	return q.err
}

// askPrinters takes the printers of the flags, or looks for some and asks for the names of their stations, or asks
// for an address.
func (c *cli) askPrinters(ctx context.Context, q *questions, s *doctor.Setup) {
	var all []doctor.SetupPrinter
	add := func(name string, p doctor.FoundPrinter) error {
		s.Printers = append(all, doctor.SetupPrinter{Name: name, FoundPrinter: p})
		err := s.Problems(c.config)
		if err == nil {
			all = s.Printers
		}
		return err
	}

	flags, _ := q.flags.GetStringArray("printer")
	for _, text := range flags {
		name, address, ok := strings.Cut(text, "=")
		if !ok {
			q.fail(usagef("--printer %q is not NAME=ADDRESS, as grill=tcp://192.168.1.50", text))
		} else if err := add(name, doctor.AskPrinter(ctx, address)); err != nil {
			q.fail(usagef("--printer %s: %w", text, err))
		}
	}
	if q.err != nil || len(all) > 0 {
		return
	}

	networks, _ := q.flags.GetStringSlice("network")
	found, err := c.discover(ctx, networks)
	q.fail(err)
	takeAll := q.given("printers")
	if which := q.flags.Lookup("printers").Value.String(); takeAll && which != "found" {
		q.fail(usagef("--printers %q is not found; name one with --printer NAME=ADDRESS", which))
	}

	for _, p := range found {
		if p.Program != "" {
			continue
		}
		if takeAll {
			name := fmt.Sprintf("kitchen-%d", len(all)+1)
			if len(all) == 0 {
				name = "kitchen"
			}
			q.fail(add(name, p))
			continue
		}

		what := fmt.Sprintf("Found %s (%s). Name of its station, - to leave it out", p.Address,
			cmp.Or(strings.TrimSpace(p.Model+" "+p.State), "it answers nothing"))
		byDefault := map[bool]string{true: "kitchen", false: "-"}[len(all) == 0 && p.BestProof != "sent"]
		q.ask("printer", what, byDefault, func(a string) error {
			if a == "-" {
				return nil
			}
			return add(a, p)
		})
	}

	if s.Printers = all; len(all) == 0 && takeAll {
		q.fail(errors.New("no printer was found; is it on and in this network? name it with --printer NAME=ADDRESS"))
	} else if len(all) == 0 {
		q.ask("printer", "Address of the printer, as tcp://192.168.1.50 or usb://; its station is kitchen", "",
			func(a string) error { return add("kitchen", doctor.AskPrinter(ctx, a)) })
	}
}

// boxZone is the time zone of the box, which is often the zone of the venue; empty if it is UTC, which no restaurant
// has.
func boxZone() string {
	path, err := os.Readlink("/etc/localtime")
	if _, zone, ok := strings.Cut(path, "/zoneinfo/"); err == nil && ok && !strings.HasSuffix(zone, "UTC") {
		return zone
	}
	return ""
}

// showNext shows the operator's next steps.
func (c *cli) showNext(s doctor.Setup, secret string, started bool) error {
	program, flag := "ticketrail", " --config "+c.config
	if strings.Contains(os.Args[0], "/") { // as it was called
		program = os.Args[0]
	}

	start := program + " serve" + flag
	if filepath.Dir(c.config) == "/etc/ticketrail" {
		flag, start = "", "systemctl enable --now ticketrail"
	}

	first := "Start the daemon:\n     " + start
	if started {
		first = "The daemon runs. After a change of the configuration:\n     systemctl reload ticketrail"
	}

	router := ""
	if s.CertFile != "" || s.ACME {
		router = "\n   At the router, port 443 must lead to port 8443 of this box."
	}

	return write(c.out, strings.NewReplacer("ROUTER", router, "FIRST", first, "PROGRAM", program,
		"VENUE", layout.Clean(s.VenueName),
		"SECRETFILE", filepath.Join(filepath.Dir(c.config), "secrets/webhook"), "HOST", cmp.Or(s.Host, "HOST"),
		"SECRET", secret, "FLAG", flag, "LOCAL", localURL(s), "ID", s.VenueID, "ORDER", uuid.NewString(),
	).Replace(`
1. FIRST
2. Enter this address at the service, for VENUE. Who knows it can print: keep it secret.
     https://HOST/webhooks/print/SECRET
   The secret is also in SECRETFILE.ROUTER
3. See that everything answers:
     PROGRAM check --onlineFLAG
     PROGRAM doctorFLAG
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
