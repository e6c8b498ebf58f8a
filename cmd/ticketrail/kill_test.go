package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/admin"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

// TestA200IsAPromise kills the real program, under load, at moments of chance's choosing.
func TestA200IsAPromise(t *testing.T) {
	t.Parallel()
	killUnderLoad(t, newDaemon(t, "", "grill", "bar", "cold"), 3)
}

func TestA200IsAPromiseWithTheCopyOnAnotherDisk(t *testing.T) {
	slow.Test(t, loopDisk...)
	t.Parallel()
	_, mount := mountDisk(t, "96M")
	k := newDaemon(t, "", "grill", "bar", "cold")
	edit(t, k.conf, "storage: {", fmt.Sprintf("storage: { copy: %q,", filepath.Join(mount, "copy")))
	killUnderLoad(t, k, 15)
	logs, _ := filepath.Glob(filepath.Join(mount, "copy", "*.log"))
	assert.True(t, len(logs) != 0, "there is no log on the other disk")
}

func killUnderLoad(t *testing.T, k *daemonProcess, kills int) {
	k.start()
	c := startSenders(k, "", 8)
	for range kills {
		c.waitForMore(1 + rand.Int64N(20))
		time.Sleep(rand.N(15 * time.Millisecond)) // a random moment, not a wait for anything
		k.kill()
		k.start()
		k.wantNoLoss()
	}
	c.waitForMore(20)
	c.check()
	k.stop()
}

// TestAGracefulRestartCostsNoOrderAndDoubtsNothing: a graceful stop answers its requests, systemd keeps the listener,
// and the orders print after the start, in order and without a banner.
func TestAGracefulRestartCostsNoOrderAndDoubtsNothing(t *testing.T) {
	t.Parallel()
	k := newDaemon(t, "", "grill", "bar")
	k.program = unsynced // no power is cut
	// Longer than the service waits: this is about being refused or dropped, not about being quick.
	k.client.Timeout = testTimeout
	k.start()
	c := startSenders(k, "", 2)
	for range 2 {
		c.waitForMore(10)
		k.stop()
		k.start()
	}
	c.waitForMore(5)
	c.check()
	k.wantEachOnce()
	assert.True(t, len(c.lost) == 0 && c.refused == 0, "given up", len(c.lost), "refused", c.refused)
	k.stop()
}

// TestTheDaemonOutlivesTheReaderOfItsStandardOutput: a log station writes there, and Go by default ends a program whose
// reader has ended.
func TestTheDaemonOutlivesTheReaderOfItsStandardOutput(t *testing.T) {
	t.Parallel()
	k := newDaemon(t, "", "grill")
	edit(t, k.conf, "routes:\n", "logs: [ { name: archive, to: stdout } ]\nroutes:\n"+
		"  - { to: [archive], continue: true }\n")
	reader, writer, err := os.Pipe()
	must(t, err)
	reader.Close()
	defer writer.Close()
	k.stdout = writer
	k.start()
	k.accept(newOrder("S-a-0000", "grill"))

	must(t, eventually(func() error {
		select {
		case err := <-k.exited:
			k.exited <- err // the cleanup waits for it
			t.Fatalf("it ended: %v", err)
		default:
		}
		jobs, err := k.control().Jobs(t.Context(), admin.Filter{Station: "archive"})
		if err == nil && (len(jobs) != 1 || !strings.Contains(jobs[0].Reason, "broken pipe")) {
			err = fmt.Errorf("the ticket does not wait with the reason: %+v", jobs)
		}
		return err
	}))
	k.stop()
}

// TestASIGHUPReadsTheConfigurationAgain: without a handler it would end the daemon.
func TestASIGHUPReadsTheConfigurationAgain(t *testing.T) {
	k := newDaemon(t, "", "grill")
	k.start()
	edit(t, k.conf, "routes:\n", "rotes: []\nroutes:\n")
	must(t, k.cmd.Process.Signal(syscall.SIGHUP))
	must(t, eventually(func() error {
		if !strings.Contains(k.log.String(), "rotes: unknown key") {
			return errors.New("the log does not say what is wrong with the file")
		}
		return nil
	}))
	k.stop()
}

func TestTheDaemonEndsInOrderWhenItsTerminalIsClosed(t *testing.T) {
	// The tests may run under nohup, and a signal that is ignored here is ignored by the daemon too; a handler is not
	// inherited.
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)

	k := newDaemon(t, "", "grill")
	window, terminal := openTerminal(t)
	k.terminal = terminal
	k.start()
	window.Close()
	select {
	case err := <-k.exited:
		k.cmd = nil
		assert.True(t, err == nil, "it ended with", err)
	case <-time.After(testTimeout):
		t.Error("it goes on")
	}
}

// TestADamagedDatabaseIsReplacedAndTheKitchenContinues: the process that checks the file dies of it, the daemon does
// not.
func TestADamagedDatabaseIsReplacedAndTheKitchenContinues(t *testing.T) {
	t.Parallel()
	restoreAtStart(t, 5, 0)
}

func TestAStartThatIsKilledWhileItRestoresLosesNoTicket(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	restoreAtStart(t, 50, 6)
}

// restoreAtStart damages the database of a daemon with as many printed orders and as many that wait, and kills the next
// starts.
func restoreAtStart(t *testing.T, orders, kills int) {
	k := newDaemon(t, "", "grill", "bar")
	store := filepath.Join(k.dir, "t.db")
	k.start()
	var acked []order
	send := func() {
		for range orders {
			acked = append(acked, newOrder(fmt.Sprintf("K-a-%d-0000", len(acked)), k.stations...))
			k.accept(acked[len(acked)-1])
		}
	}
	send()
	k.waitUntilPrinted()
	must(t, k.control().Hold(t.Context(), "bar", "a test"))
	send()
	k.stop()
	clearNewestRoot(t, store)

	for range kills {
		k.run("")
		time.Sleep(rand.N(300 * time.Millisecond)) // a random moment, not a wait for anything
		k.kill()
	}
	k.start()
	kept, _ := filepath.Glob(store + ".corrupt-*")
	if len(kept) != 1 {
		t.Fatalf("quarantined: %v, want one file", kept)
	}
	for _, o := range acked {
		got := k.deliver(o)
		assert.True(t, got.status == 200 && got.duplicate, "a retry of", o.number, got)
	}
	must(t, k.control().Resume(t.Context(), "bar"))
	after := newOrder("K-b-0-0000", "grill")
	k.accept(after)
	k.waitUntilPrinted()
	k.checkPaper(append(acked, after), nil, nil)
	k.wantSaid("status", ".corrupt-")
	k.stop()
}

// TestADatabaseThatHasKilledTwoStartsIsPutAside: of a page that cannot be read the process dies by SIGBUS, which
// nothing catches, and the check of a start may not see it.
func TestADatabaseThatHasKilledTwoStartsIsPutAside(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	k := newDaemon(t, "", "grill")
	store := filepath.Join(k.dir, "t.db")
	k.start()
	must(t, k.control().Hold(t.Context(), "grill", "a test"))
	acked, unanswered := newOrder("K-a-0-0000", "grill"), []order{}
	k.accept(acked)
	k.stop()
	sound, err := os.ReadFile(store)
	must(t, err)

	// A machine may be so slow that a death comes more than ten seconds after the start: it does not count.
	for deaths := 0; deaths < 2; {
		if len(unanswered) > 20 {
			t.Fatalf("%d starts have died, and %d deaths are noted", len(unanswered), deaths)
		}
		k.start()
		must(t, os.Truncate(store, int64(2*os.Getpagesize())))
		unanswered = append(unanswered, newOrder(fmt.Sprintf("K-b-%d-0000", len(unanswered)), "grill"))
		k.post(unanswered[len(unanswered)-1], 0)
		err := <-k.exited
		k.exited <- err // the cleanup waits for it
		writeFiles(t, map[string]string{store: string(sound)})
		os.Remove(store + ".damaged") // where a daemon that could still say so has said that the file is damaged
		// A signal or a panic of bbolt, if it sees the shorter file before the kernel does: the daemon counts both.
		told, _ := os.ReadFile(store + ".crash")
		deaths = 0
		for start := range strings.SplitSeq(string(told), "== start ==") {
			if strings.Contains(start, "go.etcd.io/bbolt") {
				deaths++
			}
		}
	}
	k.start()
	must(t, eventually(func() error { // the sound file may have been put aside too, as older than its copy
		if !strings.Contains(k.log.String(), "the last 2 starts died in reading it") {
			return errors.New("the database was not put aside for its deaths")
		}
		return nil
	}))
	got := k.deliver(acked)
	assert.True(t, got.status == 200 && got.duplicate, "a retry got", got)
	must(t, k.control().Resume(t.Context(), "grill"))
	k.waitUntilPrinted()
	k.checkPaper([]order{acked}, unanswered, nil)
	k.stop()
}

// clearNewestRoot damages a database so that bbolt cannot read it: the page from which all others are found is zero.
func clearNewestRoot(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	host, page, newest := binary.NativeEndian, os.Getpagesize(), 0
	meta := func(n int) []byte { return b[n*page+16:] }
	if host.Uint64(meta(1)[48:]) > host.Uint64(meta(0)[48:]) {
		newest = 1
	}
	root := int(host.Uint64(meta(newest)[16:]))
	clear(b[root*page : (root+1)*page])
	writeFiles(t, map[string]string{path: string(b)})
}

// openTerminal makes a terminal: closing window is like closing the window of a terminal.
func openTerminal(t *testing.T) (window, terminal *os.File) {
	t.Helper()
	window, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { window.Close() })
	number, err := unix.IoctlGetInt(int(window.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(window.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	must(t, err)
	t.Cleanup(func() { terminal.Close() })
	return window, terminal
}
