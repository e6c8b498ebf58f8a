package ticketlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ticketrail/queue/ticket"
)

// A file is opened for each ticket. So it can be moved away at any time, as logrotate does, and no signal is needed:
// the next ticket makes a new one.
type file string

// check says whether it could be written, and writes nothing.
func (f file) check() error {
	if _, err := os.Stat(filepath.Dir(string(f)) + "/."); err != nil {
		return f.hint(err)
	}
	if st, err := os.Stat(string(f)); err == nil && !st.Mode().IsRegular() {
		return f.notRegular()
	}
	return nil
}

func (f file) notRegular() error { return fmt.Errorf("%s is not a file; name another one", string(f)) }

// hint has the remedy for a file that cannot be opened.
func (f file) hint(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; make the folder, and give it to the user ticketrail (the service itself makes "+
			"/var/log/ticketrail)", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w; the service may write below /var/log/ticketrail", err)
	}
	return err
}

// write adds a line, and returns when it is on the disk.
//
// A crash before begin has written nothing. After it, the line is there, or a part of it, or nothing: the next attempt
// begins a new line and writes all of it again.
func (f file) write(ctx context.Context, line []byte, begin func(context.Context) error) (ticket.Proof, error) {
	// Non-blocking, because a named pipe would wait for a reader.
	out, err := os.OpenFile(string(f), os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		return "", ticket.NotReady(f.hint(err))
	}
	defer out.Close()

	st, err := out.Stat()
	if err != nil {
		return "", ticket.NotReady(err)
	}

	if !st.Mode().IsRegular() {
		return "", ticket.NotReady(f.notRegular())
	}

	if size := st.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := out.ReadAt(last, size-1); err != nil {
			return "", ticket.NotReady(err)
		}
		if last[0] != '\n' { // a line that was cut off
			line = append([]byte{'\n'}, line...)
		}
	}

	if err := begin(ctx); err != nil {
		return "", err
	}

	if written, err := out.Write(line); written == 0 {
		return "", ticket.Untouched(ticket.NotReady(err)) // mostly a full disk
	} else if err != nil {
		return "", err
	}

	if err := errors.Join(out.Sync(), f.syncFolder()); err != nil {
		return "", err
	}
	return ticket.Taken, nil
}

// syncFolder makes the name of a new file survive a power cut.
func (f file) syncFolder() error {
	folder, err := os.Open(filepath.Dir(string(f)))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
