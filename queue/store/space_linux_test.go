package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/assert"
)

func TestAFilesystemThatMayLoseTheQueueIsNamed(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "nfs", 0x517b: "network", 0xff534d42: "network", 0xfe534d42: "network",
		0x4d44: "fat", 0x2011bab0: "fat", 0x794c7630: "overlay",
		0x01021994: "memory", 0x858458f6: "memory", 0xef53: "", // ext4
	} {
		why := risk(magic)
		assert.True(t, (why == "") == (want == "") && strings.Contains(why, want), magic, why, want)
	}
}

func TestSpaceIsTakenByZeroesWhereItCannotBeAllocated(t *testing.T) {
	name, err := os.ReadFile("/proc/self/comm")
	assert.NoError(t, err)
	f, err := os.OpenFile("/proc/self/comm", os.O_RDWR, 0) // a file that can only be written
	assert.NoError(t, err)
	defer f.Close()
	assert.NoError(t, allocate(f, 1))
	got, err := os.ReadFile("/proc/self/comm")
	assert.NoError(t, errors.Join(err, errOf(f.Write(bytes.TrimSpace(name)))))
	assert.Equal(t, string(got), "\n") // a zero
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	assert.NoError(t, err)
	defer full.Close()
	wantErr(t, writeZeroes(full, 1), syscall.ENOSPC)
}

func TestAMetaPageThatCannotBeWrittenIsAnError(t *testing.T) {
	content, err := os.ReadFile(bboltFile(t, BoltOptions(true), 4, nil))
	assert.NoError(t, err)
	fd, err := unix.MemfdCreate("queue", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	assert.NoError(t, err)
	f := os.NewFile(uintptr(fd), "queue")
	defer f.Close()
	assert.NoError(t, errOf(f.Write(content)))
	assert.NoError(t, errOf(unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)))
	synced := false
	err = rewriteMeta(fmt.Sprintf("/proc/self/fd/%d", fd), func(*os.File) error { synced = true; return nil })
	wantErr(t, err, syscall.EPERM)
	assert.True(t, !synced, "it is synced all the same")
}

func TestAnUnknownFilesystemIsNeitherFullNorDangerous(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	wantErr(t, errOf(FreeBytes(missing)), os.ErrNotExist)
	assert.Equal(t, Filesystem(missing)+Filesystem("/proc"), "")
	s := NewSpace(filepath.Join(missing, "queue.db"), -1, slog.New(slog.DiscardHandler))
	for _, full := range []bool{false, true} {
		s.IsFull.Store(full)
		assert.Equal(t, s.CheckFull(0), full)
	}
}
