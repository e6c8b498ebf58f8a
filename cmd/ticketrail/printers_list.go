package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

func (c *cli) printersList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [PRINTER...]",
		Short: "how the printers are, and what to do",
		Long: `list shows every printer with what waits for it, and what to do where tickets do not come
out. PROOF is the most that is known about its tickets: confirmed (the printer said that this
one is printed), processed (it answered behind it) or sent (it says nothing); of a screen, shown
(a page says that it shows it); of somebody else's kitchen display, taken (it said so). With names it shows those, and its exit code is 1 if one of them is not fine.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			all, err := d.Stations(cmd.Context())
			if err != nil {
				return err
			}
			for _, n := range all.Notices {
				if err := say(c.err, "ATTENTION: %s", n); err != nil {
					return err
				}
			}
			some, err := named(all.Stations, args)
			if err != nil {
				return err
			}
			if asJSON {
				err = showJSON(c.out, some)
			} else {
				err = c.printerTable(some, time.Now())
			}
			if err != nil || len(args) == 0 {
				return err
			}
			return notPrinting(some)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func named(all []admin.Station, names []string) ([]admin.Station, error) {
	if len(names) == 0 {
		return all, nil
	}
	var some []admin.Station
	for _, n := range names {
		i := slices.IndexFunc(all, func(p admin.Station) bool { return p.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("no station is called %q: see ticketrail printers list", n)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// notPrinting is the error of having asked about printers that are not fine.
func notPrinting(some []admin.Station) error {
	var names []string
	for _, p := range some {
		if !p.Fine() {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("not fine: %s", strings.Join(names, ", "))
}

func (c *cli) printerTable(all []admin.Station, now time.Time) error {
	t := newTable(c.out, "PRINTER", "STATE", "SINCE", "WAITING", "HELD", "OLDEST", "PROOF", "ADDRESS")
	for _, p := range all {
		since, oldest := "-", "-"
		if p.Since != nil {
			since = span(now.Sub(*p.Since))
		}
		if p.Pending+p.Printing > 0 {
			oldest = span(time.Duration(p.OldestSeconds * float64(time.Second)))
		}
		t.row(p.Name, state(p), since, strconv.Itoa(p.Pending+p.Printing), strconv.Itoa(p.Held), oldest, proof(p), p.Address)
	}
	if err := t.end(); err != nil {
		return err
	}
	for _, p := range all {
		if p.Advice == "" {
			continue
		}
		lines := "\n"
		if s := trouble(p, now); s != "" {
			lines += clean(p.Name+": "+s) + "\n"
		}
		if p.StandIn != "" {
			lines += clean(p.Name+": its tickets come out of "+p.StandIn) + "\n"
		}
		if err := put(c.out, lines+clean(p.Name+": do: "+p.Advice)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// state is how a printer is: in its own words where it has some.
func state(p admin.Station) string {
	switch {
	case p.Device == nil:
		return string(p.State)
	case p.Pages > 0 && (p.State == admin.Untried || p.State == admin.Up):
		return pages(p.Pages)
	}
	said := p.State == admin.Untried || p.State == admin.Down && !p.Device.Fine || p.State == admin.Up && len(p.Device.Conditions) > 0
	if said {
		return strings.ReplaceAll(p.Device.State, "_", " ")
	}
	return string(p.State)
}

// proof is the most that can be known about a printer's tickets.
func proof(p admin.Station) string {
	if p.Kind == admin.KindKDS {
		return string(ticket.Taken)
	}
	if p.Device == nil || p.Device.Ability == "" {
		return "-"
	}
	return p.Device.Ability
}

// trouble is why tickets do not come out of a printer.
func trouble(p admin.Station, now time.Time) string {
	var parts []string
	if p.Hold != nil {
		parts = append(parts, "held: "+p.Hold.Reason)
	}
	switch {
	case p.Device != nil && len(p.Device.Conditions) > 0:
		parts = append(parts, "it says: "+strings.ReplaceAll(strings.Join(p.Device.Conditions, ", "), "_", " "))
	case p.Waiting != "":
		parts = append(parts, "waits: "+p.Waiting)
	case p.Error != "":
		parts = append(parts, p.Error)
	case p.Device != nil && p.Device.Error != "":
		parts = append(parts, p.Device.Error)
	}
	if p.Hold == nil && p.NextTry != nil && p.NextTry.Sub(now) >= time.Second {
		parts = append(parts, "next try in "+span(p.NextTry.Sub(now)))
	}
	return strings.Join(parts, "; ")
}
