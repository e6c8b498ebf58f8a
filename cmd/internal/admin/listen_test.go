package admin

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"ticketrail/deploy/assert"
)

func TestTheSocketHasMode0660WhateverTheUmask(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077} {
		old := syscall.Umask(mask)
		path := socketPath(t)
		l, err := Listen(path)
		syscall.Umask(old)
		assert.NoError(t, err)
		info, err := os.Lstat(path)
		assert.NoError(t, err)
		assert.Equal(t, info.Mode(), os.ModeSocket|0o660, mask)
		assert.Equal(t, l.Addr().String(), path)
		l.Close()
		_, err = os.Lstat(path)
		assert.True(t, err != nil, "the socket is still there after Close")
	}
}

func TestASecondDaemonIsRefused(t *testing.T) {
	d := startDaemon(t)
	_, err := Listen(d.path)
	assert.True(t, err != nil && strings.Contains(err.Error(), "is running (socket "+d.path+")"), err)
	_, err = d.Stations(t.Context())
	assert.True(t, err == nil, "the first daemon does not answer any more", err)
}

func TestASocketLeftBehindByACrashIsReplaced(t *testing.T) {
	path := socketPath(t)
	crashed, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	assert.NoError(t, err)
	crashed.SetUnlinkOnClose(false)
	crashed.Close()
	l, err := Listen(path)
	assert.NoError(t, err)
	defer l.Close()
	c, err := net.Dial("unix", path)
	assert.NoError(t, err)
	c.Close()
}

func TestAFileThatIsNotASocketIsNotTouched(t *testing.T) {
	file, link := socketPath(t), socketPath(t)
	assert.NoError(t, os.WriteFile(file, []byte("dinner"), 0o600))
	assert.NoError(t, os.Symlink(file, link))
	for _, path := range []string{file, link} {
		_, err := Listen(path)
		assert.True(t, err != nil && strings.Contains(err.Error(), "is not a socket"), err)
		b, err := os.ReadFile(path)
		assert.True(t, err == nil && string(b) == "dinner", "the file is now", string(b), err)
	}
}

func TestTheErrorOfAMissingFolderNamesIt(t *testing.T) {
	_, err := Listen(socketPath(t) + "/no/where.sock")
	assert.True(t, err != nil && strings.Contains(err.Error(), "/no does not exist: create it"),
		err)
}
