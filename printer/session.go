package printer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	opened time.Time
	conn   transport.Conn
	// onID receives ids of GS ( H that no fence waits for, onASB the conditions of a pushed status. The
	// reading goroutine calls both.
	onID       func([4]byte)
	onASB      func(escpos.Condition)
	readerDone chan struct{} // closed when the reading goroutine has ended

	// unsent is the rest of a question that could not be written in time.
	unsent []byte
	by     fenceKind // what proves a ticket on this connection; set by askInOrder
	wrote  int       // bytes handed over on this connection
	cut    bool      // Device.pendingCut was sent on it, last

	mu         sync.Mutex    // guards what follows
	changed    chan struct{} // closed and replaced after each read
	err        error         // why the reading ended
	replies    int           // of any kind
	pushed     int           // ASB replies
	unexpected int           // replies to GS r that was not asked

	pending  []question // DLE EOT without an answer, oldest first; they are answered in order
	answered [5]int     // how many DLE EOT n were answered, by n

	// What the printer reported, by the question that it answered. The newest report on a condition counts.
	reported [5]escpos.Condition // in answer to DLE EOT n; 0 is everything else
	asb      escpos.Condition

	statusAsked, statusAnswered int // GS r, also answered in order
	fence                       *fence
}

// A question is one DLE EOT n ("Transmit real-time status"). Its answer is one byte without n.
type question struct {
	n  byte
	at time.Time
}

// lostAfter is how late an answer to DLE EOT may come. Until then no other n is asked, because the late
// answer would be taken for the new one.
const lostAfter = 5 * time.Second

var (
	errNoAnswer  = errors.New("no answer")
	errClosed    = fmt.Errorf("the printer ended the connection: %w", io.EOF)
	errWriteOnly = errors.New("the connection is write-only")
)

// newSession reads from conn until it is closed, or not at all if mute.
func newSession(conn transport.Conn, mute bool, onID func([4]byte), onASB func(escpos.Condition)) *session {
	s := &session{
		opened: time.Now(), conn: conn, onID: onID, onASB: onASB,
		readerDone: make(chan struct{}), changed: make(chan struct{}),
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
	for {
		n, err := s.conn.Read(buf)
		s.handle(p.Feed(buf[:n]), err)
		if err != nil {
			return
		}
		b.count(n)
	}
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
	if err != nil {
		s.err = err
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
		if len(s.pending) == 0 {
			return // asked by another client
		}
		n := s.pending[0].n
		s.pending = s.pending[1:]
		s.answered[n]++
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
		return
	}
	s.replies++
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
			return s.readError(err)
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

// readError is the reason why the reading ended. io.EOF from a connection that never brought a byte
// means that it is one-way, unless the other side closed it.
func (s *session) readError(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	s.mu.Lock()
	heard := s.replies
	s.mu.Unlock()
	// A printer that has answered before and now ends the connection was switched off or dropped
	// us.
	if heard > 0 {
		return errClosed
	}
	if c, ok := s.conn.(closeChecker); ok {
		if err := c.PeerClosed(); err != nil {
			return err
		}
	}
	return errWriteOnly
}

// firstError is err, or the error that the reader got before: a reset is reported to only one of them.
func (s *session) firstError(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && !errors.Is(s.err, io.EOF) && !errors.Is(s.err, os.ErrDeadlineExceeded) {
		return s.err
	}
	return err
}

// write sends a question. What cannot be written within the time is kept and sent before the next one:
// the printer would take the next command for the rest of half a question.
func (s *session) write(ctx context.Context, b []byte, within time.Duration) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if len(s.unsent) > 0 {
		b = append(s.unsent, b...)
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if ctx.Err() != nil { // checked after SetWriteDeadline, which may have undone AfterFunc's
		return context.Cause(ctx)
	}
	n, err := s.conn.Write(b)
	s.wrote += max(n, 0)
	s.unsent = append([]byte(nil), b[min(max(n, 0), len(b)):]...)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errNoAnswer
	case err == nil && len(s.unsent) > 0:
		return io.ErrShortWrite
	}
	return err
}

// ask sends DLE EOT n and waits for its answer, or until enough. Answers that are pending come first.
func (s *session) ask(ctx context.Context, n byte, within time.Duration, enough func() bool) error {
	over := time.Now().Add(within)
	if len(s.unsent) > 0 { // the last question is not sent completely
		if err := s.write(ctx, nil, within); err != nil {
			return err
		}
	}
	s.forgetOlder(lostAfter)
	if err := s.waitFor(ctx, within, func() bool { return len(s.pending) == 0 || enough() }); err != nil {
		return err
	}
	s.mu.Lock()
	// Counted, not reset: an answer to an earlier question with the same n must not satisfy this
	// one.
	want, done := s.answered[n]+1, enough()
	s.mu.Unlock()
	if done {
		return nil
	}
	if err := s.sendQuestion(ctx, n, time.Until(over)); err != nil {
		return err
	}
	return s.waitFor(ctx, time.Until(over), func() bool { return s.answered[n] >= want || enough() })
}

// sendQuestion sends DLE EOT n without waiting for the answer. The question is noted before it is
// written, because the answer may be read before write returns.
func (s *session) sendQuestion(ctx context.Context, n byte, within time.Duration) error {
	s.mu.Lock()
	s.pending = append(s.pending, question{n, time.Now()})
	s.mu.Unlock()
	return s.write(ctx, escpos.RealTime(n), within)
}

// forgetOlder stops waiting for answers that are pending for longer than age.
func (s *session) forgetOlder(age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) > 0 && time.Since(s.pending[0].at) >= age {
		s.pending = s.pending[1:]
	}
}

// never is for callers of ask and waitFor that stop for no other reason.
func never() bool { return false }

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

// stopReadingTimeout is how long stopReading waits for the reader. A transport that ignores its read
// deadline ends its reader when the connection is closed.
const stopReadingTimeout = time.Second

// stopReading ends the reading goroutine, because [transport.Conn].Finish reads too. Two readers at
// once would share the bytes that say how the connection ended.
func (s *session) stopReading() {
	select {
	case <-s.readerDone:
		return
	default:
	}
	_ = s.conn.SetReadDeadline(time.Unix(1, 0))
	t := time.NewTimer(stopReadingTimeout)
	defer t.Stop()
	select {
	case <-s.readerDone:
		_ = s.conn.SetReadDeadline(time.Time{})
	case <-t.C:
	}
}

// finish closes the connection in an orderly way.
func (s *session) finish(ctx context.Context) error {
	defer s.conn.Close()
	s.stopReading()
	return s.conn.Finish(ctx)
}
