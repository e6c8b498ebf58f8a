package printer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/transport"
)

// Answers are told apart by their fixed bits alone, and an answer to DLE EOT does not say which n
// it belongs to. So a session remembers what it asked, in order, and asks nothing new while an old
// answer may still come. A status byte nobody here asked for is counted: it means that GS r proves
// nothing on this connection.

// A session is one connection to a printer that may answer. A goroutine reads for as long as the
// connection is open. Only the holder of the device's lock writes, one question at a time.
type session struct {
	conn transport.Conn
	// onID receives ids of GS ( H that no fence waits for, onASB the conditions of a pushed status. The
	// reading goroutine calls both.
	onID       func([4]byte)
	onASB      func(escpos.Condition)
	readerDone chan struct{} // closed when the reading goroutine has ended

	realTime []byte    // the n of each DLE EOT n that is answered
	by       fenceKind // what proves a ticket on this connection; set by askInOrder
	unsent   []byte    // the rest of what could not be written in time
	wrote    int       // bytes handed over on this connection
	nuls     int       // of them, those that complete what broke off
	rate     float64   // bytes a second that the line takes, as measured; 0: not yet
	late     bool      // its answers come with the next bytes
	cut      bool      // Device.pendingCut was sent on it, last

	mu         sync.Mutex    // guards what follows
	first      []byte        // what was written first, at most identifyLimit
	changed    chan struct{} // closed and replaced after each read
	err        error         // why the reading ended
	pushed     int           // ASB replies
	unexpected int           // replies to GS r that was not asked

	pending byte // the n of the DLE EOT that is not answered yet; 0: none
	askedAt time.Time

	// What the printer reported, by the question that it answered. The newest report on a condition counts.
	reported [5]escpos.Condition // in answer to DLE EOT n; 0 is everything else
	asb      escpos.Condition

	statusAsked, statusAnswered int // GS r, also answered in order
	fence                       *fence
}

// lostAfter is how late an answer to DLE EOT may come. Until then no other n is asked, because the late
// answer would be taken for the new one.
const lostAfter = 5 * time.Second

const (
	// nudgeAfter is how long a question is unanswered before the printer is sent something more, nudgeLate the same on
	// a connection on which that brought the answer before.
	nudgeAfter = 500 * time.Millisecond
	nudgeLate  = 20 * time.Millisecond
	// broughtWithin is how soon after it an answer comes that it has brought.
	broughtWithin = 100 * time.Millisecond
)

var (
	errNoAnswer = fmt.Errorf("no answer: %w", os.ErrDeadlineExceeded)
	// errNotPrinter: what it sent is no answer of a printer. None of it counts, and it gets no ticket.
	errNotPrinter = errors.New("no printer is at its address")
	// errHeardNothing: our side of the connection was ended to provoke a text, and none came.
	errHeardNothing = errors.New("it answers nothing")
	errClosed       = fmt.Errorf("the printer ended the connection: %w", io.EOF)
)

// newSession reads from conn until it is closed, or not at all if mute.
func newSession(conn transport.Conn, mute bool, onID func([4]byte), onASB func(escpos.Condition)) *session {
	s := &session{
		conn: conn, onID: onID, onASB: onASB, readerDone: make(chan struct{}), changed: make(chan struct{}),
	}
	if mute {
		close(s.readerDone)
		return s
	}
	go s.readLoop()
	return s
}

// readLoop is the only reader of the connection, so that answers, pushed status and ids of other
// programs are seen in their order, also between two tickets.
func (s *session) readLoop() {
	defer close(s.readerDone)
	var p escpos.Parser
	var b readLimiter
	// An Epson interface board buffers 512 bytes towards the host (UB-E02 Technical Reference
	// Guide).
	buf := make([]byte, 512)
	var heard []byte // at first, at most identifyLimit
	for {
		n, err := s.conn.Read(buf)
		if len(heard) < identifyLimit {
			heard = append(heard, buf[:min(n, identifyLimit-len(heard))]...)
			if what := s.foreign(heard); what != "" {
				s.handle(nil, fmt.Errorf("%w: %s", errNotPrinter, what))
				return
			}
		}
		s.handle(p.Feed(buf[:n]), err)
		if err != nil {
			return
		}
		b.count(n)
	}
}

// foreign is what answers with heard, if that is no printer.
func (s *session) foreign(heard []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	// More than the NULs ahead of a question: a status that says nothing is a NUL too.
	if len(heard) > longestHeader && bytes.HasPrefix(s.first, heard[:min(len(heard), len(s.first))]) {
		return "a program that returns what it is sent"
	}
	return program(heard)
}

// handle records replies and the end of the reading, and calls onID and onASB. The callbacks run
// without s.mu, because they take the device's mu and log.
func (s *session) handle(replies []escpos.Reply, err error) {
	var ids [][4]byte
	s.mu.Lock()
	pushed := s.pushed
	for _, r := range replies {
		if r.Kind == escpos.ProcessIDReply && !s.fence.acceptID(r.ID) {
			ids = append(ids, r.ID)
		}
		s.handleOne(r)
	}
	if s.err = err; errors.Is(err, io.EOF) {
		s.err = errClosed
	}
	now := s.conditions()
	pushed = s.pushed - pushed
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	for _, id := range ids {
		s.onID(id)
	}
	if pushed > 0 {
		s.onASB(now)
	}
}

// handleOne records one reply; s.mu is held. XON and XOFF are flow control, not answers.
func (s *session) handleOne(r escpos.Reply) {
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
	// Some Chinese boards answer GS ( H with 37 33 when the paper is out (NZPRINTER SDK).
	case escpos.NoPaperReply:
		s.reported[0] |= escpos.PaperOut
	case escpos.UnknownReply, escpos.XON, escpos.XOFF:
	}
}

// conditions is everything that the printer reports now; s.mu is held.
func (s *session) conditions() escpos.Condition {
	c := s.asb
	for _, t := range s.reported {
		c |= t
	}
	return c
}

// condition is conditions for callers that do not hold s.mu.
func (s *session) condition() escpos.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conditions()
}

// blocked reports whether the printer reported a condition that stops the printing.
func (s *session) blocked() bool { return s.condition().Any(escpos.Blocking) }

// waitFor waits until ok, which it calls with s.mu held. It returns errNoAnswer after within, the
// reason when the connection ends, the cause when ctx ends. After the time is over the condition is
// checked once more, so that an answer that came with the timer counts.
func (s *session) waitFor(ctx context.Context, within time.Duration, ok func() bool) error {
	t := time.NewTimer(within)
	defer t.Stop()
	late := false
	for {
		s.mu.Lock()
		done, err, changed := ok(), s.err, s.changed
		s.mu.Unlock()
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case late:
			return errNoAnswer
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-t.C:
			late = true
		}
	}
}

// write sends b, after what an earlier write has left. What cannot be written within the time is left for the
// next one: the printer would take the next command for the rest of half a question.
func (s *session) write(ctx context.Context, b []byte, within time.Duration) error {
	// A deadline in the past interrupts a write that is in progress when ctx ends.
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	err := s.conn.SetWriteDeadline(time.Now().Add(within))
	if ctx.Err() != nil { // checked after SetWriteDeadline, which may have undone AfterFunc's
		return context.Cause(ctx)
	}
	b = slices.Concat(s.unsent, b)
	s.mu.Lock()
	s.first = append(s.first, b[:min(len(b), identifyLimit-len(s.first))]...) // before the echo can come
	s.mu.Unlock()
	n := 0
	if err == nil {
		n, err = s.conn.Write(b)
	}
	s.wrote += n
	s.unsent = b[n:]
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !timedOut(err): // what ended the connection may have said what it is
		if read := s.waitFor(ctx, droppedWithin, never); errors.Is(read, errNotPrinter) {
			return read
		}
	}
	return err
}

// timedOut reports whether err says that the time was over, for a write or for an answer.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// ask sends DLE EOT n and waits for its answer, or until enough. An answer that is pending comes first.
func (s *session) ask(ctx context.Context, n byte, within time.Duration, enough func() bool) error {
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
	if err := s.write(ctx, escpos.RealTime(n), time.Until(over)); err != nil {
		return err
	}
	return s.waitNudging(ctx, time.Until(over), answered)
}

// waitNudging is waitFor for an answer. Some printers send it only when they are sent something more, so after a moment
// they are: a command that changes nothing.
func (s *session) waitNudging(ctx context.Context, within time.Duration, ok func() bool) error {
	after := nudgeAfter
	if s.late {
		after = nudgeLate
	}
	err := s.waitFor(ctx, min(within, after), ok)
	if within <= after || !timedOut(err) {
		s.late = s.late && err != nil
		return err
	}
	if err := s.write(ctx, escpos.SelectPrinter(), answerTimeout); err != nil && !timedOut(err) {
		return err
	}
	nudged := time.Now()
	err = s.waitFor(ctx, within-after, ok)
	s.late = err == nil && time.Since(nudged) < broughtWithin
	return err
}

// askStatus asks each DLE EOT n that the printer answers, or until enough. within is for the first answer; the
// others come within [answerTimeout]. One answer is enough to know that it is there.
func (s *session) askStatus(ctx context.Context, within time.Duration, enough func() bool) error {
	for i, n := range s.realTime {
		err := s.ask(ctx, n, within, enough)
		if i > 0 && timedOut(err) {
			return nil
		}
		if err != nil {
			return err
		}
		within = answerTimeout
	}
	return nil
}

// never is for callers of askStatus and waitFor that stop for no other reason.
func never() bool { return false }

// nothingPending reports whether every question was sent and answered. If not, the next command could be taken
// for the rest of a question, or a late answer for another one.
func (s *session) nothingPending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled() && len(s.unsent) == 0
}

// settled reports whether every question was answered; s.mu is held.
func (s *session) settled() bool { return s.pending == 0 && s.statusAsked == s.statusAnswered }

// alive reports whether the connection is open, as far as can be told without a question.
func (s *session) alive() bool {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if c, ok := s.conn.(closeChecker); ok && err == nil {
		err = c.PeerClosed()
	}
	return err == nil
}

// finish closes the connection in an orderly way. The reading ends first, because [transport.Conn].Finish reads
// too: two readers at once would share the bytes that say how the connection ended.
func (s *session) finish(ctx context.Context) error {
	defer s.conn.Close()
	_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // fails on a closed connection, whose reader ends anyway
	<-s.readerDone
	_ = s.conn.SetReadDeadline(time.Time{})
	return s.conn.Finish(ctx)
}
