package store

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

// TestACopyLeavesHalfOfTheDiskToTheOrders has a disk that takes a second for each sync.
func TestACopyLeavesHalfOfTheDiskToTheOrders(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	content := bytes.Repeat([]byte("ticket"), 1<<20)
	assert.NoError(t, os.WriteFile(from, content, 0o600))

	synctest.Test(t, func(t *testing.T) {
		began, busy, last := time.Now(), time.Duration(0), int64(0)
		hooks := System
		hooks.Sync = func(f *os.File) error {
			info, err := f.Stat()
			assert.True(t, err == nil && (info.IsDir() || info.Size()-last <= paceBytes+64<<10), info, last, err)
			last = info.Size()
			busy += time.Second
			time.Sleep(time.Second)
			return nil
		}

		assert.NoError(t, Place(t.Context(), from, to, hooks))
		atTheEnd := 2 * time.Second // the syncs of the whole file and of its folder
		paused, want := time.Since(began)-busy, busy-atTheEnd
		assert.True(t, paused == want && want >= 5*time.Second, busy, paused)
	})

	got, err := os.ReadFile(to)
	assert.True(t, err == nil && bytes.Equal(got, content), len(got), err)
}

// TestOnlyTheNewFileIsGivenToTheUserOfTheDaemon: this user can put a link in the place of the new file, and root would
// give another file away.
func TestOnlyTheNewFileIsGivenToTheUserOfTheDaemon(t *testing.T) {
	slow.Test(t, "root")
	dir := t.TempDir()
	other, temp := filepath.Join(t.TempDir(), "shadow"), filepath.Join(dir, "t.db.new-1")
	assert.NoError(t, os.WriteFile(other, nil, 0o600))
	assert.NoError(t, os.Symlink(other, temp))
	assert.NoError(t, os.Chown(dir, 12345, 12345))
	assert.NoError(t, own(temp, filepath.Join(dir, "t.db"), nil))
	info, err := os.Stat(other)
	assert.NoError(t, err)
	assert.Equal(t, info.Sys().(*syscall.Stat_t).Uid, 0)
}
