package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"ticketrail/cmd/internal/admin"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/receiver"
)

// loopDisk are the programs that mountDisk needs.
var loopDisk = []string{"root", "mkfs.ext4", "losetup", "mount"}

// TestAPowerCutLosesNothing copies the disk while the daemon stands still between two
// instructions: the copy has the blocks that were synced to the disk, as after a power cut.
func TestAPowerCutLosesNothing(t *testing.T) {
	slow.Test(t, loopDisk...)
	t.Parallel()
	k, c, lost := powerCut(t, realProgram)
	k.wantNoLoss()
	assert.True(t, len(lost) == 0, "answered 200 and not on the disk", len(lost), len(c.acked))
	k.waitUntilPrinted()
	k.checkPaper(c.acked, c.lost, nil)
}

// TestThePowerCutTestSeesLossWhenNothingIsSynced is the control: without syncing the same cut must lose something, or
// the test above sees nothing.
func TestThePowerCutTestSeesLossWhenNothingIsSynced(t *testing.T) {
	slow.Test(t, loopDisk...)
	t.Parallel()

	// The kernel may have written everything back by itself just before a cut.
	for range 5 {
		_, c, lost := powerCut(t, unsynced)
		t.Logf("%d of %d orders lost", len(lost), len(c.acked))
		if len(lost) > 0 {
			return
		}
	}

	t.Error("no order was lost without syncing: the test cannot see loss")
}

// powerCut runs program on a disk of its own, cuts the power under load, starts the
// real program on the disk's content, and returns the answered orders that are unknown there.
func powerCut(t *testing.T, program string) (*daemonProcess, *senderGroup, []order) {
	image, mount := mountDisk(t, "96M")
	k := newDaemon(t, filepath.Join(mount, "t.db"), "grill", "bar")
	k.program = program
	k.start()
	c := startSenders(k, "", 8)
	c.waitForMore(200)
	must(t, k.cmd.Process.Signal(syscall.SIGSTOP))
	// No more answers reach the senders; every order that was answered until here must print.
	after := image + ".after"
	runShell(t, "cp %s %s", image, after)
	c.stop.Store(true)
	k.kill()
	c.stopAndWait()
	runShell(t, "umount -l %s && mount -o loop %s %s", mount, after, mount)
	k.program = realProgram
	k.start()
	known := map[string]bool{}
	jobs, err := k.control().Jobs(t.Context(), admin.Filter{})
	must(t, err)
	for _, j := range jobs {
		known[j.Request] = true
	}
	var lost []order
	for _, o := range c.acked {
		if !known[o.id] {
			lost = append(lost, o)
		}
	}
	return k, c, lost
}

// TestAFullDiskStopsAcceptingAndNeverPrinting fills the disk under the daemon.
func TestAFullDiskStopsAcceptingAndNeverPrinting(t *testing.T) {
	slow.Test(t, loopDisk...)
	t.Parallel()
	_, mount := mountDisk(t, "64M")
	k := newDaemon(t, filepath.Join(mount, "t.db"), "grill", "bar")
	k.start()
	k.printers["grill"].Stall() // so that something is owed when the disk is full
	var acked []order
	for i := range 20 {
		acked = append(acked, newOrder(fmt.Sprintf("K-a-%d-0000", i), "grill", "bar"))
	}
	k.accept(acked...)
	filler := filepath.Join(mount, "filler")
	exec.Command("sh", "-c", "cat /dev/zero > "+filler).Run() // ends when nothing fits any more
	refused := newOrder("K-b-0-0000", "grill", "bar")
	for try := 0; ; try++ {
		got := k.post(refused, try)
		if got.status == 503 && got.code == "storage_full" {
			break
		}
		if got.code == string(receiver.TooSlow) {
			continue // whether the disk is full is seen at the next attempt
		}
		if got.status != 200 || try > 500 {
			t.Fatalf("with a full disk an order got %+v", got)
		}
		acked = append(acked, refused) // a little fitted still
		refused = newOrder(fmt.Sprintf("K-b-%d-0000", try+1), "grill", "bar")
	}
	k.wantSaid("status", "FAIL orders no orders are accepted: the disk is full", "MB are needed",
		"delete something on the disk that df")
	k.printers["grill"].Repair()
	k.waitUntilPrinted()
	k.kill()
	k.start() // also on a full disk
	k.waitUntilPrinted()
	must(t, os.Remove(filler))
	must(t, eventually(func() error {
		got := k.post(refused, 1)
		if got.status != 200 || got.duplicate {
			return fmt.Errorf("with room again the order got %+v", got)
		}
		return nil
	}))
	acked = append(acked, refused)
	k.waitUntilPrinted()
	k.checkPaper(acked, nil, nil)
}

// TestABackupIsWrittenToADiskWithoutLinks: a USB stick has FAT, which has no hard links.
func TestABackupIsWrittenToADiskWithoutLinks(t *testing.T) {
	slow.Test(t, "strace")
	t.Parallel()
	k := newDaemon(t, "", "grill")
	k.start()
	path := filepath.Join(k.dir, "b.db")
	runShell(t, "strace -D -f -qq -o /dev/null -e trace=linkat -e inject=linkat:error=EPERM "+
		"ticketrail db backup %s --socket %s && ticketrail db check %s", path, filepath.Join(k.dir, "s"), path)
}

func runShell(t *testing.T, format string, args ...any) {
	t.Helper()
	script := fmt.Sprintf(format, args...)
	if b, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, b)
	}
}

// mountDisk makes an ext4 file system of its own in a file, and mounts it until the test ends.
func mountDisk(t *testing.T, size string) (image, mount string) {
	t.Helper()
	dir := t.TempDir()
	image, mount = filepath.Join(dir, "img"), filepath.Join(dir, "mnt")
	runShell(t, "truncate -s %s %s && mkfs.ext4 -q -F -m 0 %s && mkdir %s", size, image, image, mount)
	runShell(t, "mount -o loop %s %s", image, mount)
	t.Cleanup(func() { exec.Command("umount", "-l", mount).Run() })
	return image, mount
}
