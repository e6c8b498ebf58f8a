package queue

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// lockWait is how long a lock is waited for: the process before may be ending. As for bbolt's, see boltOptions.
const lockWait = 3 * time.Second

// Lock keeps other ticketrail processes from the file at path and from those beside it, until the result is
// closed or the process ends. bbolt locks the file itself, and only while it has it open: whoever looks at the
// file before, and renames or replaces it because of what was seen, needs this lock from the look on. The lock
// is on PATH.lock, which stays.
func Lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDONLY, 0o644)
	if isDiskFull(err) { // the first start of this version on a full disk
		_ = os.Remove(reservePath(Options{Path: path}))
		f, err = os.OpenFile(path+".lock", os.O_CREATE|os.O_RDONLY, 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// Root makes it with db restore, and the daemon's user must be able to open it. It fails for a file of
	// another user, who did the same.
	_ = f.Chmod(0o644)
	for end := time.Now().Add(lockWait); ; time.Sleep(50 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case time.Now().After(end):
			f.Close()
			return nil, fmt.Errorf("open %s: %w", path, errInUse)
		}
	}
}
