package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/finding"
	"ticketrail/printer/layout"
)

// status is the first command at 19:30: is it this box, and how is it mended? Everything in it comes from the daemon
// in one answer; only a wrong version is found here, because it takes both programs.
func (c *cli) status() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show whether all is well, the worst first",
		Long: `status shows what needs a person (FAIL), what works but not as it should (WARN)
and what is fine (OK): orders, stations, tickets, clock, disk, certificates,
version. The exit code is 1 if something needs a person, so that monitoring can
use it, and 3 if the daemon does not run: then status shows why, as far as it
can be seen in a moment ("doctor" looks longer).`,
		Example: "  watch ticketrail status",
		Args:    noArgs,
	}

	return c.asking(c.jsonFlag(cmd), func(ctx context.Context, d *admin.Client, _ []string) error {
		seen, err := c.overview(ctx, d)
		if _, down := errors.AsType[*admin.NotRunning](err); down && c.isSetUp() {
			found, _ := c.box().Look(ctx, c.config)
			// askDaemon asks once more: it makes a finding of a daemon that does not answer.
			seen = admin.Overview{At: time.Now(), Build: admin.ThisBuild(),
				Findings: doctor.Join(c.askDaemon(ctx), found)}
			slices.SortStableFunc(seen.Findings, finding.WorstFirst)
		} else if err != nil {
			return err
		}
		shown := c.show(seen, func() error { return c.printFindings(seen.Findings) })
		return cmp.Or(shown, err, personNeeded(seen.Findings))
	})
}

// box is the machine that this program runs on.
func (c *cli) box() doctor.Box { return doctor.Box{Root: "/", CheckStore: checkInChild} }

// doctor is for a kitchen where nothing prints, for an unknown reason: it also looks at what takes time.
func (c *cli) doctor() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "doctor",
		Short: "look for what keeps tickets from printing, also without the daemon",
		Long: `doctor looks at the configuration, the service, the ports, the database and its
disk, the clock, certificates, the address that the service uses, drivers,
printers, screens and the point-of-sale API, and at what the running daemon says
of itself (as "status"). Each finding is OK, WARN or FAIL, with what to do, the
worst first. It changes and prints nothing; to time the disk, it writes a small
file and removes it. The exit code is 1 if something needs a person. Run it as
root: it then also sees what the service's user cannot read, and which program
has a port.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := c.box().Diagnose(cmd.Context(), c.config)
			return c.showFindings(doctor.Join(c.askDaemon(cmd.Context()), found))
		},
	})
}

// showFindings shows findings, the worst first. Its error names the subjects that need a person.
func (c *cli) showFindings(found []finding.Finding) error {
	slices.SortStableFunc(found, finding.WorstFirst)
	return cmp.Or(c.show(found, func() error { return c.printFindings(found) }), personNeeded(found))
}

func (c *cli) printFindings(found []finding.Finding) error {
	return write(c.out, findingsText(found, coloured(c.out)))
}

// personNeeded is the error that names the subjects that need a person.
func personNeeded(findings []finding.Finding) error {
	var needed []string
	for _, f := range findings {
		if f.Level == finding.Fail && !slices.Contains(needed, f.Subject) {
			needed = append(needed, f.Subject)
		}
	}

	if len(needed) == 0 {
		return nil
	}
	return fmt.Errorf("needs a person: %s", strings.Join(needed, ", "))
}

// cause is the fault, since when (in the zone of Since), and the error in its own words.
func cause(f finding.Finding) string {
	text := f.Text
	if !f.Since.IsZero() {
		clock := "15:04"
		if time.Since(f.Since) > 12*time.Hour {
			clock = "2 Jan 15:04"
		}
		text += ", since " + f.Since.Format(clock)
	}

	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}
	return text
}

// findingsText is a line for each finding, and one for its remedy.
func findingsText(findings []finding.Finding, colour bool) string {
	var b strings.Builder
	rows := newTable(&b)
	for _, f := range findings {
		level := strings.ToUpper(string(f.Level))
		if f.Level == finding.OK && slices.ContainsFunc(findings, func(g finding.Finding) bool {
			return g.Level == finding.Fail && g.Subject == f.Subject && g.Station == f.Station
		}) {
			level = "" // a fact about a subject that fails
		}

		rows.row(level, f.Subject, cause(f))
		if f.Do != "" {
			rows.row("", "", "to fix: "+f.Do)
		}

		for _, line := range f.Examples {
			rows.row("", "", "  "+line)
		}
	}

	_ = rows.end() // a strings.Builder takes everything
	if !colour {
		return b.String()
	}

	// The words stay: a colour alone says nothing to whoever cannot see it.
	return strings.NewReplacer("\nFAIL ", "\n\x1b[1;31mFAIL\x1b[0m ", "\nWARN ", "\n\x1b[33mWARN\x1b[0m ",
		"\nOK ", "\n\x1b[32mOK\x1b[0m ").Replace("\n" + b.String())[1:]
}

// overview asks the daemon and adds the facts that only this program can see.
func (c *cli) overview(ctx context.Context, d *admin.Client) (admin.Overview, error) {
	seen, err := d.Overview(ctx)
	mine := admin.ThisBuild()
	for i, f := range seen.Findings {
		if c.withoutOrders {
			seen.Findings[i].Examples = nil
		}
		if f.Subject == "version" && mine != seen.Build {
			seen.Findings[i] = finding.Finding{Level: finding.Warn, Subject: "version",
				Text: fmt.Sprintf("the running daemon is %s, this command is %s", seen.Build.Version, mine.Version),
				Do:   "systemctl restart ticketrail"}
		}
	}
	slices.SortStableFunc(seen.Findings, finding.WorstFirst)
	return seen, err
}

// askDaemon returns the findings of the running daemon.
func (c *cli) askDaemon(ctx context.Context) []finding.Finding {
	daemon, err := c.client()
	if err != nil {
		return nil // the configuration, which is a finding already
	}

	seen, err := c.overview(ctx, daemon)
	if down, ok := errors.AsType[*admin.NotRunning](err); ok && !c.isSetUp() {
		return []finding.Finding{finding.New("daemon/not_set_up", finding.Fail, "this box is not set up yet", "",
			"ticketrail init")}
	} else if ok {
		return []finding.Finding{finding.New("daemon/no_answer", finding.Fail, "no answer", "at "+down.Socket,
			"systemctl start ticketrail; if it ends again, journalctl -u ticketrail -n 50 says why")}
	}
	if err != nil {
		// The text has the remedy.
		return []finding.Finding{finding.New("daemon/not_asked", finding.Fail, "it cannot be asked",
			layout.Clean(err.Error()), "")}
	}

	return seen.Findings
}
