package main

import (
	"errors"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// db is hidden because the daemon itself uses it: a damaged page of a database can kill the process
// that reads it, so "serve" lets a child process check the file before it opens it.
func (c *cli) db() *cobra.Command {
	g := group("db", "the database file", &cobra.Command{
		Use:   "check PATH",
		Short: "check a database that no daemon has open",
		Args:  oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			// May never return: reading a damaged page can kill this process. That end is what the
			// parent looks for.
			err := doctor.CheckStore(args[0])
			if err == nil {
				return printLine(c.out, "%s is sound", args[0])
			}
			if !errors.Is(err, doctor.ErrDamaged) {
				// The file could not be read, which proves no damage: without this line the parent
				// process might quarantine a good database.
				return errors.Join(err, printLine(c.out, "%s%v", doctor.UncheckedPrefix, err))
			}
			// Stdout has the line for the parent process, stderr the text for an operator who runs
			// it by hand.
			return errors.Join(err, printLine(c.out, doctor.DamagedLine))
		},
	})
	g.Hidden = true
	return g
}
