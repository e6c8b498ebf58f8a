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
	"ticketrail/cmd/internal/setup"
)

// The commands for the database file. backup asks the running daemon; the others need it stopped, because
// only one process can have the file open.

const (
	stopFirst  = "systemctl stop ticketrail"
	startAgain = "systemctl start ticketrail"
)

// dbCheck also runs as a child of the daemon: a damaged page of a database can kill the process that reads it, so
// "serve" lets a child process check the file before it opens it.
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

			// May never return: reading a damaged page can kill this process. The parent looks for that end.
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

			size, err := c.writeBackup(cmd.Context(), path)
			if err != nil {
				return fmt.Errorf("back up to %s: %w", path, err)
			}
			return printLine(c.out, "%s is written and checked: %d kB", path, (size+1023)>>10)
		},
	}
}

// writeBackup gives the file its name only when it is complete and checked: half a backup must not look
// like one. A crash leaves FILE.part-*.
func (c *cli) writeBackup(ctx context.Context, path string) (n int64, err error) {
	daemon, err := c.client()
	if err != nil {
		return 0, err
	}

	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(part.Name())
	n, err = doctor.Backup(ctx, daemon, part, (*os.File).Sync)
	if err := errors.Join(err, part.Close()); err != nil {
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

// dbRestore does by hand the work of a start with a damaged database. It is also for a new box with the old stick.
func (c *cli) dbRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore [DIR|FILE]",
		Short: "replace the database by its copy",
		Long: `restore puts the newest sound base copy of a folder (default: storage.copy)
in the place of the database (storage.path of the configuration). The next start
does what the log of that folder has since then. Stop the daemon first:
` + stopFirst + `

The daemon does the same by itself when its database is damaged or missing. By
hand it is for a new box with the old stick, and for a FILE that db backup has
written. What is not known to have come out prints again, marked POSSIBLE
DUPLICATE. The present database is kept under another name beside it, and so is
what is in storage.copy, if it is not DIR. Screens show what was on them
when the base copy was made, and what came to them since.`,
		Args: atMostOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, err := setup.Load(c.config)
			if err != nil {
				return invalid(c.config, err)
			}

			from := ""
			if len(args) > 0 {
				from = args[0]
			}

			check := func(path string) error { return checkInChild(cmd.Context(), path) }
			restored, err := doctor.Restore(conf.Storage.Path, conf.Storage.CopyFolder(), from, check)
			if err != nil {
				return err
			}

			err = printLine(c.out, "%s is restored: %s", conf.Storage.Path, restored)
			if restored.Kept != "" {
				err = errors.Join(err, printLine(c.out, "the database that was there is kept as %s", restored.Kept))
			}
			return errors.Join(err, printLine(c.out, "to start again: %s", startAgain))
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
	conf, err := setup.Load(c.config)
	if err != nil {
		return "", invalid(c.config, err)
	}

	return conf.Storage.Path, nil
}

// checkInChild checks a database in a child process, as `db check`: a damaged page may kill it.
func checkInChild(ctx context.Context, path string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program, to check the file in a child process: %w", err)
	}
	return doctor.CheckInChild(exe)(ctx, path)
}
