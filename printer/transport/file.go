package transport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A fileDialer opens a device file, a named pipe or a regular file.
type fileDialer struct{ path string }

// Dial opens a device without waiting for it, or a regular file at its end. Symbolic links are
// resolved at each Dial, so a link that a udev rule maintains leads to the printer whatever its
// current number is. A missing regular file is created, but never below /dev: a file that takes the
// place of /dev/usb/lp0 while the printer is unplugged would take every later ticket too. O_EXCL,
// so that a device that appears between the two opens is not taken for a new file.
func (d fileDialer) Dial(ctx context.Context) (Conn, error) {
	if info, err := os.Stat(d.path); err == nil && info.Mode()&fs.ModeCharDevice != 0 {
		return openDevice(ctx, d.path)
	}

	file, err := openFile(ctx, d.path, os.O_WRONLY|os.O_APPEND)
	created := false
	if errors.Is(err, fs.ErrNotExist) && mayCreate(d.path) {
		file, err = openFile(ctx, d.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL)
		created = err == nil
	}

	if err != nil {
		return nil, err
	}

	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, openError(d.path, err)
	}

	switch mode := info.Mode(); {
	case mode.IsRegular() && underDev(d.path):
		_ = file.Close()
		return nil, fmt.Errorf("open %s: is a regular file, not a device: "+
			"a program wrote there while the printer was unplugged; remove it", d.path)
	case mode.IsRegular():
		return &deviceConn{f: file, path: d.path, regular: true, created: created}, nil
	case mode&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		return &deviceConn{f: file, path: d.path, pipe: mode&fs.ModeNamedPipe != 0}, nil
	default:
		_ = file.Close()
		return nil, fmt.Errorf("open %s: is %s, neither a device nor a file", d.path, mode.Type())
	}
}

// mayCreate reports whether a missing path may be created as a regular file. Links in its directory are
// resolved, so that none leads into /dev; a link that points to nothing is left alone.
func mayCreate(path string) bool {
	if _, err := os.Lstat(path); err == nil {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && !underDev(filepath.Join(dir, filepath.Base(path)))
}

// underDev reports whether path is below /dev, links resolved.
func underDev(path string) bool {
	if strings.HasPrefix(path, "/dev/") {
		return true
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && (dir == "/dev" || strings.HasPrefix(dir, "/dev/"))
}
