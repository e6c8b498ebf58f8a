package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

func (c *cli) screensList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list kitchen screens and paired browsers",
		Long: `list shows every screen: how many of its pages are open, or since when none is;
how many tickets are on its board; and the address to open in a browser. Below
are the paired browsers, each with the id that "screens revoke" takes.`,
		Args: noArgs,
	}
	return query(c, cmd, func(ctx context.Context, d *admin.Client, _ []string) (admin.Screens, error) {
		return d.Screens(ctx)
	}, func(all admin.Screens) error { return c.screenTables(all, time.Now()) })
}

// screenTables shows two tables: what the cooks see, and which browsers may see it.
func (c *cli) screenTables(all admin.Screens, now time.Time) error {
	t := newTable(c.out, "SCREEN", "MODE", "STATE", "SINCE", "TICKETS", "OLDEST", "PAIRED", "BACKUP", "ADDRESS")
	for _, s := range all.Screens {
		state, since, oldest, backup := strings.ReplaceAll(s.State, "_", " "), "-", "-", "-"
		if s.Live > 0 {
			state = pages(s.Live)
		}
		if s.Since != nil {
			since = admin.Age(now.Sub(*s.Since))
		}
		if s.Oldest != nil {
			oldest = admin.Age(now.Sub(*s.Oldest))
		}
		if s.Backup != "" {
			backup = s.Backup
		}
		t.row(s.Name, s.Mode, state, since, ticketsOf(s), oldest, strconv.Itoa(s.Paired), backup, s.Address)
	}
	if err := t.end(); err != nil || len(all.Pairings) == 0 {
		return err
	}
	if err := write(c.out, "\n"); err != nil {
		return err
	}
	t = newTable(c.out, "PAIRING", "SCREEN", c.timeHead("PAIRED"), "SEEN", "FROM", "BROWSER")
	for _, p := range all.Pairings {
		seen := "-"
		if p.Seen != nil {
			seen = admin.Age(now.Sub(*p.Seen)) + " ago"
		}
		t.row(p.ID, shownBy(p), c.formatTime(p.Paired), seen, p.Address, p.Browser)
	}
	return t.end()
}

// ticketsOf is how many tickets a screen has, and what a cook may have missed: "7, 3 not seen, 1 on paper".
func ticketsOf(s admin.Screen) string {
	text := strconv.Itoa(s.Open)
	if s.Unseen > 0 {
		text += fmt.Sprintf(", %d not seen", s.Unseen)
	}
	if s.OnPaper > 0 {
		text += fmt.Sprintf(", %d on paper", s.OnPaper)
	}
	return text
}

// pages is the number of open pages of a screen, as the listings show it. It is text and not a
// number, because the column also has states.
func pages(n int) string {
	if n == 1 {
		return "1 page open"
	}
	return strconv.Itoa(n) + " pages open"
}
