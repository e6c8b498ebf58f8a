package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

// status is the first command at 19:30: is it this box, and what is to be done. Everything in it comes from
// the daemon in one answer; only a wrong version is found here, because it takes both programs.
func (c *cli) status() *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show whether all is well, the worst first",
		Long: `status shows what needs a person (FAIL), what works but not as it should (WARN)
and what is fine (OK):
orders, stations, tickets, clock, disk, certificates, version. The exit code is
1 if something needs a person, so that monitoring can use it.

With --watch it is shown again every two seconds, until it is interrupted.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch && (asJSON || !isTerminal(c.out)) {
				return usagef("--watch is for a terminal: without it the state is shown once")
			}
			d, err := c.client()
			if err != nil {
				return err
			}
			if watch {
				return c.watch(cmd.Context(), d)
			}
			o, err := c.overview(cmd.Context(), d)
			if err != nil {
				return err
			}
			if asJSON {
				err = showJSON(c.out, o)
			} else {
				err = write(c.out, overviewText(o, columnsOf(c.out), coloured(c.out)))
			}
			if needed := o.NeedsPerson(); err == nil && len(needed) > 0 {
				return fmt.Errorf("needs a person: %s", strings.Join(needed, ", "))
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again every two seconds")
	return cmd
}

// watch draws over what it has drawn, so that the terminal does not flicker. A daemon that restarts is
// waited for: to see it come back is why an operator watches.
func (c *cli) watch(ctx context.Context, d *admin.Client) error {
	at := time.Now() // of the daemon's last answer, for its zone
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		o, err := c.overview(ctx, d)
		if ctx.Err() != nil {
			return nil
		}
		columns := columnsOf(c.out)
		if err == nil {
			at = o.At
		}
		text := time.Now().In(at.Location()).Format(time.TimeOnly) + "\n"
		if err != nil {
			text += fold(singleLine(err.Error()), columns, 0) + "\n"
		} else {
			text += overviewText(o, columns, coloured(c.out))
		}
		// Home; each line erases what was behind it; then everything below.
		if err := write(c.out, "\x1b[H"+strings.ReplaceAll(text, "\n", "\x1b[K\n")+"\x1b[J"); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// overview asks the daemon and adds what only this program can see.
func (c *cli) overview(ctx context.Context, d *admin.Client) (admin.Overview, error) {
	o, err := d.Overview(ctx)
	for i := range o.Findings {
		if c.withoutOrders {
			o.Findings[i].Examples = nil
		}
	}
	if mine := admin.ThisBuild(); err == nil && mine != o.Build {
		for i, f := range o.Findings {
			if f.Subject == "version" {
				o.Findings[i] = admin.Finding{Level: admin.Warn, Subject: "version",
					Text: fmt.Sprintf("the running daemon is %s, this command is %s", o.Build.Version, mine.Version),
					Do:   "systemctl restart ticketrail"}
			}
		}
		slices.SortStableFunc(o.Findings, admin.WorstFirst)
	}
	return o, err
}

// overviewText is a line for each finding, and one for what to do about it.
func overviewText(o admin.Overview, columns int, colour bool) string {
	var b strings.Builder
	t := &table{w: &b, columns: columns}
	for _, f := range o.Findings {
		t.row(strings.ToUpper(string(f.Level)), f.Subject, f.Text)
		if f.Do != "" {
			t.row("", "", "to fix: "+f.Do)
		}
		for _, line := range f.Examples {
			t.row("", "", "  "+line)
		}
	}
	_ = t.end() // a strings.Builder takes everything
	if !colour {
		return b.String()
	}
	// The words stay: a colour alone says nothing to whoever cannot see it.
	marks := map[string]string{
		"FAIL": "\x1b[1;31mFAIL\x1b[0m", "WARN": "\x1b[33mWARN\x1b[0m", "OK": "\x1b[32mOK\x1b[0m",
	}
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		word, _, _ := strings.Cut(line, " ")
		out.WriteString(marks[word] + strings.TrimPrefix(line, word))
	}
	return out.String()
}

// coloured reports whether output may have colours: a person reads it, and has not asked for none
// (https://no-color.org).
func coloured(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
