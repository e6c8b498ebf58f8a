package doctor

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// WallClock is the clock of the box. A box without a battery boots in 1970, and its clock jumps when
// the network comes up. The queue therefore counts the time that the box was off only if the clock
// was synchronized both before and after.
type WallClock struct{}

// Now is the time of the box, right or wrong. It is shown to people; the queue measures with it
// only while Synchronized says so.
func (WallClock) Now() time.Time { return time.Now() }

// maxClockError is the error at which the kernel takes its clock for unsynchronized. It adds 0.5 ms a second
// until a time server has answered again (adjtimex(2)).
const maxClockError = 16 * time.Second

// Synchronized reports whether the clock is synchronized, by timesyncd, chrony or another program: the kernel knows.
// But a unit with ProtectClock=yes may not even ask it, so there systemd-timedated asks on our behalf. Without an
// answer it is not synchronized: then no ticket expires for time that was not measured.
func (WallClock) Synchronized() bool {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err == nil {
		return time.Duration(t.Maxerror)*time.Microsecond < maxClockError
	}
	return timedated().Load()
}

// timedated has the newest answer of systemd-timedated.
var timedated = sync.OnceValue(func() *atomic.Bool {
	return repeated(func() bool { return askTimedated(timesyncFile) }, askEvery)
})

const (
	// timesyncFile is made by timesyncd after the first answer of a time server; /run is empty after a boot.
	timesyncFile = "/run/systemd/timesync/synchronized"
	// askEvery is far below the hours after which a clock without a time server is wrong.
	askEvery = time.Minute
	// The queue waits for the first answer, once in the life of the daemon.
	askTimeout = 2 * time.Second
)

// repeated asks a question at once, and then again and again in the background: the queue looks with every write of its
// clock, and must not wait for another program while orders do. It returns the newest answer.
func repeated(ask func() bool, every time.Duration) *atomic.Bool {
	newest := &atomic.Bool{}
	newest.Store(ask())
	go func() {
		for range time.Tick(every) {
			newest.Store(ask())
		}
	}()

	return newest
}

// askTimedated asks timedated. If it does not answer, the file counts: Debian can run without a bus.
func askTimedated(file string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	said, err := exec.CommandContext(ctx, "timedatectl", "show", "--value", "--property=NTPSynchronized").Output()
	if err != nil {
		_, err = os.Stat(file)
		return err == nil
	}
	return strings.TrimSpace(string(said)) == "yes"
}
