package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ticketrail/deploy/slow"
)

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
