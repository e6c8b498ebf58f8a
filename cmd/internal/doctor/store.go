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

	"ticketrail/queue"
)

// ErrDamaged says that the database is not what was written. Any other error of
// CheckStore says nothing about the file.
var ErrDamaged = queue.ErrDamaged

// CheckStore checks the whole database at path. A bad page can kill the process, so run it
// in one that may die: the hidden command `db check` is that.
func CheckStore(path string) error { return queue.Check(path) }

// UncheckedPrefix begins the line that the child of [CheckInChild] prints when it could not
// look at the file at all, which says nothing about the file.
const UncheckedPrefix = "unchecked: "

// DamagedLine is the line that the child prints when it has found the file damaged.
const DamagedLine = "damaged"

// CheckInChild returns a check that runs `exe db check PATH`. A file is damaged only if the
// child says so, or if what it read killed it: a page that leads bbolt astray ends in a
// panic or a fault. Any other end (a stop in the middle, no memory) says nothing about the file,
// and a good file that is set aside is a kitchen's orders lost.
func CheckInChild(exe string) func(ctx context.Context, path string) error {
	return func(ctx context.Context, path string) error {
		var out, trouble bytes.Buffer
		cmd := exec.CommandContext(ctx, exe, "db", "check", path)
		cmd.Stdout, cmd.Stderr = &out, &trouble
		err := cmd.Run()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, died := errors.AsType[*exec.ExitError](err); !died {
			return fmt.Errorf("run %s db check: %w", exe, err)
		}
		if why, ok := strings.CutPrefix(strings.TrimSpace(out.String()), UncheckedPrefix); ok {
			return fmt.Errorf("check database: %s", why)
		}
		said := strings.TrimSpace(trouble.String())
		first, _, _ := strings.Cut(said, "\n")
		if strings.TrimSpace(out.String()) == DamagedLine || diedOfThePages(cmd.ProcessState, said) {
			return fmt.Errorf("check %s: %w: %s (%w)", path, queue.ErrDamaged, first, err)
		}
		return fmt.Errorf("check %s: the check did not finish: %s (%w)", path, first, err)
	}
}

// diedOfThePages says whether a child ended as one does that follows a bad page.
func diedOfThePages(end *os.ProcessState, said string) bool {
	if w, ok := end.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal() == syscall.SIGBUS || w.Signal() == syscall.SIGSEGV
	}
	// The Go runtime's own last words; "out of memory" and the like are among them too.
	for _, word := range []string{"panic: ", "unexpected fault address", "SIGBUS", "SIGSEGV", "stack overflow"} {
		if strings.Contains(said, word) {
			return true
		}
	}
	return false
}
