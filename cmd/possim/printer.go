package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
)

// A printer has two parts here: the flags make the options of a virtual.Printer, which does the work;
// a terminal shows what comes out.

// printerFlags are the flags of possim printer.
type printerFlags struct {
	listen, profile, name, condition, png, clone string
	lines                                        float64
	buffer, clients                              int
}

func printerCommand() *cobra.Command {
	var f printerFlags
	c := &cobra.Command{
		Use:   "printer",
		Short: "A kitchen printer on a network port",
		// The first line of output is for scripts: with --listen and port 0 it is the only way to
		// learn the address.
		Long: `A kitchen printer on a network port. It shows each ticket on the terminal.

Its first line of output begins with its address, in the form for the configuration file.`,
		Example: `  possim printer --listen 127.0.0.1:9100 --profile epson-tm-t88
  possim printer --condition paper_out --png /tmp/tickets --lines-per-second 3`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:9100", "address to listen on; port 0 chooses a free port")
	fl.StringVar(&f.profile, "profile", "generic-80mm", "model: "+strings.Join(profile.Names(), ", "))
	fl.StringVar(&f.name, "name", "", "name shown with tickets and used for picture files (default the model)")
	fl.StringVar(
		&f.condition,
		"condition",
		"",
		"its condition at the start: "+strings.Join(virtual.ConditionNames(), ", ")+
			"; separate several by commas",
	)
	fl.StringVar(&f.png, "png", "", "folder for a picture (PNG) of each ticket")
	fl.Float64Var(&f.lines, "lines-per-second", 0, "print speed; 0 is as fast as possible")
	fl.IntVar(&f.buffer, "buffer", 0, "size of the receive buffer in bytes; 0 is unlimited")
	fl.IntVar(&f.clients, "clients", 0, "how many connections it accepts; it serves one at a time; 0 is unlimited")
	fl.StringVar(&f.clone, "clone", "", "answer wrongly, as some clones do: "+strings.Join(cloneNames(), ", "))
	return c
}

// A clone is a wrong way to answer that was seen on printers that imitate a known model.
type clone struct {
	name  string
	apply func(*virtual.Options)
}

// clones are the values of --clone. The daemon must print with each of them: it takes the missing
// or wrong confirmation for doubt, or detects that the printer can confirm nothing.
func clones() []clone {
	return []clone{
		// It answers nothing.
		{"silent", func(o *virtual.Options) { o.Can = 0 }},
		// It answers status queries but does not confirm tickets.
		{"real_time_only", func(o *virtual.Options) { o.Can = virtual.RealTime }},
		// It confirms each ticket with an id that the daemon did not send.
		{"wrong_id", func(o *virtual.Options) { o.Clone.Answer = virtual.WrongID }},
		// It answers with bytes that no manual describes.
		{"garbage", func(o *virtual.Options) { o.Clone.Answer = virtual.Garbage }},
		// Its answers come after the daemon has stopped waiting.
		{"late", func(o *virtual.Options) { o.Clone.Late = 5 * time.Second }},
		// It confirms a ticket when the bytes arrive, before they are on paper.
		{"hasty", func(o *virtual.Options) { o.Clone.Hasty = true }},
		// With the paper out it answers the query for a confirmation with "no paper", and later again.
		{"no_paper_reply", func(o *virtual.Options) { o.Clone.NoPaper = true }},
	}
}

// cloneNames is for the help and for messages.
func cloneNames() (names []string) {
	for _, c := range clones() {
		names = append(names, c.name)
	}
	return names
}

func noModel(name string) error {
	return usageError{fmt.Errorf("--profile: there is no model %q; use one of %s", name,
		strings.Join(profile.Names(), ", "))}
}

// options converts the flags to the options of a simulated printer. All checks are here, before
// anything listens: a mistake exits with 2.
func (f *printerFlags) options() (virtual.Options, error) {
	p, ok := profile.Lookup(f.profile)
	if !ok {
		return virtual.Options{}, noModel(f.profile)
	}
	// The printer answers what its model can answer, and no more.
	o := virtual.OptionsFor(p)
	o.Name, o.Keep = f.name, 1 // a printer that runs for days must not keep every ticket
	if o.Name == "" {
		o.Name = p.Name
	}
	if f.lines < 0 || f.buffer < 0 || f.clients < 0 {
		return o, usageError{fmt.Errorf("--lines-per-second, --buffer and --clients must be 0 or more")}
	}
	o.LinesPerSecond, o.ReceiveBuffer, o.Clients = f.lines, f.buffer, f.clients
	if f.condition != "" {
		c, err := virtual.ParseCondition(f.condition)
		if err != nil {
			return o, usageError{fmt.Errorf("--condition: %w", err)}
		}
		o.Condition = c
	}
	if f.clone != "" {
		all := clones()
		i := slices.IndexFunc(all, func(c clone) bool { return c.name == f.clone })
		if i < 0 {
			return o, usageError{
				fmt.Errorf("--clone: there is no %q; use one of %s", f.clone, strings.Join(cloneNames(), ", ")),
			}
		}
		all[i].apply(&o)
	}
	return o, nil
}

// run runs the printer until ctx ends.
func (f *printerFlags) run(ctx context.Context, out, errs io.Writer) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	s := &terminal{out: out, errs: errs, name: o.Name, dir: f.png}
	if file, ok := out.(*os.File); ok {
		// No escape sequences into a file or a pipe.
		s.colour = term.IsTerminal(int(file.Fd()))
	}
	// Before the printer listens: a folder that cannot be made must not be noticed at the first
	// ticket.
	if f.png != "" {
		if err := os.MkdirAll(f.png, 0o755); err != nil {
			return fmt.Errorf("--png: %w", err)
		}
	}
	o.OnTicket = s.ticket
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", f.listen, err)
	}
	p := virtual.New(o)
	fmt.Fprintf(out, "tcp://%s %s, %d columns, %s\n", l.Addr(), f.profile, o.Columns, p.Conditions())
	return p.Serve(ctx, l)
}

// A terminal shows tickets. The printer calls it with one at a time.
type terminal struct {
	name, dir string
	colour    bool
	out, errs io.Writer
	pictures  int
}

// ticket shows one ticket.
func (s *terminal) ticket(t virtual.Ticket) {
	fmt.Fprint(s.out, t.Draw(s.name, s.colour))
	for _, b := range t.Buzzes {
		fmt.Fprintf(s.out, "  beeps: %d\n", b.Times)
	}
	for _, p := range t.Problems {
		fmt.Fprintf(s.out, "  problem: %s\n", p)
	}
	if s.dir == "" {
		return
	}
	if err := s.picture(t.PNG(0)); err != nil {
		// A full disk must not stop the printer: the ticket is on the terminal.
		fmt.Fprintf(s.errs, "possim: picture: %v\n", err)
	}
}

// picture writes a new file. It never overwrites one of an earlier run.
//
// Pictures are evidence: those of the run that failed are still there after the next one.
func (s *terminal) picture(b []byte) error {
	name := strings.Map(func(r rune) rune {
		// The name comes from a flag and becomes part of a file name.
		if r == '/' || r == os.PathSeparator || r < ' ' {
			return '-'
		}
		return r
	}, s.name)
	for {
		s.pictures++
		file, err := os.OpenFile(filepath.Join(s.dir, fmt.Sprintf("%s-%04d.png", name, s.pictures)),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		// O_EXCL and not a look at the folder first: two printers may write into the same one.
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = file.Write(b)
		if cerr := file.Close(); err == nil {
			err = cerr
		}
		return err
	}
}
