package store

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/slow"
)

// TestACopyLeavesHalfOfTheDiskToTheOrders has a disk that takes a second for each sync.
func TestACopyLeavesHalfOfTheDiskToTheOrders(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	content := bytes.Repeat([]byte("ticket"), 1<<20)
	if err := os.WriteFile(from, content, 0o600); err != nil {
		t.Fatal(err)
	}

	synctest.Test(t, func(t *testing.T) {
		began, busy, last := time.Now(), time.Duration(0), int64(0)
		hooks := System
		hooks.Sync = func(f *os.File) error {
			if info, err := f.Stat(); err != nil || !info.IsDir() && info.Size()-last > paceBytes+64<<10 {
				t.Errorf("%d bytes are written at once, %v", info.Size()-last, err)
			} else {
				last = info.Size()
			}
			busy += time.Second
			time.Sleep(time.Second)
			return nil
		}

		if err := Place(t.Context(), from, to, hooks); err != nil {
			t.Fatal(err)
		}
		atTheEnd := 2 * time.Second // the syncs of the whole file and of its folder
		if paused, want := time.Since(began)-busy, busy-atTheEnd; paused != want || want < 5*time.Second {
			t.Errorf("the disk is busy for %s and left alone for %s", busy, paused)
		}
	})

	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes arrive, %v", len(got), err)
	}
}

// TestOnlyTheNewFileIsGivenToTheUserOfTheDaemon: this user can put a link in the place of the new file, and root would
// give another file away.
func TestOnlyTheNewFileIsGivenToTheUserOfTheDaemon(t *testing.T) {
	slow.Test(t, "root")
	dir := t.TempDir()
	other, temp := filepath.Join(t.TempDir(), "shadow"), filepath.Join(dir, "t.db.new-1")
	must(t, os.WriteFile(other, nil, 0o600))
	must(t, os.Symlink(other, temp))
	must(t, os.Chown(dir, 12345, 12345))
	must(t, own(temp, filepath.Join(dir, "t.db"), nil))
	info, err := os.Stat(other)
	must(t, err)
	if user := info.Sys().(*syscall.Stat_t).Uid; user != 0 {
		t.Errorf("the other file belongs to %d", user)
	}
}
