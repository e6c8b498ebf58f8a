package queue

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/slow"
	"ticketrail/queue/queuetest"
)

func TestAFirstStartOnAFullDiskFailsAndLeavesNothing(t *testing.T) {
	slow.Test(t, "root")
	dir := smallDisk(t, 8)
	hog, err := os.Create(filepath.Join(dir, "hog"))
	must(t, err)
	defer hog.Close()
	o := Options{Path: filepath.Join(dir, "queue.db"), Reserve: -1}
	for free := int64(0); free <= 16<<10; free += 4 << 10 {
		fillDisk(t, hog, free)
		wantErr(t, create(o, storageHooks{sync: (*os.File).Sync, link: os.Link}), syscall.ENOSPC)
		wantErr(t, errOf(Open(o)), syscall.ENOSPC)
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Fatalf("with %d bytes free %q is left", free, left)
		}
	}
	must(t, os.Remove(hog.Name()))
	must(t, hog.Truncate(0))
	q, err := Open(o)
	must(t, err)
	must(t, q.Close())
}

func TestAStartWithoutSpaceForTheReserveRefusesRequestsAndPrints(t *testing.T) {
	slow.Test(t, "root")
	dir := smallDisk(t, 64)
	hog, err := os.Create(filepath.Join(dir, "hog"))
	must(t, err)
	defer hog.Close()
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

	const needed = 2*minFree + (32 << 20) // free pages of the file serve in the place of the reserve
	if !q.space.checkFull(needed-1) || q.space.checkFull(needed) {
		t.Error("it is not the free pages that decide")
	}
	q.space.isFull.Store(true)
	must(t, hog.Truncate(0))
	q.accept(order("b", "grill"))
	q.stop()
	for _, want := range []string{
		"cannot create the reserve file", "disk has free space again", "in memory: a restart",
	} {
		wantLogged(t, &log, want)
	}
}

func TestAnUnknownFilesystemIsNeitherFullNorDangerous(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	wantErr(t, errOf(freeBytes(missing)), os.ErrNotExist)
	if why := filesystem(missing) + filesystem("/proc"); why != "" {
		t.Error(why)
	}
	s := newSpace(Options{Path: filepath.Join(missing, "queue.db"), Reserve: -1, Logger: start(t).log})
	for _, full := range []bool{false, true} {
		s.isFull.Store(full)
		if s.checkFull(0) != full {
			t.Errorf("full %t is not kept", full)
		}
	}
}

func TestAFilesystemThatMayLoseTheQueueIsNamed(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "nfs", 0x517b: "network", 0xff534d42: "network", 0xfe534d42: "network",
		0x4d44: "fat", 0x2011bab0: "fat", 0x794c7630: "overlay",
		0x01021994: "memory", 0x858458f6: "memory", 0xef53: "", // ext4
	} {
		if why := risk(magic); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%#x: %q, want %q", magic, why, want)
		}
	}
}

func TestSpaceIsTakenByZeroesWhereItCannotBeAllocated(t *testing.T) {
	name, err := os.ReadFile("/proc/self/comm")
	must(t, err)
	f, err := os.OpenFile("/proc/self/comm", os.O_RDWR, 0) // a file that can only be written
	must(t, err)
	defer f.Close()
	must(t, allocate(f, 1))
	got, err := os.ReadFile("/proc/self/comm")
	must(t, errors.Join(err, errOf(f.Write(bytes.TrimSpace(name)))))
	if string(got) != "\n" {
		t.Errorf("the file has %q, not a zero", got)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	defer full.Close()
	wantErr(t, writeZeroes(full, 1), syscall.ENOSPC)
}

func TestAReserveThatCannotBeSyncedIsReportedAndRemoved(t *testing.T) {
	name, err := os.ReadFile("/proc/self/comm")
	must(t, err)
	var log queuetest.Log
	q := start(t, logTo(&log))
	q.stop()
	q.o.Reserve = 1
	must(t, os.Symlink("/proc/self/comm", reservePath(q.o))) // which can be written, but not synced
	q.open()
	must(t, os.WriteFile("/proc/self/comm", bytes.TrimSpace(name), 0))
	if _, err := os.Lstat(reservePath(q.o)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
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
			if strconv.IntSize == 64 && to-from != 1<<30 {
				t.Errorf("%d bytes are mapped", to-from)
			}
			return
		}
	}
	t.Error("the file is not mapped")
}

func TestAMetaPageThatCannotBeWrittenIsAnError(t *testing.T) {
	q := start(t)
	q.stop()
	content, err := os.ReadFile(q.o.Path)
	must(t, err)
	fd, err := unix.MemfdCreate("queue", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	must(t, err)
	f := os.NewFile(uintptr(fd), "queue")
	defer f.Close()
	must(t, errOf(f.Write(content)))
	must(t, errOf(unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)))
	synced := false
	err = rewriteMeta(fmt.Sprintf("/proc/self/fd/%d", fd), func(*os.File) error { synced = true; return nil })
	wantErr(t, err, syscall.EPERM)
	if synced {
		t.Error("it is synced all the same")
	}
}

// TestAFileThatCannotBeReadIsNotCalledDamagedByCheck: what is damaged is moved aside, and a disk that cannot be read
// says nothing about the file.
func TestAFileThatCannotBeReadIsNotCalledDamagedByCheck(t *testing.T) {
	if err := Check("/proc/self/mem"); !errors.Is(err, syscall.EIO) || errors.Is(err, ErrDamaged) {
		t.Errorf("err %v", err)
	}
}

// fillDisk leaves so many bytes free on a filesystem.
func fillDisk(t *testing.T, hog *os.File, free int64) {
	t.Helper()
	must(t, hog.Truncate(0))
	must(t, errOf(hog.Seek(0, 0)))
	now, err := freeBytes(filepath.Dir(hog.Name()))
	must(t, err)
	must(t, writeZeroes(hog, now-free))
}

// smallDisk mounts a filesystem of so many MiB.
func smallDisk(t *testing.T, mib int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Fatalf("mount a small filesystem: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}
