package doctor

import (
	"os"
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

// Synchronized reports whether the clock is synchronized. It looks at the file of systemd-timesyncd
// first, because a unit with ProtectClock=yes may not call adjtimex, and then asks the kernel,
// which chrony and ntpd keep informed (adjtimex(2)). If neither knows, the answer is no: then no
// ticket expires for time that was not measured. The file is enough because timesyncd creates it
// only after the first answer of a time server, and /run is empty after a boot.
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
