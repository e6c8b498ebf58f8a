package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue"
	"ticketrail/queue/store"
)

// ErrDamaged says that the database is damaged. Any other error of [CheckStore] says nothing about
// the file: it could not be checked. The difference decides whether a file with tonight's orders is
// quarantined.
var ErrDamaged = store.ErrDamaged

// CheckStore checks the whole database at path. A damaged page can kill the process that reads it,
// so call this only in a child process: the command `db check`.
func CheckStore(path string) error { return store.Check(path, queue.Contents) }

// Restore puts a copy in the place of the database, see [store.Restore].
func Restore(path, dir, from string, check func(string) error) (store.Recovered, error) {
	return store.Restore(path, dir, from, check, queue.Contents)
}

// Backup writes the database of the running daemon to a file, durably, and at half the speed of its disk, which may be
// the disk of the orders.
func Backup(ctx context.Context, c *admin.Client, to *os.File, sync func(*os.File) error) (int64, error) {
	size, err := c.Backup(ctx, &store.PacedFile{Ctx: ctx, File: to, Sync: sync})
	return size, errors.Join(err, sync(to))
}

// Compact gives the free space of the database at path back. Check it with [CheckInChild] first. It returns the size of
// the file before and after, in bytes.
func Compact(path string) (before, after int64, err error) { return store.Compact(path, store.System) }

// UncheckedPrefix begins the line that the child process of [CheckInChild] prints if it could not
// read the file, which proves no damage. A line on stdout, because the exit code is 1 for every
// error and the text on stderr is for people.
const UncheckedPrefix = "unchecked: "

// DamagedLine is the line that the child process prints if the file is damaged.
const DamagedLine = "damaged"

// CheckInChild returns a check that runs `exe db check PATH`. The file counts as damaged only if
// the child says so, or if reading it killed the child: a damaged page makes bbolt panic or access
// wrong memory. Any other end, such as SIGTERM or no memory, proves nothing: to quarantine a good
// database would lose the orders in it. The daemon runs the child before it opens the file, so that
// nothing else uses it.
func CheckInChild(exe string) func(ctx context.Context, path string) error {
	return func(ctx context.Context, path string) error {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(ctx, exe, "db", "check", path)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if err == nil {
			return nil
		}

		// The daemon was stopped and killed the child: that is no result.
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}

		if _, died := errors.AsType[*exec.ExitError](err); !died {
			return fmt.Errorf("run %s db check: %w", exe, err)
		}

		// Tested before the signs of damage: the child is alive and has explained itself.
		if why, ok := strings.CutPrefix(strings.TrimSpace(out.String()), UncheckedPrefix); ok {
			return fmt.Errorf("check database: %s", why)
		}

		stderr := strings.TrimSpace(errs.String())
		first, _, _ := strings.Cut(stderr, "\n")
		if strings.TrimSpace(out.String()) == DamagedLine || killedByDamage(cmd.ProcessState, stderr) {
			// Without the text of the child, which may be a panic. `ticketrail db check FILE` shows it again.
			return fmt.Errorf("check %s: %w", path, store.ErrDamaged)
		}

		return fmt.Errorf("check %s: the check did not finish: %s (%w)", path, first, err)
	}
}

// killedByDamage reports whether a child process ended like one that read a damaged page. SIGKILL
// is not a sign of it: the kernel sends it when memory runs out. A file that is shorter than its
// pages say ends in SIGBUS.
func killedByDamage(end *os.ProcessState, stderr string) bool {
	if status, ok := end.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal() == syscall.SIGBUS || status.Signal() == syscall.SIGSEGV
	}

	// The last words of a Go runtime that dies of bad memory. "fatal error" alone is not enough: it also prints that
	// when it is out of memory.
	for _, word := range []string{"panic: ", "unexpected fault address", "SIGBUS", "SIGSEGV", "stack overflow"} {
		if strings.Contains(stderr, word) {
			return true
		}
	}

	return false
}
