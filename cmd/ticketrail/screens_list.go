package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
)

func (c *cli) screensList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the screens, who looks at them, and the browsers that are paired",
		Long: `list shows every screen: how many pages of it are open, since when nobody looks, how many
tickets are on its board, and the address to open on it. Below that are the browsers that were
paired, each with the id by which screens revoke ends it.`,
		Args: cobra.NoArgs,
	}
	return answers(c, cmd, func(ctx context.Context, d *admin.Client, _ []string) (admin.Screens, error) {
		return d.Screens(ctx)
	}, func(all admin.Screens) error { return c.screenTables(all, time.Now()) })
}

func (c *cli) screenTables(all admin.Screens, now time.Time) error {
	t := newTable(c.out, "SCREEN", "MODE", "STATE", "SINCE", "TICKETS", "OLDEST", "PAIRED", "BACKUP", "ADDRESS")
	for _, s := range all.Screens {
		state, since, oldest, backup := strings.ReplaceAll(s.State, "_", " "), "-", "-", "-"
		if s.Live > 0 {
			state = pages(s.Live)
		}
		if s.Since != nil {
			since = span(now.Sub(*s.Since))
		}
		if s.Oldest != nil {
			oldest = span(now.Sub(*s.Oldest))
		}
		if s.Backup != "" {
			backup = s.Backup
		}
		t.row(s.Name, s.Mode, state, since, strconv.Itoa(s.Open), oldest, strconv.Itoa(s.Paired), backup, s.Address)
	}
	if err := t.end(); err != nil || len(all.Pairings) == 0 {
		return err
	}
	if err := put(c.out, "\n"); err != nil {
		return err
	}
	t = newTable(c.out, "PAIRING", "SCREEN", "PAIRED", "SEEN", "FROM", "BROWSER")
	for _, p := range all.Pairings {
		seen := "-"
		if p.Seen != nil {
			seen = span(now.Sub(*p.Seen)) + " ago"
		}
		t.row(p.ID, p.Station, clock(p.Paired), seen, p.Address, p.Browser)
	}
	return t.end()
}

// pages is how many pages of a screen are open.
func pages(n int) string {
	if n == 1 {
		return "1 page open"
	}
	return strconv.Itoa(n) + " pages open"
}
