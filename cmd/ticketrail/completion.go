package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/profile"
)

// The shell completes the names of stations, venues and profiles where a command takes one. Which it takes is
// known from the name of its argument or flag, so that a new command need not be told to.

// completeNames gives root and its commands the names that their arguments and flags take.
func (c *cli) completeNames(root *cobra.Command) {
	stations := c.completeStations(func(admin.Station) bool { return true })
	arguments := map[string]cobra.CompletionFunc{
		"STATION": stations,
		"PROFILE": cobra.FixedCompletions(profile.Names(), cobra.ShellCompDirectiveNoFileComp),
		"VENUE":   c.completeVenues,
	}
	screens := c.completeStations(func(s admin.Station) bool { return s.Kind == admin.KindScreen })
	flags := map[string]cobra.CompletionFunc{
		"station": stations, "screen": screens, "from": stations, "to": stations, "venue": c.completeVenues,
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		_, argument, _ := strings.Cut(cmd.Use, " ")
		if complete := arguments[strings.Trim(argument, "[].")]; complete != nil {
			cmd.ValidArgsFunction = complete
		}
		for name, complete := range flags {
			// What is in quotes in the flag's usage is the kind of name: the "station" of a screen is a screen.
			f := cmd.Flags().Lookup(name)
			if _, done := cmd.GetFlagCompletionFunc(name); f == nil || done {
				continue // "jobs" has the flags of "jobs list"
			}
			if strings.Contains(f.Usage, "`screen`") {
				complete = screens
			}
			if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
				panic(err) // the flag is there
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// completeStations asks the running daemon, which members of its group can do who cannot read the
// configuration. If it does not answer, nothing is completed.
func (c *cli) completeStations(want func(admin.Station) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		d, err := c.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := d.Stations(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, s := range all.Stations {
			if want(s) {
				names = append(names, s.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeVenues reads the configuration, as the commands that take a venue do.
func (c *cli) completeVenues(*cobra.Command, []string, string) (
	names []cobra.Completion, _ cobra.ShellCompDirective,
) {
	conf, err := config.Load(c.config)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, v := range conf.Venues {
		names = append(names, v.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
