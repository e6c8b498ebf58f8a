package session

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"ticketrail/printer/escpos"
)

// A FenceKind is a command that the printer answers once it has processed everything before it.
type FenceKind string

const (
	NoFence  FenceKind = ""
	ByID     FenceKind = "process_id" // GS ( H, function 48: returns the id when the data is printed
	ByStatus FenceKind = "status"     // GS r 1: returns the paper status when it is reached in the buffer
)

// A fence is a question that the printer answers in order. Before a ticket it shows that the printer reads commands,
// behind a ticket that the ticket is printed. Only one is in flight at a time, because a printer may keep only the
// newest (Epson ESC/POS command reference, GS ( H). GS ( H, function 48, is answered when the data before it is
// printed; GS r when the printer comes to it in its buffer, which may be before the lines in front of it are on the
// paper. That is the difference between confirmed and processed.
type fence struct {
	want FenceKind // the answer after which no better one comes
	got  FenceKind // the best one so far
	ids  [][4]byte // of GS ( H; only the answer to the first one is this fence's
	lost bool      // another one was answered, and the first was not before it
	nth  int       // the number of its GS r on the connection; if it is doubled, of the second one

	at    time.Time        // of got
	paper escpos.Condition // as reported in the answer to GS r
}

// answered reports whether an answer came, or none will come any more; the session's mu is held.
func (f *fence) answered() bool { return f.got != NoFence || f.lost }

// acceptID records the answer to id in the fence, which may be nil.
func (f *fence) acceptID(id [4]byte) {
	switch {
	case f == nil:
	case id == f.ids[0]:
		f.got, f.at = ByID, time.Now()
	case slices.Contains(f.ids, id):
		f.lost = f.got == NoFence
	}
}

// acceptStatus records the answer to the nth GS r of the connection. It counts if f, which may be nil, asked that one
// or an earlier one, and has no answer yet: a second one says nothing more about the lines ahead of the first.
func (f *fence) acceptStatus(nth int, paper escpos.Condition) {
	if f != nil && f.got == NoFence && f.nth <= nth {
		f.got, f.paper, f.at = ByStatus, paper, time.Now()
	}
}

// expect registers a fence with an id of its own. The one before is given up: its late answer proves nothing any
// more.
func (s *Session) expect(want FenceKind) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.fence = &fence{want: want, ids: [][4]byte{s.o.IDs.next()}, nth: s.statusAsked + 1}
	if s.by == NoFence { // it is doubled: see question
		s.fence.nth++
	}
}

// askAnother asks, once, with another id for a fence whose first one is not answered.
func (s *Session) askAnother(ctx context.Context) error {
	fence := s.fence
	if fence.want != ByID || len(fence.ids) > 1 {
		return nil
	}

	id := s.o.IDs.next()
	s.mu.Lock()
	fence.ids = append(fence.ids, id)
	s.mu.Unlock()

	return inTime(s.Write(ctx, escpos.ProcessID(id), AnswerTimeout))
}

// question returns the bytes of the fence, and counts them as asked: they must be written. withStatus adds GS r to GS (
// H, ahead of it, so that a printer that takes GS ( H for text has answered GS r already. Until a hello is answered,
// each GS r is doubled, and the first answer does not count: it may be to the question of an earlier connection or of
// another program, with lines to print behind it.
func (s *Session) question(withStatus bool) (b []byte) {
	fence := s.fence
	if fence.want == ByStatus || withStatus {
		b = escpos.PaperStatus()
		if s.by == NoFence {
			b = append(b, b...)
		}
		s.mu.Lock()
		if s.statusAsked == 0 {
			s.unexpected = 0 // those before the first GS r: noteNoise has judged by them already
		}
		s.statusAsked += len(b) / len(escpos.PaperStatus())
		s.mu.Unlock()
	}

	if fence.want == ByID {
		b = append(b, escpos.ProcessID(fence.ids[0])...)
	}
	return b
}

// answer waits for the answer to the fence and returns its kind, NoFence if none came. errLost: none will come. If GS (
// H was wanted and only GS r is answered, it waits idAfterStatus more, because GS ( H is answered only when the data is
// printed. Then the answer to GS r counts.
func (s *Session) answer(ctx context.Context, within time.Duration) (FenceKind, error) {
	fence := s.fence
	err := s.waitNudging(ctx, within, fence.answered)

	if err == nil {
		err = s.waitFor(ctx, idAfterStatus, func() bool { return fence.got == fence.want || fence.lost })
	}
	if err != nil && !TimedOut(err) {
		return NoFence, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if fence.got == NoFence && fence.lost {
		return NoFence, errLost
	}
	return fence.got, nil
}

// Ask waits for the answer to DLE EOT 1, the first question on a connection.
func (s *Session) Ask(ctx context.Context, within time.Duration) error {
	if err := s.sendNULs(ctx, longestHeader); err != nil {
		return err
	}
	return s.ask(ctx, 1, within, never)
}

// FirstStatus is AskStatus as the first question on a connection, which waits longer: only that one waits for another
// client to finish.
func (s *Session) FirstStatus(ctx context.Context) error {
	if err := s.sendNULs(ctx, longestHeader); err != nil {
		return err
	}
	defer s.noteNoise()
	return s.AskStatus(ctx, firstAnswer)
}

// AskStatus asks each DLE EOT n that the printer answers. within is for the first answer; the others come within
// [AnswerTimeout].
func (s *Session) AskStatus(ctx context.Context, within time.Duration) error {
	return s.askStatus(ctx, within, never)
}

// ask sends DLE EOT n and waits for its answer, or until enough. An answer that is pending comes first.
func (s *Session) ask(ctx context.Context, n byte, within time.Duration, enough func() bool) error {
	over := time.Now().Add(within)
	answered := func() bool { return s.pending == 0 || enough() }

	if time.Since(s.askedAt) < lostAfter {
		if err := s.waitFor(ctx, within, answered); err != nil {
			return err
		}
	}

	s.mu.Lock()
	done := enough()
	if !done {
		// Before it is written, because the answer may be read before write returns.
		s.pending, s.askedAt = n, time.Now()
	}
	s.mu.Unlock()

	if done {
		return nil
	}

	if err := s.Write(ctx, escpos.RealTime(n), time.Until(over)); err != nil {
		return err
	}
	return s.waitNudging(ctx, time.Until(over), answered)
}

// askStatus asks each DLE EOT n that the printer answers, or until enough. within is for the first answer; the
// others come within [AnswerTimeout]. One answer is enough to know that it is there.
func (s *Session) askStatus(ctx context.Context, within time.Duration, enough func() bool) error {
	for i, n := range s.realTime {
		err := s.ask(ctx, n, within, enough)
		if i > 0 && TimedOut(err) {
			return nil
		}
		if err != nil {
			return err
		}
		within = AnswerTimeout
	}
	return nil
}

// handle records replies and the end of the reading, and calls Foreign and Observe without s.mu, because they take a
// mutex of the device.
func (s *Session) handle(replies []escpos.Reply, err error) {
	s.mu.Lock()
	for _, r := range replies {
		s.handleOne(r)
	}

	if s.err = err; errors.Is(err, io.EOF) {
		s.err = errClosed
	}

	now := s.conditions()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()

	for _, r := range replies {
		switch {
		case r.Kind == escpos.ProcessIDReply && !s.o.IDs.own(r.ID):
			s.o.Foreign()
		case r.Kind == escpos.AutoStatusReply:
			s.o.Observe(now)
		}
	}
}

// handleOne records one reply; s.mu is held. XON and XOFF are flow control and no answers.
func (s *Session) handleOne(r escpos.Reply) {
	switch r.Kind {
	case escpos.RealTimeReply:
		n := s.pending
		if n == 0 {
			return // asked by another client
		}
		s.pending = 0
		s.reported[n] = escpos.FromRealTime(n, r.Byte)

		// The older reports on the same conditions, from GS r and ASB, no longer count: the roll
		// was changed since.
		s.reported[0] &^= escpos.RealTimeConditions(n)
		s.asb &^= escpos.RealTimeConditions(n)
	case escpos.AutoStatusReply:
		s.pushed++
		s.asb, s.reported = escpos.FromASB(r.ASB), [5]escpos.Condition{}
	case escpos.StatusReply:
		if s.statusAnswered == s.statusAsked {
			// Another program's GS r, or a printer that pushes status in another format.
			s.unexpected++
			return
		}
		s.statusAnswered++
		s.reported[0] = escpos.FromPaper(r.Byte)
		s.fence.acceptStatus(s.statusAnswered, s.reported[0])
	case escpos.ProcessIDReply: // acceptID ignores the late one of an earlier fence
		s.fence.acceptID(r.ID)
	// Some Chinese boards answer GS ( H with 37 33 when the paper is out (NZPRINTER SDK).
	case escpos.NoPaperReply:
		s.reported[0] |= escpos.PaperOut
	case escpos.BlockReply:
		if name := shown(string(r.Data)); r.Byte == '_' && name != "" {
			s.model = append(s.model, name)
		}
	case escpos.UnknownReply:
		s.unknown = true
	}
}

// conditions is everything that the printer reports now; s.mu is held.
func (s *Session) conditions() escpos.Condition {
	all := s.asb
	for _, t := range s.reported {
		all |= t
	}
	return all
}

// Condition is conditions for callers that do not hold s.mu.
func (s *Session) Condition() escpos.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conditions()
}

// Blocked reports whether the printer reported a condition that stops the printing.
func (s *Session) Blocked() bool { return s.Condition().Any(escpos.Blocking) }

// IDs issues the ids of a Device. The first two letters are random and belong to it: they tell its own late answers
// from another program's. The other two count, from a random number on, so that an id of an earlier process is none of
// the next ones; an answer that is 1,024 ids late does not happen. Only one session at a time uses it.
type IDs struct {
	mark   [2]byte
	issued int
}

// idLetters are the characters of ids. The protocol allows 20h to 7Eh; none of these has bit 4 set, as
// the first byte of a DLE EOT or ASB reply has, so an id is never taken for one.
const idLetters = "ABCDEFGHIJKLMNOabcdefghijklmno@`"

// NewIDs returns IDs with a new mark.
func NewIDs() *IDs {
	letter := func() byte { return idLetters[rand.N(len(idLetters))] }
	return &IDs{mark: [2]byte{letter(), letter()}, issued: rand.N(len(idLetters) * len(idLetters))}
}

func (ids *IDs) next() [4]byte {
	ids.issued++
	return [4]byte{ids.mark[0], ids.mark[1], idLetters[ids.issued/32%32], idLetters[ids.issued%32]}
}

func (ids *IDs) own(id [4]byte) bool { return [2]byte(id[:2]) == ids.mark }
