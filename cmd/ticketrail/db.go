package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/queue/ticket"
)

// The commands for the database file. backup asks the running daemon; the others need it stopped, because
// only one process can have the file open.

const (
	stopFirst  = "systemctl stop ticketrail"
	startAgain = "systemctl start ticketrail"
)

// dbCheck is also what the daemon itself runs: a damaged page of a database can kill the process
// that reads it, so "serve" lets a child process check the file before it opens it.
func (c *cli) dbCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "check a database or a backup that no daemon has open",
		Long: `check reads a whole database file (default: storage.path of the configuration)
and verifies it. The daemon must not have it open; a backup can be checked at
any time.`,
		Args: atMostOneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := c.databaseOr(args)
			if err != nil {
				return err
			}
			// May never return: reading a damaged page can kill this process. That end is what the
			// parent looks for.
			err = doctor.CheckStore(path)
			if err == nil {
				return printLine(c.out, "%s is sound", path)
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
	}
}

// dbBackup is for a timer at night, and before an upgrade.
func (c *cli) dbBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "write a backup of the database of the running daemon",
		Long: `backup writes the database as it is at this moment to FILE, which must not
exist, and checks it. The daemon works on meanwhile. The backup has every ticket
with its text, so keep it as safe as the database.`,
		Example: "  ticketrail db backup /var/backups/ticketrail-$(date +%F).db",
		Args:    oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			path := args[0]
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("%s exists and is not overwritten: name another file", path)
			}
			n, err := c.writeBackup(cmd.Context(), path)
			if err != nil {
				return fmt.Errorf("back up to %s: %w", path, err)
			}
			return printLine(c.out, "%s is written and checked: %d kB", path, (n+1023)>>10)
		},
	}
}

// writeBackup gives the file its name only when it is complete and checked: half a backup must not look
// like one. A crash leaves FILE.part-*.
func (c *cli) writeBackup(ctx context.Context, path string) (n int64, err error) {
	d, err := c.client()
	if err != nil {
		return 0, err
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(part.Name())
	n, err = d.Backup(ctx, part)
	if err := errors.Join(err, part.Sync(), part.Close()); err != nil {
		return 0, err
	}
	if err := checkInChild(ctx, part.Name()); err != nil {
		return 0, err
	}
	// A link, unlike a rename, replaces nothing. But a USB stick with FAT has none.
	err = os.Link(part.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return 0, err
	}
	return n, syncFolder(path)
}

// syncFolder makes the name of a file durable.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// dbRestore is for a disk that was replaced, or a database that was quarantined.
func (c *cli) dbRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "replace the database by a backup",
		Long: `restore puts a backup in the place of the database (storage.path of the
configuration). Stop the daemon first: ` + stopFirst + `

The present database is kept under another name beside it. Tickets that were
waiting when the backup was made print again, marked POSSIBLE DUPLICATE, because
nobody knows which of them have come out since. What was ordered after the
backup is only in the database that was kept; if the service sends it again, it
prints without that mark. Screens show what was on them then, and browsers whose
pairing was ended since are paired again: see ticketrail screens list.`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := c.databaseOr(nil)
			if err != nil {
				return err
			}
			if err := checkInChild(cmd.Context(), args[0]); err != nil {
				return err
			}
			r, err := doctor.Restore(path, args[0])
			if err != nil {
				return err
			}
			err = printLine(c.out, "%s is restored: %s will print marked POSSIBLE DUPLICATE, %d held", path,
				ticket.Plural(r.Pending, "ticket"), r.Held)
			if r.Kept != "" {
				err = errors.Join(err, printLine(c.out, "the database that was there is kept as %s", r.Kept))
			}
			return errors.Join(err, printLine(c.out, "to start again: %s", startAgain))
		},
	}
}

// dbSalvage is what the start does by itself with a damaged database. By hand it is for a start whose disk was full,
// and for a backup that turns out to be damaged.
func (c *cli) dbSalvage() *cobra.Command {
	return &cobra.Command{
		Use:   "salvage OLD NEW",
		Short: "save what is left of a damaged database into a new file",
		Long: `salvage reads every page of OLD that can be read, and writes a new database NEW
of it, which must not exist. OLD is not changed; no daemon may have it open. The
daemon does the same when it starts and finds its database damaged.

Tickets that waited are in NEW once, and print marked POSSIBLE DUPLICATE. Held
ones stay held. Of some tickets only a part is left: they are failed, see
ticketrail jobs list --state failed. Others may be missing without a trace.
Requests that are known in NEW do not print when the service repeats them.

NEW then takes the place of the database of a stopped daemon with
ticketrail db restore NEW; what was ordered since is then only in the database
that this keeps.`,
		Example: "  ticketrail db salvage ticketrail.db.corrupt-20261120T190000Z saved.db",
		Args:    twoArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := doctor.Salvage(args[0], args[1])
			if err != nil {
				return err
			}
			return errors.Join(
				printLine(c.out, "%s is written. Others may be missing.", args[1]),
				printLine(c.out, "%s", r),
				printLine(c.out, "%s of the history, %s known", ticket.Plural(r.Ended, "ticket"),
					ticket.Plural(r.Keys, "request")),
			)
		},
	}
}

// dbCompact is for a small disk, after an evening with a long backlog.
func (c *cli) dbCompact() *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "give the free space of the database back to the disk",
		Long: `compact rewrites the database (storage.path of the configuration) without its
free space, and needs as much space as its content meanwhile. Stop the daemon
first: ` + stopFirst,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := c.databaseOr(nil)
			if err != nil {
				return err
			}
			if err := checkInChild(cmd.Context(), path); err != nil {
				return err
			}
			before, after, err := doctor.Compact(path)
			if err != nil {
				return err
			}
			return printLine(c.out, "%s had %d kB and has %d kB; to start again: %s",
				path, before>>10, after>>10, startAgain)
		},
	}
}

// databaseOr is the file in args, else the database of the configuration.
func (c *cli) databaseOr(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	conf, err := doctor.Load(c.config)
	if err != nil {
		return "", &configError{err}
	}
	return conf.Storage.Path, nil
}

// checkInChild checks a database in a child process, which a damaged page may kill.
func checkInChild(ctx context.Context, path string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program, to check the file in a child process: %w", err)
	}
	return doctor.CheckInChild(exe)(ctx, path)
}
