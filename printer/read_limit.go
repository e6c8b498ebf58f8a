package printer

import "time"

// A readLimiter slows down the reading from a printer that never stops sending: a wrong baud rate, a
// broken cable, a device that is no printer. A working printer sends some tens of bytes a ticket.
// Without a limit it would use the processor that other stations need, and fill the log. What is not
// read stays in the kernel's buffer.
type readLimiter struct {
	since time.Time
	used  int
}

// In each window about two hundred answers are read, or 8 KiB of anything else.
const (
	readWindow       = time.Second / 8
	maxReadPerWindow = 8 << 10
)

// count is called after each read of n bytes. It sleeps until the end of the window if that is used up.
func (b *readLimiter) count(n int) {
	const perRead = 32 // bytes; a read of one byte costs as much as one of 32
	if b.used == 0 {
		b.since = time.Now()
	}
	if b.used += n + perRead; b.used >= maxReadPerWindow {
		b.used = 0
		time.Sleep(time.Until(b.since.Add(readWindow)))
	}
}
