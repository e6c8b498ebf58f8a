package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestAUSBPrinterIsOpenedUnderItsCurrentNumber(t *testing.T) {
	slow.Test(t, "/dev/ptmx")
	printer, path := OpenPTY(t)
	sys, dev := t.TempDir(), t.TempDir()
	plug(t, sys, "lp3", "1-1", epson("A1"), nil)
	assert.NoError(t, os.Mkdir(filepath.Join(dev, "usb"), 0o755))
	d := usb(t, "usb://", sys, dev)
	// The kernel lists it, but udev has not created the device file yet.
	_, err := d.Dial(t.Context())
	assert.True(t, errors.Is(err, os.ErrNotExist), err)
	assert.NoError(t, os.Symlink(path, filepath.Join(dev, "usb", "lp3")))
	c, err := d.Dial(t.Context())
	assert.NoError(t, err)
	defer c.Close()
	Write(t, c, "ticket")
	Got(t, printer, "ticket")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = d.Dial(ended)
	assert.True(t, errors.Is(err, context.Canceled), err)
}

func TestWritingWaitsForDSR(t *testing.T) {
	// The DSR signal is simulated, because a pseudo-terminal has none.
	slow.Test(t, "/dev/ptmx")
	printer, path := OpenPTY(t)
	c, err := openDevice(t.Context(), path)
	assert.NoError(t, err)
	defer c.Close()
	var ready atomic.Bool
	c.(*deviceConn).writable = func(*os.File) (int, error) {
		if !ready.Load() {
			return 0, nil
		}
		return 2, nil
	}
	assert.NoError(t, c.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	n, err := io.WriteString(c, "ticket")
	assert.True(t, n == 0 && errors.Is(err, os.ErrDeadlineExceeded), n, err)
	assert.NoError(t, c.SetWriteDeadline(time.Time{}))
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, "ticket")
		wrote <- err
	}()
	ready.Store(true)
	assert.NoError(t, <-wrote)
	Got(t, printer, "ticket")
}

func TestReadWaitsThroughEmptyPackets(t *testing.T) {
	// A pipe without a writer reads like a USB printer that answers with empty packets.
	path := filepath.Join(t.TempDir(), "lp0")
	assert.NoError(t, unix.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	assert.NoError(t, err)
	c := &deviceConn{f: f, path: path, pipe: true, readable: true}
	defer c.Close()
	b := make([]byte, 1)
	n, err := f.Read(b)
	assert.True(t, n == 0 && err == io.EOF, n, err)
	assert.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	n, err = c.Read(b)
	assert.True(t, n == 0 && errors.Is(err, os.ErrDeadlineExceeded), n, err)
	assert.NoError(t, c.SetReadDeadline(time.Time{}))
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(b)
		read <- err
	}()
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	assert.NoError(t, err)
	defer w.Close()
	Write(t, w, "\x12")
	assert.NoError(t, <-read)
	assert.Equal(t, b[0], 0x12)
}

// OpenPTY opens a pseudo-terminal and returns the printer's end and the path of ours.
func OpenPTY(t *testing.T) (printer *os.File, path string) {
	t.Helper()
	p, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	n := 0
	if err == nil {
		t.Cleanup(func() { _ = p.Close() })
		err = withFD(p, func(fd int) (err error) {
			if n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err != nil {
				return err
			}
			return unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
		})
	}
	assert.NoError(t, err)
	return p, filepath.Join("/dev/pts", strconv.Itoa(n))
}

// Got fails the test unless the printer receives want next.
func Got(t *testing.T, printer io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	_, err := io.ReadFull(printer, got)
	assert.Equal(t, string(got), want, err)
}

// Write writes text.
func Write(t testing.TB, to io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(to, text)
	assert.NoError(t, err)
}
