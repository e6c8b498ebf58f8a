package queue

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fillDisk leaves so many bytes free on a filesystem.
func fillDisk(t *testing.T, hog *os.File, free int64) {
	t.Helper()
	must(t, hog.Truncate(0))
	must(t, errOf(hog.Seek(0, 0)))
	now, err := freeBytes(filepath.Dir(hog.Name()))
	must(t, err)
	must(t, writeZeroes(hog, now-free))
}

func TestAFirstStartOnAFullDiskFailsAndLeavesNothing(t *testing.T) {
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
	dir := smallDisk(t, 64)
	hog, err := os.Create(filepath.Join(dir, "hog"))
	must(t, err)
	defer hog.Close()
	var log bytes.Buffer
	q := start(t, logTo(&log), func(o *Options) { o.Path = filepath.Join(dir, "queue.db") })
	q.accept(order("a", "grill"))
	q.stop()
	fillDisk(t, hog, 12<<20)
	q.o.Reserve = 32 << 20
	q.open()
	wantErr(t, q.Ready(), ErrStorageFull)
	q.wantRefused(order("b", "grill"), ErrStorageFull)
	q.printAll("grill", "a")
	must(t, hog.Truncate(0))
	q.accept(order("b", "grill"))
	q.stop()
	for _, want := range []string{
		"cannot create the reserve file", "disk has free space again", "in memory: a restart",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log: %s", want, &log)
		}
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
		if s.checkFull() != full {
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
	must(t, errOf(f.Write(bytes.TrimSpace(name))))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	defer full.Close()
	wantErr(t, writeZeroes(full, 1), syscall.ENOSPC)
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
