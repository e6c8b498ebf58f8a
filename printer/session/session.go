// Package session is one connection to a receipt printer: the bytes and questions written on it, which answers are
// awaited, and the printer's reports. Nothing else changes its state. session.go has the connection, question.go the
// questions and answers, hello.go the question before a ticket, ticket.go the ticket and the wait behind it, probe.go
// the first contact.
//
// Answers are told apart by their fixed bits alone, and an answer to DLE EOT does not say which n it belongs to. So a
// session remembers its questions, in order, and asks nothing new while an old answer may still come. It also counts
// the status bytes that no question asked for: if as many came as questions were asked, GS r proves nothing on this
// connection; if one came since a ticket began, GS r does not prove that ticket.
//
// It knows no ticket's text and no configuration: package printer decides about a ticket by the answers.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"ticketrail/printer/escpos"
	"ticketrail/printer/transport"
)

// A Session is one connection to a printer that may answer. A goroutine reads for as long as the
// connection is open. Only the holder of the device's lock writes, one question at a time.
type Session struct {
	o          Options
	conn       transport.Conn
	readerDone chan struct{} // closed when the reading goroutine has ended

	realTime []byte // the n of each DLE EOT n that is answered

	by          FenceKind // the fence that answered the hello, and proves the ticket; drainStatus sets it
	unsent      []byte    // the rest that could not be written in time
	wrote       int       // bytes handed over on this connection
	nuls        int       // the NULs among them, which complete a broken command
	rate        float64   // bytes a second that the line takes, as measured; 0: not yet
	answersLate bool      // it sends an answer only when it is sent something more, see waitNudging
	askedAt     time.Time // when DLE EOT was asked last

	mu           sync.Mutex    // guards the fields below
	firstWritten []byte        // at most heardLimit bytes; a program that returns them is no printer
	program      string        // the program that answers, if it is no printer
	changed      chan struct{} // closed and replaced after each read
	err          error         // why the reading ended
	pushed       int           // ASB replies
	unexpected   int           // replies to GS r that was not asked
	noisy        bool          // so many unexpected ones that an answer to GS r proves nothing
	model        []string      // in answer to GS I
	unknown      bool          // bytes came that no printer sends

	pending byte // the n of the DLE EOT that is not answered yet; 0: none

	// The printer's reports, by the question that it answered. The newest report on a condition counts.
	reported [5]escpos.Condition // in answer to DLE EOT n; 0 is everything else
	asb      escpos.Condition

	statusAsked, statusAnswered int    // GS r, also answered in order
	fence                       *fence // set only by the holder of the device's lock, which reads it without mu
}

// Options are the facts that are known of the printer, and who is told of it.
type Options struct {
	Mute     bool   // nothing is read
	RealTime []byte // the n of each DLE EOT n that is answered, as far as is known
	IDs      *IDs

	// The reading goroutine calls Foreign for each answer to another program, and Observe for the conditions that the
	// printer pushes. The sender of a ticket calls Observe too, for the answers to its questions behind the ticket.
	Foreign func()
	Observe func(escpos.Condition)

	// WaitForPerson is how long a ticket waits for a person, since the first report that one is needed. Trouble is a
	// condition in words.
	WaitForPerson time.Duration
	Trouble       func(escpos.Condition) string
}

var (
	ErrNoAnswer = fmt.Errorf("no answer: %w", os.ErrDeadlineExceeded)
	// ErrNotPrinter: its bytes are no answer of a printer. None of it counts, and it gets no ticket.
	ErrNotPrinter = errors.New("no printer is at its address")
	// ErrHeardNothing: our side of the connection was ended to provoke a text, and none came.
	ErrHeardNothing = errors.New("it answers nothing")
	// ErrFellSilent: it answered before, and neither its status nor the question behind the ticket now.
	ErrFellSilent = errors.New("it stopped answering")
	// errLost: a question behind the one that is waited for was answered, and that one was not.
	errLost   = errors.New("it lost what was in its buffer: it answers again, but not the question behind the ticket")
	errClosed = fmt.Errorf("the printer ended the connection: %w", io.EOF)
)

// New reads from conn until it is closed.
func New(conn transport.Conn, o Options) *Session {
	session := &Session{
		o: o, conn: conn, realTime: o.RealTime, readerDone: make(chan struct{}), changed: make(chan struct{}),
	}

	if o.Mute {
		close(session.readerDone)
	} else {
		go session.readLoop()
	}
	return session
}

// readLoop is the only reader of the connection, so that answers, pushed status and ids of other
// programs are seen in their order, also between two tickets.
func (s *Session) readLoop() {
	defer close(s.readerDone)
	var p escpos.Parser
	limit := rate.NewLimiter(maxReadRate, maxReadBurst)
	// An Epson interface board buffers 512 bytes towards the host (UB-E02 Technical Reference
	// Guide).
	buf := make([]byte, 512)

	var heard []byte // at first, at most heardLimit
	for {
		read, err := s.conn.Read(buf)
		if len(heard) < heardLimit {
			heard = append(heard, buf[:min(read, heardLimit-len(heard))]...)
			if err := s.notAPrinter(heard); err != nil {
				s.handle(nil, err)
				return
			}
		}

		s.handle(p.Feed(buf[:read]), err)
		if err != nil {
			return
		}
		_ = limit.WaitN(context.Background(), read+perRead) // fails only for more than the burst
	}
}

// A printer that never stops sending is read slowly: a wrong baud rate, a broken cable, a device that is no printer.
// Without a limit it would use the processor that other stations need, and fill the log. A working printer sends some
// tens of bytes a ticket. Bytes that are not read stay in the kernel's buffer.
const (
	maxReadRate  = 64 << 10 // bytes a second
	maxReadBurst = 8 << 10
	perRead      = 32 // bytes; a read of one byte costs as much as one of 32
)

// waitFor waits until ok, which it calls with s.mu held. It returns ErrNoAnswer after within, the
// reason when the connection ends, the cause when ctx ends. After the time is over the condition is
// checked once more, so that an answer that came with the timer counts.
func (s *Session) waitFor(ctx context.Context, within time.Duration, ok func() bool) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	late := within <= 0

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
			return ErrNoAnswer
		}

		select {
		case <-changed:
		case <-ctx.Done():
		case <-timer.C:
			late = true
		}
	}
}

// waitNudging is waitFor for an answer. Some printers send it only when they are sent something more, so after a
// moment they are: a command that changes nothing. They are sent it again, less and less often, because a printer that
// was busy reads it together with the question.
func (s *Session) waitNudging(ctx context.Context, within time.Duration, ok func() bool) error {
	over, pause := time.Now().Add(within), nudgeAfter
	if s.answersLate {
		pause = nudgeLate
	}

	err := s.waitFor(ctx, min(within, pause), ok)
	if within <= pause || !TimedOut(err) {
		if err == nil { // it answered by itself
			s.answersLate = false
		}
		return err
	}

	for pause = nudgeAfter; TimedOut(err) && time.Now().Before(over); pause *= 2 {
		if err := s.Write(ctx, escpos.SelectPrinter(), AnswerTimeout); err != nil && !TimedOut(err) {
			return err
		}

		nudged := time.Now()
		err = s.waitFor(ctx, min(time.Until(over), pause), ok)
		s.answersLate = err == nil && time.Since(nudged) < broughtWithin
	}
	return err
}

// Write sends b, after the rest of an earlier write. Bytes that cannot be written within the time are left for the
// next one: the printer would take the next command for the rest of half a question.
func (s *Session) Write(ctx context.Context, b []byte, within time.Duration) error {
	// A deadline in the past interrupts a write that is in progress when ctx ends.
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()

	err := s.conn.SetWriteDeadline(time.Now().Add(within))
	if ctx.Err() != nil { // checked after SetWriteDeadline, which may have undone AfterFunc's
		return context.Cause(ctx)
	}

	// Before the bytes are written: a program that returns them may be read before Write ends.
	s.mu.Lock()
	s.firstWritten = append(s.firstWritten, b[:min(len(b), heardLimit-len(s.firstWritten))]...)
	s.mu.Unlock()

	b = slices.Concat(s.unsent, b) // unsent is in firstWritten already
	written := 0
	if err == nil {
		written, err = s.conn.Write(b)
	}

	s.wrote += written
	s.unsent = b[written:]

	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !TimedOut(err): // the other side may have said who it is before it ended the connection
		if read := s.waitFor(ctx, droppedWithin, never); errors.Is(read, ErrNotPrinter) {
			return read
		}
	}
	return err
}

// TimedOut reports whether err says that the time was over, for a write or for an answer.
func TimedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// inTime is err, or nil if only the time was over: the rest that could not be written goes ahead of the next question.
func inTime(err error) error {
	if TimedOut(err) {
		return nil
	}
	return err
}

// never is for callers of askStatus and waitFor that stop for no other reason.
func never() bool { return false }

// By is the fence that answered the hello, and that proves the ticket; NoFence before, or if none did.
func (s *Session) By() FenceKind { return s.by }

// RealTime lists the n of each DLE EOT n that is answered.
func (s *Session) RealTime() []byte { return s.realTime }

// AnswersLate reports whether the printer answers only when it is sent something more.
func (s *Session) AnswersLate() bool { return s.answersLate }

// Conn is the connection, for its kind.
func (s *Session) Conn() transport.Conn { return s.conn }

// NULs is how many of the bytes complete a broken command.
func (s *Session) NULs() int { return s.nuls }

// Close abandons the connection: see [transport.Conn].
func (s *Session) Close() { _ = s.conn.Close() } // the caller returns the error that matters

// NothingPending reports whether every question was sent and answered. If not, the next command could be taken
// for the rest of a question, or a late answer for another one.
func (s *Session) NothingPending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == 0 && s.statusAsked == s.statusAnswered && len(s.unsent) == 0
}

// Err is why the connection is not open any more, as far as can be told without a question.
func (s *Session) Err() error {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	return cmp.Or(err, s.peerClosed())
}

// peerClosed is the error if the other side has closed; nil if that cannot be told without waiting. TCP can.
func (s *Session) peerClosed() error {
	if closer, ok := s.conn.(interface{ PeerClosed() error }); ok {
		return closer.PeerClosed()
	}
	return nil
}

// AwaitStable waits until it is likely that the connection does not end soon, if its kind can tell. Files, USB and
// serial devices report a lost device with the next write instead. A printer that was silent may be asked during that
// time: it may have been starting, or inside another program's command.
func (s *Session) AwaitStable(ctx context.Context, ask bool) (answers bool, err error) {
	if ask {
		err = s.Ask(ctx, droppedWithin)
		answers = err == nil
	} else if _, ok := s.conn.(interface{ PeerClosed() error }); ok {
		err = s.waitFor(ctx, droppedWithin, never)
	}

	if inTime(err) != nil {
		return false, err
	}
	return answers, s.peerClosed() // the reader may see the connection end, for example with a reset, before this can
}

// Finish closes the connection in an orderly way. The reading ends first, because [transport.Conn].Finish reads
// too: two readers at once would share the bytes that say how the connection ended.
func (s *Session) Finish(ctx context.Context) error {
	defer s.conn.Close()
	_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // fails on a closed connection, whose reader ends anyway
	<-s.readerDone
	_ = s.conn.SetReadDeadline(time.Time{})
	return s.conn.Finish(ctx)
}
