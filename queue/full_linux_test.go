package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/slow"
)

func TestARealFullDiskStopsAcceptingNeverPrinting(t *testing.T) {
	slow.Test(t, "root")
	dir := smallDisk(t, 64)
	hog := filepath.Join(dir, "hog") // a file of another program that fills the disk
	f, err := os.Create(hog)
	if err == nil {
		err = writeZeroes(f, 30<<20)
	}
	must(t, err)
	defer f.Close()
	q := start(t, func(o *Options) { o.Path = filepath.Join(dir, "queue.db"); o.Reserve = 4 << 20; o.NoSync = false })
	n := 0
	fill := func() {
		t.Helper()
		for ; ; n++ {
			r := order(id(n), "grill")
			r.Body = make([]byte, 200<<10)
			_, err := q.Accept(bg, r)
			if errors.Is(err, ErrStorageFull) {
				return
			}
			q.must(err)
		}
	}
	fill()
	t.Logf("full after %d requests", n)
	wantErr(t, q.Ready(), ErrStorageFull)
	if err := q.Ready(); !strings.Contains(err.Error(), " MB are needed") {
		t.Errorf("%v does not say how much room is needed", err)
	}
	q.wantDuplicate(order(id(0), "grill"))
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	// Now even small changes find no space, so the reserve is removed for them.
	s := q.KV("boards")
	for m := 0; ; m++ {
		err := s.Put(bg, id(m), make([]byte, 60_000))
		if errors.Is(err, ErrStorageFull) {
			break
		}
		if q.must(err); m == 1000 {
			t.Fatal("the disk is never full")
		}
	}
	if _, err := os.Stat(q.o.Path + ".reserve"); err == nil {
		t.Error("the reserve was not given up")
	}
	for m := range n {
		q.printAll("grill", id(m))
	}
	q.wantNothing("grill")
	q.wantRefused(order("new", "grill"), ErrStorageFull)
	q.must(os.Remove(hog))
	q.must(f.Close())
	q.accept(order("new", "grill"))
	if info, err := os.Stat(q.o.Path + ".reserve"); err != nil || info.Size() != 4<<20 {
		t.Errorf("the reserve is not back: %v", err)
	}
	q.restart()
}

// TestAFullDiskTakesRequestsWhileTheFileHasFreePages: another program may have taken the rest of the disk.
func TestAFullDiskTakesRequestsWhileTheFileHasFreePages(t *testing.T) {
	slow.Test(t, "root")
	dir := smallDisk(t, 64)
	q := start(t, func(o *Options) { o.Path = filepath.Join(dir, "queue.db"); o.Reserve = 4 << 20 })
	q.accept(order("a", "bar"))
	q.evening(40)
	f, err := os.Create(filepath.Join(dir, "hog"))
	must(t, err)
	defer f.Close()
	q.must(os.Remove(reservePath(q.o)))
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	q.space.isFull.Store(true) // a commit has found it full, and gave up the reserve
	n := 0
	for ; n < 200; n++ {
		r := order(id(n), "grill")
		r.Body = make([]byte, 200<<10)
		if _, err := q.Accept(bg, r); err != nil {
			wantErr(t, err, ErrStorageFull)
			break
		}
	}
	if n < 100 || n == 200 {
		t.Errorf("%d requests of 200 KiB fit into 40 MiB of free pages", n)
	}
	wantErr(t, q.Ready(), ErrStorageFull)
	for m := range n { // there is room left for what printing writes
		q.printAll("grill", id(m))
	}
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
