package queue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/slow"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/store"
)

func TestAFirstStartOnAFullDiskFailsAndLeavesNothing(t *testing.T) {
	slow.Test(t, "root")
	dir, hog := smallDisk(t, 8)
	o := Options{Path: filepath.Join(dir, "queue.db"), Reserve: -1}
	for free := int64(0); free <= 16<<10; free += 4 << 10 {
		fillDisk(t, hog, free)
		wantErr(t, store.Create(o.Path, "", false, Contents, store.System), syscall.ENOSPC)
		_, err := Open(o)
		wantErr(t, err, syscall.ENOSPC)
		wantErrText(t, store.WithRoom(o.Path, err), "the disk is full: 0 MB are free, 34 MB are needed: ")
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		wantTrue(t, len(left) == 1, free, left)
	}
	must(t, os.Remove(hog.Name()))
	must(t, hog.Truncate(0))
	q, err := Open(o)
	must(t, err)
	must(t, q.Close())
}

func TestAStartWithoutSpaceForTheReserveRefusesRequestsAndPrints(t *testing.T) {
	slow.Test(t, "root")
	dir, hog := smallDisk(t, 64)
	var log queuetest.Log
	q := start(t, logTo(&log), func(o *Options) { o.Path = filepath.Join(dir, "queue.db") })
	q.accept(order("a", "grill"))
	q.stop()
	fillDisk(t, hog, 12<<20)
	q.o.Reserve = 32 << 20
	q.open()
	wantErr(t, q.Ready(), ErrStorageFull)
	q.wantRefused(order("b", "grill"), ErrStorageFull)
	q.printAll("grill", "a")

	const needed = 2*store.MinFree + (32 << 20) // free pages of the file serve in the place of the reserve
	wantTrue(t, q.space.CheckFull(needed-1) && !q.space.CheckFull(needed), "it is not the free pages that decide")
	q.space.IsFull.Store(true)
	must(t, hog.Truncate(0))
	q.accept(order("b", "grill"))
	q.stop()
	for _, want := range []string{
		"cannot create the reserve file", "disk has free space again", "in memory: a restart",
	} {
		wantLogged(t, &log, want)
	}
}

func TestAReserveThatCannotBeSyncedIsReportedAndRemoved(t *testing.T) {
	name, err := os.ReadFile("/proc/self/comm")
	must(t, err)
	var log queuetest.Log
	q := newQueue(t, logTo(&log), func(o *Options) { o.Reserve = 1 })
	must(t, os.Symlink("/proc/self/comm", store.ReservePath(q.o.Path))) // which can be written, but not synced
	q.open()
	must(t, os.WriteFile("/proc/self/comm", bytes.TrimSpace(name), 0))
	_, err = os.Lstat(store.ReservePath(q.o.Path))
	wantTrue(t, errors.Is(err, os.ErrNotExist), err)
	wantLogged(t, &log, "cannot create the reserve file")
}

func TestTheMapOfTheFileHas1GiBWhereAddressesHave64Bits(t *testing.T) {
	q := start(t)
	maps, err := os.ReadFile("/proc/self/maps")
	must(t, err)
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		if strings.HasSuffix(strings.TrimSpace(line), q.o.Path) {
			must(t, errOf(fmt.Sscanf(line, "%x-%x", &from, &to)))
			wantTrue(t, strconv.IntSize != 64 || to-from == 1<<30, to-from)
			return
		}
	}
	t.Error("the file is not mapped")
}

// TestAFileThatCannotBeReadIsNotCalledDamagedByCheck: a damaged file is moved aside, and a disk that cannot be read
// says nothing about the file.
func TestAFileThatCannotBeReadIsNotCalledDamagedByCheck(t *testing.T) {
	err := Check("/proc/self/mem")
	wantTrue(t, errors.Is(err, syscall.EIO) && !errors.Is(err, ErrDamaged), err)
}

// fillDisk leaves so many bytes free on a filesystem.
func fillDisk(t *testing.T, hog *os.File, free int64) {
	t.Helper()
	must(t, hog.Truncate(0))
	must(t, errOf(hog.Seek(0, 0)))
	now, err := store.FreeBytes(filepath.Dir(hog.Name()))
	must(t, err)
	must(t, errOf(io.CopyN(hog, zeroes{}, now-free)))
}

// smallDisk mounts a filesystem of so many MiB, with a file for fillDisk.
func smallDisk(t *testing.T, mib int) (dir string, hog *os.File) {
	t.Helper()
	dir = t.TempDir()
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)))
	hog, err := os.Create(filepath.Join(dir, "hog"))
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(hog.Close(), unix.Unmount(dir, 0))) })
	return dir, hog
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }
