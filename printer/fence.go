package printer

import (
	"crypto/rand"

	"ticketrail/printer/escpos"
)

// A fence is a question behind a ticket that the printer answers when it gets there. One
// is in flight at a time: printers may keep only the newest.
type fence struct {
	id  [4]byte // of GS ( H; zero where it is GS r
	nth int     // GS r of this connection; 0 where it is GS ( H

	answered bool
	paper    escpos.Condition // with the answer to GS r
}

// takes says whether id is the answer, and notes it. A nil fence waits for nothing.
func (f *fence) acceptID(id [4]byte) bool {
	if f == nil || f.nth > 0 || f.id != id {
		return false
	}
	f.answered = true
	return true
}

// status notes the answer to the nth GS r.
func (f *fence) acceptStatus(nth int, paper escpos.Condition) {
	if f != nil && f.nth > 0 && f.nth == nth {
		f.answered, f.paper = true, paper
	}
}

// arm puts a fence in flight and returns the question that is to be sent.
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

// owed is how many GS r have not been answered.
func (s *session) outstandingStatus() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statusAsked - s.statusAnswered
}

// strays is how many answers to GS r came that nobody had asked for.
func (s *session) unexpectedCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unexpected
}

// idLetters are what ids are made of. No byte of them has bit 4 set, so that none could be
// taken for the beginning of another reply.
const idLetters = "ABCDEFGHIJKLMNOabcdefghijklmno@`"

// newID is an id that nobody guesses, and that another program is unlikely to use.
func newID() (id [4]byte) {
	_, _ = rand.Read(id[:]) // never fails
	for i, b := range id {
		id[i] = idLetters[int(b)%len(idLetters)]
	}
	return id
}
