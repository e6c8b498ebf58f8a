package session

import (
	"context"
	"errors"
	"time"

	"ticketrail/printer/escpos"
)

// The questions at first contact, to find out which ones the printer answers and whether it is one.

// ProbeRealTime asks each DLE EOT n and notes which are answered. An answer does not contain its n. So if only some
// came, others may have come late and were taken for the wrong ones: each is asked once more, with more time; if none
// came, when the first one does within patience.
func (s *Session) ProbeRealTime(ctx context.Context, patience time.Duration) error {
	for _, within := range []time.Duration{probeFirst, probeSlow} {
		s.mu.Lock()
		s.reported = [5]escpos.Condition{}
		s.mu.Unlock()
		s.realTime = nil

		for n := byte(1); n <= 4; n++ {
			switch err := s.Ask(ctx, n, within); {
			case err == nil:
				s.realTime = append(s.realTime, n)
			case !TimedOut(err):
				return err
			}
			s.mu.Lock()
			s.pending = 0
			s.mu.Unlock()
		}

		switch len(s.realTime) {
		case 4:
			return nil
		case 0:
			if patience == 0 {
				return nil
			}
			// Any of the answers will do. It also sends the rest that could not be sent so far.
			if err := s.Ask(ctx, 1, patience); err != nil {
				if TimedOut(err) {
					return nil
				}
				return err
			}
		}

		if err := s.waitNudging(ctx, 2*lateAnswerWindow, never); !TimedOut(err) {
			return err
		}
	}
	return nil
}

// ProbeASB switches the automatic status (GS a) on and reports whether it comes in the right
// format. If it does not, it is switched off again: its bytes would be taken for answers to GS r.
// With it a ticket learns of the open cover at once; without it, with the next DLE EOT.
func (s *Session) ProbeASB(ctx context.Context) (bool, error) {
	err := s.Write(ctx, escpos.AutoStatus(true), probeSlow)
	if err == nil {
		err = s.waitFor(ctx, probeSlow, func() bool { return s.pushed > 0 })
	}
	s.mu.Lock()
	asb := s.pushed > 0 && s.unexpected == 0
	s.mu.Unlock()

	if !asb && (err == nil || TimedOut(err)) {
		err = s.Write(ctx, escpos.AutoStatus(false), probeSlow)
	}

	if TimedOut(err) {
		err = nil
	}
	return asb, err
}

// Provoke ends our side of a connection on which nothing was heard. Many a server complains of an incomplete request
// only then.
func (s *Session) Provoke(ctx context.Context) error {
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return nil
	}

	if err := s.waitFor(ctx, ProvokeTimeout, never); errors.Is(err, ErrNotPrinter) || ctx.Err() != nil {
		return err
	}
	return ErrHeardNothing
}
