package printer

import "time"

// A budget is how much is listened to in a while. A printer says some tens of bytes about a
// ticket; what talks without end (a wrong speed, a broken cable, something that is no printer)
// may neither take the processor from the others nor fill the log. It waits in the kernel.
type readLimiter struct {
	since time.Time
	used  int
}

// What may be heard in a while: some two hundred answers, or 8 KiB of junk.
const (
	readWindow       = time.Second / 8
	maxReadPerWindow = 8 << 10
)

// spend is told of every read, and of how much came with it.
func (b *readLimiter) count(n int) {
	const read = 32 // bytes, for which a read by itself counts
	if b.used == 0 {
		b.since = time.Now()
	}
	if b.used += n + read; b.used >= maxReadPerWindow {
		b.used = 0
		time.Sleep(time.Until(b.since.Add(readWindow)))
	}
}
