package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"ticketrail/config"
	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/raster"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// Check reads the configuration and returns every problem with it, and what is allowed
// but worth knowing.
func Check(path string) (warnings []string, err error) {
	conf, err := load(path)
	if err != nil {
		return nil, err
	}
	_, fonts := newDrawer(conf)
	return append(conf.Warnings, fonts...), nil
}

// Inspect shows on w what the print request in body would become: where each field was
// found, the routes taken, each ticket as text. Nothing is sent anywhere.
func Inspect(path string, body io.Reader, venue, device string, w io.Writer) error {
	conf, err := load(path)
	if err != nil {
		return err
	}
	p, err := compilePlan(conf)
	if err != nil {
		return err
	}
	v, err := findVenue(conf, venue)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(body, int64(conf.Receiver.MaxBody)+1))
	if err != nil {
		return fmt.Errorf("read print request: %w", err)
	}
	if len(raw) > int(conf.Receiver.MaxBody) {
		return fmt.Errorf("the body is larger than receiver.max_body (%d bytes): it would be answered 400", conf.Receiver.MaxBody)
	}
	req, err := contract.Open(raw, mode(conf))
	if err != nil {
		return fmt.Errorf("it would be answered 400: %w", err)
	}
	drawer, _ := newDrawer(conf)
	r := p.SplitTraced(req, newVenue(v), device, time.Now(), nil)
	var out bytes.Buffer
	fmt.Fprintf(&out, "request %s for venue %s\n", layout.Clean(req.ID), v.Name)
	for _, a := range req.Anomalies {
		fmt.Fprintf(&out, "odd: %s\n", layout.Clean(fmt.Sprint(a)))
	}
	fmt.Fprintln(&out)
	out.WriteString(r.Trace.String())
	for _, d := range r.Request.Drafts {
		o, err := looks(conf, drawer, d.Station)
		if err != nil {
			return err
		}
		o.OnTemplateError = func(err error) {
			fmt.Fprintf(&out, "the template failed, the built-in one stands in: %s\n", layout.Clean(err.Error()))
		}
		fmt.Fprintf(&out, "\nticket for %s (%d columns):\n\n", d.Station, o.Columns)
		lines := layout.ComposeWith(ticket.Delivery{Station: d.Station, Attempt: 1, Ticket: d.Ticket}, o)
		out.WriteString(layout.Plain(lines, o.Columns))
	}
	_, err = w.Write(out.Bytes())
	return err
}

// looks is how the tickets of a station look, in the letters its printer has; one that is no
// printer's looks like most.
func looks(conf *config.Config, drawer *raster.Drawer, station string) (layout.Options, error) {
	p := config.DefaultPrinter()
	for _, q := range conf.Printers {
		if q.Name == station {
			p = q
		}
	}
	o, err := look(p, nil)
	if err != nil {
		return o, err
	}
	m, err := model(p)
	if o.Columns == 0 {
		o.Columns = m.Columns
	}
	o.Printer = station
	o.Printable = func(s string) string { return escpos.PrintableWith(s, escpos.Options{Profile: m, Drawer: drawer}) }
	return o, err
}

// findVenue takes a name or an id, as people type them; empty is the first configured.
func findVenue(conf *config.Config, want string) (config.Venue, error) {
	if want == "" {
		return conf.Venues[0], nil
	}
	id, _ := contract.CanonicalID(want)
	for _, v := range conf.Venues {
		if v.Name == want || v.ID == id {
			return v, nil
		}
	}
	return config.Venue{}, noVenue(conf, want)
}

func noVenue(conf *config.Config, want string) error {
	var names []string
	for _, v := range conf.Venues {
		names = append(names, v.Name)
	}
	return &UnknownVenue{want, names}
}

// Unchecked begins the line that the child of [CheckInChild] prints when it could not
// look at the file at all, which says nothing about the file.
const Unchecked = "unchecked: "

// Damaged is the line that the child prints when it has found the file damaged.
const Damaged = "damaged"

// CheckInChild returns a check that runs `exe db check PATH`. A file is damaged only if the
// child says so, or if what it read killed it: a page that leads bbolt astray ends in a
// panic or a fault. Any other end (a stop in the middle, no memory) says nothing about the file,
// and a good file that is set aside is a kitchen's orders lost.
func CheckInChild(exe string) func(ctx context.Context, path string) error {
	return func(ctx context.Context, path string) error {
		var out, trouble bytes.Buffer
		cmd := exec.CommandContext(ctx, exe, "db", "check", path)
		cmd.Stdout, cmd.Stderr = &out, &trouble
		err := cmd.Run()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, died := errors.AsType[*exec.ExitError](err); !died {
			return fmt.Errorf("run %s db check: %w", exe, err)
		}
		if why, ok := strings.CutPrefix(strings.TrimSpace(out.String()), Unchecked); ok {
			return fmt.Errorf("check database: %s", why)
		}
		said := strings.TrimSpace(trouble.String())
		first, _, _ := strings.Cut(said, "\n")
		if strings.TrimSpace(out.String()) == Damaged || diedOfThePages(cmd.ProcessState, said) {
			return fmt.Errorf("check %s: %w: %s (%w)", path, queue.ErrDamaged, first, err)
		}
		return fmt.Errorf("check %s: the check did not finish: %s (%w)", path, first, err)
	}
}

// diedOfThePages says whether a child ended as one does that follows a bad page.
func diedOfThePages(end *os.ProcessState, said string) bool {
	if w, ok := end.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal() == syscall.SIGBUS || w.Signal() == syscall.SIGSEGV
	}
	// The Go runtime's own last words; "out of memory" and the like are among them too.
	for _, word := range []string{"panic: ", "unexpected fault address", "SIGBUS", "SIGSEGV", "stack overflow"} {
		if strings.Contains(said, word) {
			return true
		}
	}
	return false
}
