package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ticketrail/printer/escpos"
)

// A Sending is one ticket on a connection, from its first byte to the answer behind it.
type Sending struct {
	*Session
	ctx  context.Context
	pace Pace
	from int // where it begins in the bytes of the connection

	unexpectedBefore int // status bytes that were not asked for
	// blockedSince is when the printer first reported a condition under which nothing prints.
	blockedSince time.Time
}

// A Pace is how long the slowest printer takes for its bytes.
type Pace struct{ Timeout, PerKiB time.Duration }

// Of is the time for n bytes.
func (p Pace) Of(n int) time.Duration { return p.Timeout + time.Duration(n)*p.PerKiB/1024 }

// NewSending is a ticket whose first byte comes after ahead more bytes.
func (s *Session) NewSending(ctx context.Context, ahead int, pace Pace) *Sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Sending{
		Session: s, ctx: ctx, pace: pace, from: s.wrote + len(s.unsent) + ahead, unexpectedBefore: s.unexpected,
	}
}

// Sent is how many bytes of the ticket, and of the questions behind it, were handed to the operating system.
func (t *Sending) Sent() int { return max(0, t.wrote-t.from) }

// chunkSize is how many bytes are written at a time. Each chunk has the time limit of a ticket of
// that size, so that a long ticket does not wait its whole time limit for a printer that has
// stopped. 1 KiB is the unit of [Pace] and less than the 4 KiB buffer of the slowest
// printers, so one that works takes a chunk as soon as it has printed one.
const chunkSize = 1024

// Send writes b within limit and returns how much of the limit is left. Time during which the printer reports
// that it needs a person does not count, up to WaitForPerson.
func (t *Sending) Send(b []byte, limit time.Duration) (left time.Duration, err error) {
	// A write to a connection that the printer has closed succeeds the first time and is lost.
	// While nothing of the ticket was sent, noticing it costs no doubt.
	if t.Sent() == 0 {
		if err := t.peerClosed(); err != nil {
			return limit, err
		}
	}

	for chunk := range slices.Chunk(b, chunkSize) {
		// Each chunk has its own limit and all share the ticket's.
		took, err := t.sendChunk(chunk, min(limit, t.pace.Of(len(chunk))))
		limit -= took
		if err != nil {
			return limit, err
		}
	}
	return limit, nil
}

// sendChunk is Send for one chunk. took is how much of the limit was used.
func (t *Sending) sendChunk(b []byte, limit time.Duration) (took time.Duration, err error) {
	for {
		start := time.Now()
		err := t.Write(t.ctx, b, min(writeCheckInterval, limit-took))
		b = nil // the session has the rest
		if err == nil || !TimedOut(err) {
			return took + time.Since(start), err
		}

		blocked, late := t.needsPerson(err)
		if late != nil {
			return took, late
		}
		if !blocked {
			if took += time.Since(start); took >= limit {
				return took, err
			}
		}
	}
}

// needsPerson reports whether the last report names a condition under which nothing prints. It asks nothing: with a
// full buffer the printer may not read a question. Once WaitForPerson has passed since the first such report, it
// returns an error, which wraps err. The ticket is in doubt then: its first lines may be on the paper, and the rest in
// the printer's buffer prints when the person comes after all.
func (t *Sending) needsPerson(err error) (bool, error) {
	if !t.Blocked() {
		return false, nil
	}

	if t.blockedSince.IsZero() {
		t.blockedSince = time.Now()
	}
	if time.Since(t.blockedSince) < t.o.WaitForPerson {
		return true, nil
	}
	return true, fmt.Errorf("it is %s, and this was not fixed within %s: %w",
		t.o.Trouble(t.Condition()), t.o.WaitForPerson, err)
}

// Unrecoverable is the error if the printer reports that it must be switched off and on: the lines in its buffer are
// lost.
func (s *Session) Unrecoverable() error {
	if c := s.Condition(); c.Has(escpos.Unrecoverable) {
		return fmt.Errorf("it stopped (it reports: %s)", c)
	}
	return nil
}

// After the ticket is sent, the printer's silence has one of three reasons: it is still printing,
// it waits for a person, or it does not answer. Each has its own limit, and the status (DLE EOT,
// answered at once, not in order) tells which one it is.

// Fence sends the question behind the ticket, within left, and waits for its answer. It returns which question was
// answered, and when. limit applies while the printer reports no trouble, or nothing. While it reports that it
// needs a person, WaitForPerson applies instead: GS r and GS ( H are not executed while it is offline, and an answer
// that comes after the refill proves as much as an early one.
//
// The question is asked once. A printer that lost its buffer and kept its connection would answer it the
// second time. With GS r, whose answers are all alike, such a printer is noticed when the limit is over. An id tells
// the answers apart: after half of the limit a printer that reports no trouble is asked with another one. Not
// earlier, because a printer that is slow and keeps only the newest id answers only that one.
func (t *Sending) Fence(left, limit time.Duration) (answered FenceKind, at time.Time, err error) {
	// The fence is registered only now: a status byte that came while the ticket was written is no answer to
	// it. The ticket may have used up its time; the question gets its own, or a slow printer would fail here
	// with everything printed.
	t.expect(t.by)
	if _, err = t.Send(t.question(false), max(left, AnswerTimeout)); err == nil {
		err = t.await(limit)
	}

	t.mu.Lock()
	answered, at = t.fence.got, t.fence.at
	paper := t.fence.paper
	if answered == ByStatus && (t.noisy || t.unexpected > t.unexpectedBefore) {
		answered = NoFence // it also sends status bytes unasked
	}
	t.mu.Unlock()

	switch {
	case err == nil && paper.Has(escpos.PaperOut): // some answer GS r without paper too, instead of going offline
		t.o.Observe(paper)
		err = errors.New("it answered, but reports that it is out of paper: the last lines may be missing")
	case err == nil && t.Blocked(): // that report is older than the answer
		if t.AskStatus(t.ctx, AnswerTimeout) == nil {
			t.o.Observe(t.Condition())
		}
	case err != nil && t.Err() != nil && !t.Blocked():
		// Nothing is concluded from how often that happens: it may be a printer that loses its power at each ticket.
		err = fmt.Errorf("its connection ended before it could answer; if this repeats, lengthen the idle time-out "+
			"of its print server, or set confirm: none: %w", err)
	}
	return answered, at, err
}

// await waits for the answer to the fence.
func (t *Sending) await(limit time.Duration) error {
	var elapsed time.Duration // while the printer reports no trouble
	for {
		start := time.Now()
		if got, err := t.answer(t.ctx, min(statusInterval, limit)); err != nil || got != NoFence {
			return err
		}

		statusCame, err := t.askCondition()
		if err != nil {
			return err
		}

		// Time in which a person is needed does not count against the time for printing.
		if blocked, err := t.needsPerson(ErrNoAnswer); err != nil {
			return err
		} else if blocked {
			continue
		}

		elapsed += time.Since(start)
		switch after := elapsed.Round(time.Second); {
		case elapsed >= limit && !statusCame && len(t.realTime) > 0:
			return fmt.Errorf("%w (for %s): was it switched off, or its cable pulled?", ErrFellSilent, after)
		case elapsed >= limit:
			return fmt.Errorf("it did not report within %s that the ticket is printed, and reports no trouble; "+
				"check whether it came out", after)
		case statusCame && elapsed >= limit/2:
			if err := t.askAnother(t.ctx); err != nil {
				return err
			}
		}
	}
}

// askCondition asks for the status while the fence is unanswered, and reports whether it was answered. The error is
// [Session.Unrecoverable]: nothing that is still in the buffer prints any more, so there is no point in waiting.
func (t *Sending) askCondition() (statusCame bool, err error) {
	if len(t.realTime) > 0 && t.askStatus(t.ctx, AnswerTimeout, t.fence.answered) == nil {
		t.o.Observe(t.Condition())
		statusCame = true
	}
	return statusCame, t.Unrecoverable()
}
