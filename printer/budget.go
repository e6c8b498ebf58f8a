package printer

import "time"

// A budget is how much is listened to in a while. A printer says some tens of bytes about a
// ticket; what talks without end (a wrong speed, a broken cable, something that is no printer)
// may neither take the processor from the others nor fill the log. It waits in the kernel.
type budget struct {
	since time.Time
	spent int
}

// What may be heard in a while: some two hundred answers, or 8 KiB of junk.
const (
	aWhile       = time.Second / 8
	heardInWhile = 8 << 10
)

// spend is told of every read, and of how much came with it.
func (b *budget) spend(n int) {
	const read = 32 // bytes, for which a read by itself counts
	if b.spent == 0 {
		b.since = time.Now()
	}
	if b.spent += n + read; b.spent >= heardInWhile {
		b.spent = 0
		time.Sleep(time.Until(b.since.Add(aWhile)))
	}
}
