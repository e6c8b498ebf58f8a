package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ticketrail/printer/escpos"
)

// The questions at first contact, to find out which ones the printer answers and whether it is one: port 9100 is not
// only the port of printers, and people mistype addresses.

// ProbeRealTime asks each DLE EOT n and notes which are answered. An answer does not contain its n. So if only some
// came, others may have come late and were taken for the wrong ones: each is asked once more, with more time. If none
// came, ProbeRealTime waits for the first one within patience, and then asks each once more too.
func (s *Session) ProbeRealTime(ctx context.Context, patience time.Duration) error {
	if err := s.sendNULs(ctx, longestHeader); err != nil {
		return err
	}
	defer s.noteNoise()

	for _, within := range []time.Duration{probeFirst, probeSlow} {
		s.mu.Lock()
		s.reported = [5]escpos.Condition{}
		s.mu.Unlock()
		s.realTime = nil

		for n := byte(1); n <= 4; n++ {
			switch err := s.ask(ctx, n, within, never); {
			case err == nil:
				s.realTime = append(s.realTime, n)
			case !TimedOut(err):
				return err
			}
			s.askedAt = time.Time{} // an answer that did not come is not waited for
		}

		switch len(s.realTime) {
		case 4:
			return nil
		case 0:
			if patience == 0 {
				return nil
			}
			// Any of the answers will do. It also sends the rest that could not be sent so far.
			if err := s.ask(ctx, 1, patience, never); err != nil {
				return inTime(err)
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
	return asb, inTime(err)
}

// Provoke ends our side of a connection on which nothing was heard. Many a server complains of an incomplete request
// only then.
func (s *Session) Provoke(ctx context.Context) error {
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return nil
	}

	if err := s.waitFor(ctx, provokeTimeout, never); errors.Is(err, ErrNotPrinter) || ctx.Err() != nil {
		return err
	}
	return ErrHeardNothing
}

// IsPrinter reports whether a printer answers, and nothing else comes. It sends nothing that any device prints: NULs
// and DLE EOT if ask is set, and without an answer it ends its side of the connection, after which a web server
// complains about the incomplete request.
func (s *Session) IsPrinter(ctx context.Context, ask bool) bool {
	if !ask || s.askQuietly(ctx) != nil {
		_ = s.Provoke(ctx)
		return false
	}

	// Most letters look like an answer, and a text may come in pieces.
	quiet := TimedOut(s.waitFor(ctx, identifyQuiet, never))
	s.mu.Lock()
	defer s.mu.Unlock()
	return quiet && !s.unknown
}

// askQuietly is [Session.Ask] without the command that brings late answers: a device that does not know ESC = prints
// its second byte.
func (s *Session) askQuietly(ctx context.Context) error {
	err := s.Ask(ctx, nudgeAfter) // no longer, or it nudges
	if TimedOut(err) {
		err = s.waitFor(ctx, provokeTimeout-nudgeAfter, func() bool { return s.pending == 0 })
	}
	return err
}

// Model asks for maker and model, GS I 66 and 67, which are answered in order and not while the printer is offline.
// ESC @ discards the question if a printer that does not know it has taken it for text.
func (s *Session) Model(ctx context.Context) string {
	for i, n := range []byte{66, 67} {
		if s.Write(ctx, escpos.AskIdentity(n), provokeTimeout) != nil {
			break
		}
		_ = s.waitFor(ctx, provokeTimeout, func() bool { return len(s.model) > i })
	}
	_ = s.Write(ctx, escpos.Reset(), provokeTimeout)

	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.model, " ")
}

// Program names the program that answers, "" if it is a printer or nothing is known.
func (s *Session) Program() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.program
}

// notAPrinter is the error if heard comes from a program that is no printer.
func (s *Session) notAPrinter(heard []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	// The questions begin with longestHeader NULs, and a status of a printer may be a NUL too: only more bytes than
	// these NULs show that our own are returned.
	if len(heard) > longestHeader && bytes.HasPrefix(s.firstWritten, heard) {
		s.program = "a program that returns what it is sent"
	} else {
		s.program = programIn(heard)
	}

	if s.program == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotPrinter, s.program)
}

// text is more letters in a row than the answer to a GS ( H has, which is six.
var text = regexp.MustCompile(`[ -~]{8}`)

// programIn names the sender of a text, or "" if heard is none. A text has a byte that no printer sends, and some
// letters in a row.
func programIn(heard []byte) string {
	var p escpos.Parser
	unknown := func(r escpos.Reply) bool { return r.Kind == escpos.UnknownReply }
	if !slices.ContainsFunc(p.Feed(heard), unknown) || !text.Match(heard) {
		return ""
	}

	kind := "a program that sends text"
	for prefix, name := range map[string]string{
		"HTTP/": "a web server", "<": "a web server", "SSH-": "an SSH daemon", "# ": "a metrics exporter",
	} {
		if bytes.HasPrefix(heard, []byte(prefix)) {
			kind = name
		}
	}

	line, _, _ := strings.Cut(strings.TrimSpace(string(heard)), "\n")
	return fmt.Sprintf("%s (%s)", kind, shown(line))
}

// shown is at most 60 characters of a foreign text, without control characters.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s[:min(len(s), 60)])
}
