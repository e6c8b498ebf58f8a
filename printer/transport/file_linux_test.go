package transport_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/assert"
	"ticketrail/printer/transport"
)

func TestRegularFileMeetsTheSuite(t *testing.T) {
	suite{
		OneWay: true,
		Working: func(t *testing.T) farEnd {
			path := filepath.Join(t.TempDir(), "grill.bin")
			return farEnd{Dialer: open(t, "file://"+path), Received: func(int) []byte {
				b, err := os.ReadFile(path)
				assert.NoError(t, err)
				return b
			}}
		},
		Absent: func(t *testing.T) transport.Dialer { return open(t, "file:///dev/no-such-printer") },
	}.run(t)
}

func TestNamedPipeMeetsTheSuite(t *testing.T) {
	suite{
		OneWay: true,
		Working: func(t *testing.T) farEnd {
			path, r := fifo(t)
			p := newPaper()
			go func() { _, _ = io.Copy(p, r) }() // until the test closes r
			return farEnd{Dialer: open(t, "file://"+path), Received: p.atLeast}
		},
		Stuck: func(t *testing.T) transport.Dialer {
			path, _ := fifo(t)
			return open(t, "file://"+path)
		},
		Breaking: func(t *testing.T) transport.Dialer {
			path, r := fifo(t)
			go func() {
				_, _ = io.ReadFull(r, make([]byte, 1000))
				_ = r.Close()
			}()
			return open(t, "file://"+path)
		},
		Absent: func(t *testing.T) transport.Dialer {
			path, r := fifo(t)
			_ = r.Close() // without a reader it opens with ENXIO, like an unplugged printer
			return open(t, "file://"+path)
		},
	}.run(t)
}

func TestNoRegularFileIsCreatedUnderDev(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "dev")
	assert.NoError(t, os.Symlink("/dev", link))
	dangling := filepath.Join(dir, "printer")
	assert.NoError(t, os.Symlink("/dev/ticketrail-test-lp9", dangling))
	for _, path := range []string{"/dev/ticketrail-test-lp9", filepath.Join(link, "ticketrail-test-lp9"), dangling} {
		_, err := open(t, "file://"+path).Dial(t.Context())
		assert.True(t, errors.Is(err, fs.ErrNotExist), path, err)
	}
	if _, err := os.Lstat("/dev/ticketrail-test-lp9"); err == nil {
		_ = os.Remove("/dev/ticketrail-test-lp9")
		t.Error("a file was made under /dev")
	}
}

func TestTheErrorOfWhatCannotBeOpenedSaysWhatToCheck(t *testing.T) {
	for path, c := range map[string]struct {
		is   error
		hint string
	}{
		t.TempDir():           {syscall.EISDIR, ""},
		"/dev/usb/no-such-lp": {syscall.ENOENT, "is the printer plugged in and on?"},
		"/tmp/no-such-dir/lp": {syscall.ENOENT, "does the directory exist?"},
	} {
		_, err := open(t, "file://"+path).Dial(t.Context())
		assert.True(t, errors.Is(err, c.is), path, err)
		assert.Contains(t, transport.Hint(err), c.hint)
	}
}

func TestFinishOfADeviceWaitsForTheLastByte(t *testing.T) {
	path, r := fifo(t)
	c := dialed(t, open(t, "file://"+path))
	write(t, c, "ticket")
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan error, 1)
	go func() { finished <- c.Finish(ctx) }()
	cancel()
	err := <-finished
	assert.True(t, errors.Is(err, context.Canceled), "with six bytes in the pipe", err)
	transport.Got(t, r, "ticket")
	assert.NoError(t, c.Finish(t.Context()))
}

// fifo stands for a character device: it opens without waiting, returns EAGAIN when it is full, and breaks
// when the other end closes.
func fifo(t *testing.T) (string, *os.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lp0")
	assert.NoError(t, unix.Mkfifo(path, 0o600))
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	assert.NoError(t, err)
	keep, err := os.OpenFile(path, os.O_WRONLY, 0) // a pipe without writers reads as ended
	assert.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(); _ = keep.Close() })
	return path, r
}
