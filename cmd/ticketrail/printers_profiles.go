package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"ticketrail/config"
	"ticketrail/printer/profile"
)

// printersProfiles helps an operator who sets up a printer to choose its profile; the profiles are
// part of the program.
func (c *cli) printersProfiles() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "profiles [PROFILE]",
		Short: "list the printer profiles, or show one",
		Long: `profiles lists the printer models that printers[].profile can name. With a name
it shows the settings of that profile; printers[].override can change each of
them for one printer. It needs no running daemon.`,
		Example: `  ticketrail printers profiles generic-80mm`,
		Args:    atMostOneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.profileTable(profile.All(), asJSON)
			}
			p, ok := profile.Lookup(args[0])
			switch {
			case !ok:
				return usagef("%w%s", profile.Unknown(args[0]), config.DidYouMean(args[0], profile.Names()))
			case asJSON:
				return showJSON(c.out, p)
			}
			// In the form of printers[].override, so that a line can be copied into the
			// configuration.
			return write(c.out, p.YAML())
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *cli) profileTable(all []profile.Profile, asJSON bool) error {
	if asJSON {
		return showJSON(c.out, all)
	}
	t := newTable(c.out, "PROFILE", "COLUMNS", "CUTTER", "DOTS", "BUZZER", "PRINTERS")
	for _, p := range all {
		dots := "none"
		if p.Raster != profile.NoRaster {
			dots = strconv.Itoa(p.Dots)
		}
		t.row(p.Name, strconv.Itoa(p.Columns), string(p.Cutter), dots, string(p.Buzzer), p.About)
	}
	return t.end()
}
