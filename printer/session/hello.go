package session

import (
	"cmp"
	"context"
	"time"

	"ticketrail/printer/escpos"
)

// The hello is the question before a ticket that is answered in order. Another program, an earlier process or a broken
// connection may have left the printer inside a command. It then takes the next bytes for the rest of that command: the
// head of a ticket becomes dots, the tail prints, and the fence behind the tail is answered. DLE EOT does not show
// this, because a printer answers it at once, wherever it is.

// Hello asks until one question is answered, and returns which; NoFence if none was within limit. want is the wanted
// fence; NoFence wants the best there is. proven: the printer has answered a fence before. GS r is asked with GS ( H
// if the best is wanted, and from the second time on, so that a printer which no longer knows GS ( H answers at least
// that. waits is called while there is no answer; its error ends the hello.
//
// After an answer the interpreter is at the beginning of a command, nothing of an earlier connection is left to print,
// and no answer is outstanding. The ticket is then proven by the same fence.
func (s *Session) Hello(
	ctx context.Context, want FenceKind, proven bool, limit time.Duration, waits func() error,
) (FenceKind, error) {
	start := time.Now()
	s.expect(cmp.Or(want, ByID))

	for step, nuls := 0, 0; ; step++ {
		if step <= len(nulsBeforeHello) { // later steps only wait for the answer
			if err := s.clear(ctx, nuls); err != nil {
				return NoFence, err
			}
			// The rest that cannot be sent in time is sent ahead of the next question.
			ask := append(escpos.SelectPrinter(), s.question(want == NoFence || step > 0)...)
			if err := inTime(s.Write(ctx, ask, AnswerTimeout)); err != nil {
				return NoFence, err
			}
		}

		got, err := s.answer(ctx, helloInterval)
		if err != nil {
			return NoFence, err
		}
		if got != NoFence {
			return got, s.drainStatus(ctx, got)
		}

		// No answer: it waits for a person, serves another client, or is inside a command.
		if err := s.AskStatus(ctx, AnswerTimeout); err != nil {
			return NoFence, err
		}
		if err := waits(); err != nil {
			return NoFence, err
		}

		if time.Since(start) >= limit {
			return NoFence, nil
		}
		nuls = s.nextNULs(step, proven)
	}
}

// nextNULs is how many NULs precede question step+1, counted from 0. proven: the printer has answered a fence before. A
// device server puts received bytes in a buffer of its own, and a slow line behind it would be busy with it for
// minutes. So the speed of the line is measured with the NULs of the step before, by the answer to DLE EOT behind them.
func (s *Session) nextNULs(step int, proven bool) int {
	most := maxNULsUnproven
	if proven && s.rate > 0 {
		most = maxNULs
	}

	if s.rate > 0 {
		most = min(most, int(s.rate*nulTime.Seconds()))
	}
	return max(0, min(nulsBeforeHello[min(step, len(nulsBeforeHello)-1)], most-s.nuls))
}

// clear sends n NULs and notes how fast the line took them. A printer that does not answer in time gets no more.
func (s *Session) clear(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}

	start := time.Now()
	if err := s.sendNULs(ctx, n); err != nil {
		return err
	}

	err := s.askStatus(ctx, 2*AnswerTimeout, never)
	if len(s.realTime) == 0 { // its line cannot be measured
		return nil
	}

	s.rate = float64(n) / max(time.Since(start), time.Millisecond).Seconds()
	return err
}

// sendNULs sends n NULs. The rest that the printer does not take in time is sent ahead of the next question.
func (s *Session) sendNULs(ctx context.Context, n int) error {
	s.nuls += n
	return inTime(s.Write(ctx, make([]byte, n), AnswerTimeout))
}

// drainStatus notes which fence was answered, got, and waits until no further answer to GS r comes, if one may: several
// were asked, or another connection left one unanswered. It could be taken for the answer behind the ticket.
func (s *Session) drainStatus(ctx context.Context, got FenceKind) error {
	s.mu.Lock()
	done := s.statusAsked == 0 || s.by != NoFence && s.statusAsked == s.statusAnswered
	s.mu.Unlock()
	s.by = got
	if done {
		return nil
	}

	// Not for ever: a device that is no printer may never stop sending. The first call of more finds the answers so
	// far, and the quiet time begins after it.
	over, seen := time.Now().Add(maxLateAnswers), 0
	more := func() bool {
		was := seen
		seen = s.statusAnswered + s.unexpected
		return seen > was
	}

	for quiet := 0; quiet < 2 && time.Now().Before(over); quiet++ {
		// Its answer says that the bytes on the way, NULs among them, have arrived. It also keeps the connection open.
		if err := s.AskStatus(ctx, AnswerTimeout); err != nil {
			return err
		}

		switch err := s.waitFor(ctx, lateAnswerWindow/2, more); {
		case err == nil:
			quiet = -1
		case !TimedOut(err):
			return err
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.statusAnswered = s.statusAsked
	s.noisy = s.noisy || s.unexpected >= s.statusAsked // it answers each one twice
	return nil
}

// noteNoise is called when DLE EOT alone was asked. A Star printer that emulates ESC/POS sends bytes of its own with
// each answer, one of which looks like the answer to GS r.
func (s *Session) noteNoise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := len(s.realTime)
	s.noisy = s.noisy || s.statusAsked == 0 && answered > 0 && s.unexpected >= answered
}

// Noisy reports whether answers to GS r prove nothing on this connection.
func (s *Session) Noisy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noisy
}
