package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ticketrail/printer/escpos"
)

// A Kind is a command that the printer answers once it has processed everything before it.
type Kind string

const (
	NoFence  Kind = ""
	ByID     Kind = "process_id" // GS ( H, function 48: returns the id when the data is printed
	ByStatus Kind = "status"     // GS r 1: returns the paper status when it is reached in the buffer
)

// A fence is a question that the printer answers in order. Before a ticket it shows that the printer reads commands,
// behind a ticket that the ticket is printed. Only one is in flight at a time, because a printer may keep only the
// newest (Epson ESC/POS command reference, GS ( H). GS ( H, function 48, is answered when the data before it is
// printed; GS r when the printer comes to it in its buffer, which may be before the lines in front of it are on the
// paper. That is the difference between confirmed and processed.
type fence struct {
	want Kind      // the answer after which no better one comes
	got  Kind      // the best one so far
	ids  [][4]byte // of GS ( H; only the answer to the first one is this fence's
	lost bool      // another one was answered, and the first was not before it
	nth  int       // count of GS r on this connection; 0: none was sent
	at   time.Time // of got

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

// acceptStatus records the answer to the nth GS r of the connection, if it is the first for f, which may be nil: the
// answer to a second one says nothing more about the lines ahead of the first.
func (f *fence) acceptStatus(nth int, paper escpos.Condition) {
	if f != nil && f.got == NoFence && f.nth > 0 && f.nth <= nth {
		f.got, f.paper, f.at = ByStatus, paper, time.Now()
	}
}

// Expect registers a fence with an id of its own. The one before is given up: its late answer proves nothing any
// more.
func (s *Session) Expect(want Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence = &fence{want: want, ids: [][4]byte{s.ids.next()}}
}

// AskAnother asks, once, with another id for a fence whose first one is not answered.
func (s *Session) AskAnother(ctx context.Context) error {
	s.mu.Lock()
	asked := s.fence
	if asked.want != ByID || len(asked.ids) > 1 {
		s.mu.Unlock()

		return nil
	}
	id := s.ids.next()
	asked.ids = append(asked.ids, id)
	s.mu.Unlock()

	if err := s.Write(ctx, escpos.ProcessID(id), AnswerTimeout); !TimedOut(err) {
		return err
	}
	return nil
}

// Answered is when the last fence was answered, and the condition of the paper in the answer to GS r.
func (s *Session) Answered() (time.Time, escpos.Condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fence.at, s.fence.paper
}

// Unexpected is how many status bytes came without a GS r.
func (s *Session) Unexpected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unexpected
}

// Question returns the bytes of the fence; withStatus adds GS r to GS ( H, ahead of it, so that a printer that takes
// GS ( H for text has answered the other one by then. The first GS r of a connection is doubled, because the
// first answer may be to the question of an earlier connection or of another program, with lines to print
// behind it.
func (s *Session) Question(withStatus bool) (b []byte) {
	asked := s.fence
	if asked.want == ByStatus || withStatus {
		b = escpos.PaperStatus()
		if s.by == NoFence {
			b = append(b, b...)
		}
		s.mu.Lock()
		s.statusAsked += len(b) / len(escpos.PaperStatus())
		if asked.nth == 0 {
			asked.nth = s.statusAsked
		}
		s.mu.Unlock()
	}

	if asked.want == ByID {
		b = append(b, escpos.ProcessID(asked.ids[0])...)
	}
	return b
}

// Answer waits for the answer to the fence and returns the fence that was answered, NoFence if none was. errLost:
// none will be. An answer to GS r where GS ( H was wanted is believed when the other one is not there soon after: it
// is answered when the data is printed, which may be later.
func (s *Session) Answer(ctx context.Context, within time.Duration) (Kind, error) {
	asked := s.fence
	err := s.waitNudging(ctx, within, asked.answered)

	if err == nil {
		err = s.waitFor(ctx, idAfterStatus, func() bool { return asked.got == asked.want || asked.lost })
	}
	if err != nil && !TimedOut(err) {
		return NoFence, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if asked.got == NoFence && asked.lost {
		return NoFence, errLost
	}
	return asked.got, nil
}

// Settle waits until no further answer to GS r comes, if one may: several were asked, or another
// connection left one unanswered. It could be taken for the answer behind the ticket.
func (s *Session) Settle(ctx context.Context, got Kind) error {
	was := s.by
	s.by = got
	s.mu.Lock()
	done := s.statusAsked == 0 || was != NoFence && s.statusAsked == s.statusAnswered
	s.mu.Unlock()
	if done {
		return nil
	}

	// An answer to DLE EOT says that the bytes on the way, NULs among them, have arrived.
	if err := s.AskStatus(ctx, AnswerTimeout); err != nil {
		return err
	}

	// Not for ever: a device that is no printer may never stop sending. Questions keep the connection open meanwhile.
	over, seen := time.Now().Add(maxLateAnswers), -1
	more := func() bool {
		was := seen
		seen = s.statusAnswered + s.unexpected
		return seen > was
	}

	for last := time.Now(); time.Since(last) < lateAnswerWindow && time.Now().Before(over); {
		err := s.waitFor(ctx, min(StatusInterval, lateAnswerWindow-time.Since(last)), more)
		switch {
		case err == nil:
			last = time.Now()
		case TimedOut(err):
			err = s.AskStatus(ctx, AnswerTimeout)
		}
		if err != nil {
			return err
		}
	}

	s.mu.Lock()
	s.statusAnswered = s.statusAsked
	s.mu.Unlock()
	return nil
}

// Ask sends DLE EOT n and waits for its answer.
func (s *Session) Ask(ctx context.Context, n byte, within time.Duration) error {
	return s.ask(ctx, n, within, never)
}

// AskStatus asks each DLE EOT n that the printer answers. within is for the first answer; the others come within
// [AnswerTimeout].
func (s *Session) AskStatus(ctx context.Context, within time.Duration) error {
	return s.askStatus(ctx, within, never)
}

// AskStatusBehind is AskStatus until the fence is answered.
func (s *Session) AskStatusBehind(ctx context.Context, within time.Duration) error {
	return s.askStatus(ctx, within, s.fence.answered)
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

// NextNULs is how many NULs precede the next question, after as many steps. proven: the printer has answered a fence
// before. A device server puts received bytes in a buffer of its own, and a slow line behind it would be busy with
// it for minutes. So the speed of the line is measured with the NULs of the step before, by the answer to DLE EOT
// behind them.
func (s *Session) NextNULs(step int, proven bool) int {
	most := unproven
	if proven && s.rate > 0 {
		most = maxNULs
	}

	if s.rate > 0 {
		most = min(most, int(s.rate*nulTime.Seconds()))
	}
	return max(0, min(clearing[min(step, len(clearing)-1)], most-s.nuls))
}

// Clear sends n NULs and notes how fast the line took them. A printer that does not answer in time gets no more.
func (s *Session) Clear(ctx context.Context, n int) error {
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

// CompleteHeader sends as many NULs as the header of a command that broke off may lack, ahead of the first question.
func (s *Session) CompleteHeader(ctx context.Context) error { return s.sendNULs(ctx, longestHeader) }

// sendNULs sends n NULs. The rest that the printer does not take in time is sent ahead of the next question.
func (s *Session) sendNULs(ctx context.Context, n int) error {
	s.nuls += n
	if err := s.Write(ctx, make([]byte, n), AnswerTimeout); !TimedOut(err) {
		return err
	}
	return nil
}

// foreign names the program that answers with heard, if that is no printer.
func (s *Session) foreign(heard []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	// More than the NULs ahead of a question: a status that says nothing is a NUL too.
	if len(heard) > longestHeader && bytes.HasPrefix(s.first, heard[:min(len(heard), len(s.first))]) {
		return "a program that returns what it is sent"
	}
	return Program(heard)
}

// text is more letters in a row than the answer to a GS ( H has, which is six.
var text = regexp.MustCompile(`[ -~]{8}`)

// Program names what sent a text, or "" if heard is none. A text has a byte that no printer sends, and some
// letters in a row.
func Program(heard []byte) string {
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
	return fmt.Sprintf("%s (%s)", kind, Shown(line))
}

// Shown is at most 60 characters of a foreign text, without control characters.
func Shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s[:min(len(s), 60)])
}

// IDs issues the ids of a Device. The first two letters are random and belong to it: they tell its own late answers
// from another program's. The other two count; an answer that is 1,024 ids late does not happen. Only one session at
// a time uses it.
type IDs struct {
	mark   [2]byte
	issued int
}

// idLetters are the characters of ids. The protocol allows 20h to 7Eh; none of these has bit 4 set, as
// the first byte of a DLE EOT or ASB reply has, so an id is never taken for one.
const idLetters = "ABCDEFGHIJKLMNOabcdefghijklmno@`"

// NewIDs returns IDs with a new mark.
func NewIDs() *IDs {
	ids := &IDs{}
	_, _ = rand.Read(ids.mark[:]) // never fails
	for i, b := range ids.mark {
		ids.mark[i] = idLetters[int(b)%len(idLetters)]
	}
	return ids
}

func (ids *IDs) next() [4]byte {
	ids.issued++
	number := ids.issued
	return [4]byte{ids.mark[0], ids.mark[1], idLetters[number/32%32], idLetters[number%32]}
}

func (ids *IDs) own(id [4]byte) bool { return [2]byte(id[:2]) == ids.mark }
