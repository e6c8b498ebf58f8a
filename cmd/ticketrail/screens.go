package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/queue/ticket"
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

// screenTables shows two tables: the screens with their tickets, and the browsers that may show them.
func (c *cli) screenTables(all admin.Screens, now time.Time) error {
	rows := newTable(c.out, "SCREEN", "MODE", "STATE", "SINCE", "TICKETS", "OLDEST", "PAIRED", "BACKUP", "ADDRESS")
	for _, s := range all.Screens {
		state := "nobody looking"
		if s.Live > 0 {
			state = pages(s.Live)
		}
		rows.row(s.Name, s.Mode, state, ageOf(s.Since, now), ticketsOf(s), ageOf(s.Oldest, now), strconv.Itoa(s.Paired),
			cmp.Or(s.Backup, "-"), s.Address)
	}
	if err := rows.end(); err != nil || len(all.Pairings) == 0 {
		return err
	}

	rows = newTable(c.out, "")
	rows.row("PAIRING", "SCREEN", c.timeHead("PAIRED"), "SEEN", "FROM", "BROWSER")
	for _, p := range all.Pairings {
		seen := "-"
		if !p.Seen.IsZero() {
			seen = finding.Age(now.Sub(p.Seen)) + " ago"
		}
		rows.row(p.ID, shownBy(p), c.formatTime(p.Paired), seen, p.Address, p.Browser)
	}

	return rows.end()
}

// ageOf is how long ago a time was; "-" if there is none.
func ageOf(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return finding.Age(now.Sub(t))
}

// ticketsOf is the number of tickets on a screen, with the number that a cook may have missed: "7, 3 not seen".
func ticketsOf(s admin.Screen) string {
	text := strconv.Itoa(s.Open)
	if s.Unseen > 0 {
		text += fmt.Sprintf(", %d not seen", s.Unseen)
	}
	return text
}

// pages is the number of open pages of a screen, in a column that also has states.
func pages(n int) string { return ticket.Plural(n, "page") + " open" }

// screensPair lets in a browser on another machine: orders have names in them, and anyone on the
// restaurant's network can open the page.
func (c *cli) screensPair() *cobra.Command {
	var station string
	var manager bool
	cmd := &cobra.Command{
		Use:   "pair CODE",
		Short: "pair the browser that shows CODE with a screen",
		Long: `pair gives a browser on another machine access to one screen. Open the address
of the screen in that browser (ticketrail screens list shows it): the page shows
a code, which changes every ten minutes. Upper and lower case, dashes and spaces
in the code do not matter. The browser stays paired until "screens revoke".

With --manager the browser sees every screen, and its page /manage pairs further
browsers. The page works in a browser on this computer too.`,
		Args: oneArg,
	}

	c.stationFlag(cmd, &station, "station", "`screen` to show (optional if there is only one)")
	cmd.Flags().BoolVar(&manager, "manager", false, "let it see every screen and pair other browsers")
	return query(c, cmd, func(ctx context.Context, d *admin.Client, args []string) (admin.Pairing, error) {
		return d.Pair(ctx, args[0], station, manager)
	}, func(p admin.Pairing) error {
		return printLine(c.out, "the browser at %s now shows %s; to end this: ticketrail screens revoke %s",
			p.Address, shownBy(p), p.ID)
	})
}

// shownBy is the screen that a paired browser shows, in the words of a listing.
func shownBy(p admin.Pairing) string {
	if p.Manager {
		return "every screen (manager)"
	}
	return p.Station
}

// screensRevoke is for a tablet that was stolen, sold or moved to another place. Its open page ends
// at once.
func (c *cli) screensRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke PAIRING",
		Short: "end a pairing: the browser loses access at once",
		Args:  oneArg,
	}

	return query(c, cmd, func(ctx context.Context, d *admin.Client, args []string) (admin.Pairing, error) {
		return d.Revoke(ctx, args[0])
	}, func(p admin.Pairing) error {
		return printLine(c.out, "the browser at %s no longer has access to %s", p.Address, shownBy(p))
	})
}
