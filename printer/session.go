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

// A session is one connection to a printer that may talk back. A goroutine reads what it
// says for as long as the connection is open; whoever has the device's turn asks, one
// question at a time, and waits.
type session struct {
	opened time.Time
	conn   transport.Conn
	// onID hears ids that the printer says it has printed and nobody here waits for; onASB
	// hears what it pushed. They are called from the reading goroutine.
	onID       func([4]byte)
	onASB      func(escpos.Condition)
	readerDone chan struct{} // closed when nobody reads any more

	// rest is the end of a question that the wire did not take in time. Only whoever has the
	// turn writes.
	unsent []byte
	// unhinged says that a broken command was ended before the first question.
	headerEnded bool

	mu         sync.Mutex // guards what follows
	changed    chan struct{}
	err        error // why the reading ended
	replies    int   // replies of any kind
	pushed     int   // automatic ones
	unexpected int   // replies to GS r that nobody asked for

	pending  []question // DLE EOT without an answer, oldest first: they are answered in turn
	answered [5]int     // DLE EOT n, how often

	// What the printer said of itself, by where it said it. The newest word on a thing counts.
	reported [5]escpos.Condition // in answer to DLE EOT n; 0 is everything else
	asb      escpos.Condition

	statusAsked, statusAnswered int // GS r, which are answered in turn too
	fence                       *fence
}

type question struct {
	n  byte
	at time.Time
}

// lostAfter is how late the answer to a DLE EOT may be. Until then nothing is asked that it
// could be taken for the answer to.
const lostAfter = 5 * time.Second

var (
	errNoAnswer = errors.New("no answer")
	errClosed   = fmt.Errorf("the printer ended the connection: %w", io.EOF)
	errOneWay   = errors.New("nothing can come back on this wire")
)

// newSession reads from conn until it is closed; with mute, nobody listens.
func newSession(conn transport.Conn, mute bool, onID func([4]byte), onASB func(escpos.Condition)) *session {
	s := &session{opened: time.Now(), conn: conn, onID: onID, onASB: onASB, readerDone: make(chan struct{}), changed: make(chan struct{})}
	if mute {
		close(s.readerDone)
		return s
	}
	go s.readLoop()
	return s
}

func (s *session) readLoop() {
	defer close(s.readerDone)
	var p escpos.Parser
	var b readLimiter
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

// take notes what was said.
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

// note is take for one reply; s.mu is held. XON and XOFF are for the wire, not for us.
func (s *session) handleOne(r escpos.Reply) {
	switch r.Kind {
	case escpos.RealTimeReply:
		if len(s.pending) == 0 {
			return // another client's
		}
		n := s.pending[0].n
		s.pending = s.pending[1:]
		s.answered[n]++
		s.reported[n] = escpos.FromRealTime(n, r.Byte)
		s.reported[0] &^= escpos.RealTimeConditions(n)
		s.asb &^= escpos.RealTimeConditions(n)
	case escpos.AutoStatusReply:
		s.pushed++
		s.asb, s.reported = escpos.FromASB(r.ASB), [5]escpos.Condition{}
	case escpos.StatusReply:
		if s.statusAnswered == s.statusAsked {
			s.unexpected++
			return
		}
		s.statusAnswered++
		s.reported[0] = escpos.FromPaper(r.Byte)
		s.fence.acceptStatus(s.statusAnswered, s.reported[0])
	case escpos.NoPaperReply:
		s.reported[0] |= escpos.PaperOut
	case escpos.UnknownReply, escpos.XON, escpos.XOFF:
		return
	}
	s.replies++
}

// conditions is how the printer is, by its last words; s.mu is held.
func (s *session) conditions() escpos.Condition {
	c := s.asb
	for _, t := range s.reported {
		c |= t
	}
	return c
}

// says is conditions for everybody else.
func (s *session) condition() escpos.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conditions()
}

// blocked says that the printer reported something because of which nothing comes out.
func (s *session) blocked() bool { return s.condition().Any(escpos.Blocking) }

// until waits until ok, which is asked under s.mu. After within it returns errQuiet, at the
// end of the connection why that came, at the end of ctx its cause.
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

// ended words the end of the reading.
func (s *session) readError(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	s.mu.Lock()
	heard := s.replies
	s.mu.Unlock()
	if heard > 0 {
		return errClosed
	}
	if c, ok := s.conn.(closeChecker); ok {
		if err := c.PeerClosed(); err != nil {
			return err
		}
	}
	return errOneWay
}

// cause is err, or what the reader heard of before: a reset is told once.
func (s *session) firstError(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && !errors.Is(s.err, io.EOF) && !errors.Is(s.err, os.ErrDeadlineExceeded) {
		return s.err
	}
	return err
}

// write sends a question. What the wire does not take within the time is kept for the
// next one: half a question must not be left standing.
func (s *session) write(ctx context.Context, b []byte, within time.Duration) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if len(s.unsent) > 0 {
		b = append(s.unsent, b...)
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if ctx.Err() != nil { // after the deadline was set: see AfterFunc
		return context.Cause(ctx)
	}
	n, err := s.conn.Write(b)
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

// ask asks DLE EOT n and waits for the answer, or for enough. An answer that another question
// is still owed comes first.
func (s *session) ask(ctx context.Context, n byte, within time.Duration, enough func() bool) error {
	over := time.Now().Add(within)
	if len(s.unsent) > 0 { // the last question is not out yet
		if err := s.write(ctx, nil, within); err != nil {
			return err
		}
	}
	s.forgetOlder(lostAfter)
	if err := s.waitFor(ctx, within, func() bool { return len(s.pending) == 0 || enough() }); err != nil {
		return err
	}
	s.mu.Lock()
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

// send asks without waiting for the answer.
func (s *session) sendQuestion(ctx context.Context, n byte, within time.Duration) error {
	s.mu.Lock()
	s.pending = append(s.pending, question{n, time.Now()})
	s.mu.Unlock()
	return s.write(ctx, escpos.RealTime(n), within)
}

// forget gives up the answers that have been outstanding for longer than age.
func (s *session) forgetOlder(age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) > 0 && time.Since(s.pending[0].at) >= age {
		s.pending = s.pending[1:]
	}
}

func never() bool { return false }

// alive says that the other side has not been seen to go, as far as can be told without
// asking it.
func (s *session) alive() bool {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if c, ok := s.conn.(closeChecker); ok && err == nil {
		err = c.PeerClosed()
	}
	return err == nil
}

// patienceOfReader is how long a reader that was told to stop is waited for. One that does
// not obey the deadline of its transport ends when the connection is closed.
const stopReadingTimeout = time.Second

// hush ends the reading, so that the connection can be finished: that may read too.
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

// finish takes leave in order and closes the connection.
func (s *session) finish(ctx context.Context) error {
	defer s.conn.Close()
	s.stopReading()
	return s.conn.Finish(ctx)
}
