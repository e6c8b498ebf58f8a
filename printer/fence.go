package printer

import (
	"crypto/rand"

	"ticketrail/printer/escpos"
)

// A fence is a question behind a ticket that the printer answers once it has printed the ticket.
// Only one is in flight at a time, because a printer may keep only the newest (Epson ESC/POS
// command reference, GS ( H). GS ( H, function 48, is answered when the data before it is printed;
// GS r when the printer comes to it in its buffer, which may be before the lines in front of it are
// on the paper. That is the difference between confirmed and processed.
type fence struct {
	id  [4]byte // of GS ( H; zero for GS r
	nth int     // count of GS r on this connection; 0 for GS ( H

	answered bool
	paper    escpos.Condition // as reported in the answer to GS r
}

// acceptID reports whether id is this fence's answer, and records it. f may be nil.
func (f *fence) acceptID(id [4]byte) bool {
	if f == nil || f.nth > 0 || f.id != id {
		return false
	}
	f.answered = true
	return true
}

// acceptStatus records the answer to the nth GS r of the connection. f may be nil.
func (f *fence) acceptStatus(nth int, paper escpos.Condition) {
	if f != nil && f.nth > 0 && f.nth == nth {
		f.answered, f.paper = true, paper
	}
}

// newFence registers a fence and returns the command to send. The one before is given up: its late
// answer proves nothing any more.
func (s *session) newFence(by fenceKind, id func() [4]byte) (*fence, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &fence{}
	s.fence = f
	if by == byStatus {
		s.statusAsked++
		f.nth = s.statusAsked
		return f, escpos.PaperStatus()
	}
	f.id = id()
	return f, escpos.ProcessID(f.id)
}

// outstandingStatus is how many GS r have not been answered. They may be answered on the next
// connection, see Device.outstanding.
func (s *session) outstandingStatus() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statusAsked - s.statusAnswered
}

// unexpectedCount is how many status bytes came without a GS r.
func (s *session) unexpectedCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unexpected
}

// idLetters are the characters of ids. The protocol allows 20h to 7Eh; none of these has bit 4 set, as
// the first byte of a DLE EOT or ASB reply has, so an id is never taken for one.
const idLetters = "ABCDEFGHIJKLMNOabcdefghijklmno@`"

// newID returns a random id: one that another program uses too is unlikely.
func newID() (id [4]byte) {
	_, _ = rand.Read(id[:]) // never fails
	for i, b := range id {
		id[i] = idLetters[int(b)%len(idLetters)]
	}
	return id
}
