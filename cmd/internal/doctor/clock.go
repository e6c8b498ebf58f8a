package doctor

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// WallClock is the box's clock and whether anything vouches for it. A box without a
// battery boots in 1970 and jumps when the network comes up; the queue counts time spent
// switched off only when the clock was good on both sides of it.
type WallClock struct{}

func (WallClock) Now() time.Time { return time.Now() }

// Synchronized asks systemd-timesyncd's mark first, because a hardened unit
// (ProtectClock=yes) may not call adjtimex, then the kernel, which chrony and ntpd tell.
// Not knowing is "no": then nothing expires for time nobody measured.
func (WallClock) Synchronized() bool {
	if _, err := os.Stat("/run/systemd/timesync/synchronized"); err == nil {
		return true
	}
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return false
	}
	return t.Status&unix.STA_UNSYNC == 0
}
