package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// lockWait is how long a lock is waited for: the process before may be ending. As for bbolt's, see BoltOptions.
const lockWait = 3 * time.Second

// Lock keeps other ticketrail processes from the file at path and from those beside it, until the result is
// closed or the process ends. bbolt locks the file itself, and only while it has it open: whoever looks at the
// file before, and renames or replaces it because of its state then, needs this lock from the look on. The lock
// is on PATH.lock, which stays.
func Lock(path string) (io.Closer, error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDONLY, 0o644)
	if IsFull(err) { // the first start of this version on a full disk
		_ = os.Remove(ReservePath(path))
		file, err = os.OpenFile(path+".lock", os.O_CREATE|os.O_RDONLY, 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}

	// Root makes it with db restore, and the daemon's user must be able to open it. It fails for a file of
	// another user, who did the same.
	_ = file.Chmod(0o644)

	for end := time.Now().Add(lockWait); ; time.Sleep(50 * time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return file, nil
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case time.Now().After(end):
			file.Close()
			return nil, fmt.Errorf("open %s: %w", path, errInUse)
		}
	}
}

// The messages of one process to the next about the file: that it is damaged, in a mark beside it, and which copy took
// the place of a damaged one, in the new file.

func suspectPath(path string) string { return Target(path) + ".damaged" }

// Suspect marks the file at path as damaged, for the next start. The mark names the inode of the file, so that it is
// never taken for one of the file that takes its place.
func Suspect(path, why string) error {
	info, err := os.Stat(Target(path))
	if err != nil {
		return err
	}
	return os.WriteFile(suspectPath(path), fmt.Appendf(nil, "%d %s\n", inode(info), why), 0o600)
}

// Suspected returns an error that wraps [ErrDamaged] if the file at path has a mark.
func Suspected(path string) error {
	raw, err := os.ReadFile(suspectPath(path))
	info, bad := os.Stat(Target(path))
	if err != nil || bad != nil {
		return nil
	}

	if of, why, _ := strings.Cut(strings.TrimSpace(string(raw)), " "); of == fmt.Sprint(inode(info)) {
		return fmt.Errorf("%w: the process before has found: %s", ErrDamaged, why)
	}

	_ = os.Remove(suspectPath(path))
	return nil
}

// inode is the number of a file on its filesystem.
func inode(file fs.FileInfo) uint64 { return file.Sys().(*syscall.Stat_t).Ino }
