package printer

import (
	"crypto/rand"
	"slices"
	"time"

	"ticketrail/printer/escpos"
)

// A fence is a question that the printer answers in order. Before a ticket it shows that the printer reads
// commands (see hello), behind a ticket that the ticket is printed. Only one is in flight at a time, because
// a printer may keep only the newest (Epson ESC/POS command reference, GS ( H). GS ( H, function 48, is
// answered when the data before it is printed; GS r when the printer comes to it in its buffer, which may be
// before the lines in front of it are on the paper. That is the difference between confirmed and processed.
type fence struct {
	want fenceKind // the answer after which no better one comes
	got  fenceKind // the best one so far
	ids  [][4]byte // of GS ( H; only the answer to the first one is this fence's
	lost bool      // another one was answered, and the first was not before it
	nth  int       // count of GS r on this connection; 0: none was sent
	at   time.Time // of got

	paper escpos.Condition // as reported in the answer to GS r
}

// answered reports whether an answer came, or none will come any more; the session's mu is held.
func (f *fence) answered() bool { return f.got != noFence || f.lost }

// acceptID reports whether id was asked for this fence, and records what its answer means. f may be nil.
func (f *fence) acceptID(id [4]byte) bool {
	if f == nil {
		return false
	}
	switch slices.Index(f.ids, id) {
	case -1:
		return false
	case 0:
		f.got, f.at = byID, time.Now()
	default:
		f.lost = f.got == noFence
	}
	return true
}

// acceptStatus records the answer to the nth GS r of the connection, if it is the first for f, which may be nil: the
// answer to a second one says nothing more about what is ahead of the first.
func (f *fence) acceptStatus(nth int, paper escpos.Condition) {
	if f != nil && f.got == noFence && f.nth > 0 && f.nth <= nth {
		f.got, f.paper, f.at = byStatus, paper, time.Now()
	}
}

// newFence registers a fence. The one before is given up: its late answer proves nothing any more.
func (s *session) newFence(want fenceKind, id [4]byte) *fence {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence = &fence{want: want, ids: [][4]byte{id}}
	return s.fence
}

// anotherID is a question with another id for f, whose first one is not answered.
func (s *session) anotherID(f *fence, id [4]byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.ids = append(f.ids, id)
	return escpos.ProcessID(id)
}

// answeredAt is when the last fence was answered.
func (s *session) answeredAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fence.at
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

// issueID returns the next id for GS ( H. The first two letters are random and belong to this Device: they
// tell its own late answers from another program's. The other two count; an answer that is 1,024 ids late
// does not happen.
func (d *Device) issueID() [4]byte {
	d.issued++
	n := d.issued
	return [4]byte{d.idMark[0], d.idMark[1], idLetters[n/32%32], idLetters[n%32]}
}

func newIDMark() (mark [2]byte) {
	_, _ = rand.Read(mark[:]) // never fails
	for i, b := range mark {
		mark[i] = idLetters[int(b)%len(idLetters)]
	}
	return mark
}
