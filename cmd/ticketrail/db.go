package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
)

// db is for the daemon itself: a bad page of a database can kill the process that meets
// it, so "serve" has a child look first.
func (c *cli) db() *cobra.Command {
	g := group("db", "the database file", &cobra.Command{
		Use:   "check PATH",
		Short: "read a whole database that no daemon has open, and say whether it is sound",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			err := doctor.CheckStore(args[0])
			if err == nil {
				return say(c.out, "%s is sound", args[0])
			}
			if !errors.Is(err, doctor.ErrDamaged) {
				// The parent must not take a file for bad that nobody could look at.
				return errors.Join(err, say(c.out, "%s%v", doctor.UncheckedPrefix, err))
			}
			return errors.Join(fmt.Errorf("%w: keep a copy, and start with another storage.path", err), say(c.out, doctor.DamagedLine))
		},
	})
	g.Hidden = true
	return g
}
