package dispatch

import (
	"math/rand/v2"
	"time"
)

const (
	longestPause = 30 * time.Second
	readyPoll    = 5 * time.Second // how often to look whether a person has brought paper
)

// backoff is the pause after the nth failure in a row, n >= 1: between half and the whole
// of 2 s, 4 s, 8 s … 30 s, so never under 1 s. There is no last attempt: the printer may
// be off for the night, and what is too old by then expires.
func backoff(n int) time.Duration {
	whole := min(longestPause, 2*time.Second<<min(max(n-1, 0), 10))
	return whole/2 + rand.N(whole/2+1)
}

// poll is the pause while the station needs a person: 4 to 6 s, and it does not grow. The
// cook who has just put in paper should not wonder whether it helped.
func poll() time.Duration {
	return readyPoll*4/5 + rand.N(readyPoll*2/5+1)
}

// soon is the pause before the marked reprint of a ticket in doubt: long enough for a
// printer to be itself again after a reset of the connection, short for a cook. 0.5 to 1 s.
func soon() time.Duration {
	return time.Second/2 + rand.N(time.Second/2+1)
}

// failures counts in a row, per cause; a ticket that goes out clears them.
type failures struct {
	refused int // before begin
	doubted int // after it
}

func (f *failures) afterRefusal() time.Duration {
	f.refused++
	return backoff(f.refused)
}

// afterDoubt is short the first time. From then on it grows: a printer that breaks off
// every ticket must not run through a whole line, two copies each, in a minute.
func (f *failures) afterDoubt() time.Duration {
	f.refused = 0 // it was reachable
	f.doubted++
	if f.doubted == 1 {
		return soon()
	}
	return backoff(f.doubted - 1)
}

// afterStore is the pause after the queue has failed; the stations are not to blame.
func (l *line) afterStore() time.Duration {
	l.store++
	return backoff(l.store)
}
