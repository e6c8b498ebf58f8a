package printer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/queue/ticket"
)

// Another program, an earlier process or a broken connection may have left the printer inside a command.
// It then takes the next bytes for the rest of that command: the head of a ticket becomes dots, the tail
// prints, and the fence behind the tail is answered. DLE EOT does not show this, because a printer
// answers it at once, wherever it is. So a printer with a fence is asked for that before each ticket.

const (
	// helloTimeout is how long a printer that reports no trouble may leave the hello unanswered. It may
	// still print what a till left. Nothing of the ticket was sent by then, so the ticket is tried again. It is
	// shorter than the time after which the dispatcher interrupts an attempt in favour of a backup.
	helloTimeout = 20 * time.Second
	// probeTimeout is the same while it is not known whether the printer has a fence at all.
	probeTimeout = 8 * time.Second
	// helloInterval is the time between two hellos: an order of magnitude above a round trip by radio.
	helloInterval = time.Second
	// idAfterStatus is how much later than GS r the printer may answer GS ( H: its print buffer may hold a few
	// lines that GS r does not wait for, before a ticket those of a till.
	idAfterStatus = 5 * time.Second
	// lateAnswerWindow is how far apart the answers to several GS r may come. Long enough
	// for what the kernel of a USB or serial device still holds of an earlier connection.
	lateAnswerWindow = 500 * time.Millisecond
	// maxLateAnswers bounds the wait for all of them.
	maxLateAnswers = 3 * time.Second
	// longestHeader is longer, in bytes, than the part of any command that says how much data follows. As many NULs
	// precede the first question: read as the size of an image, it would announce a quarter of a megabyte.
	longestHeader = 16
)

const (
	// unproven is how many NULs a connection carries at most to a printer that never answered a fence: as many as
	// precede a ticket without one. More would not show that they helped.
	unproven = 2 << 10
	// maxNULs is the same for one that did, and nulTime how long its line may be busy with them.
	maxNULs = 640 << 10
	nulTime = 2 * time.Second
)

// clearing is how many NULs precede the second hello, the third and so on. They complete what another
// program left unfinished: a few lines, a band of an image, a logo, the largest image that printers
// take. A printer that waits for nothing ignores them.
var clearing = [...]int{64, 4 << 10, 96 << 10, 512 << 10}

// nextNULs is how many NULs precede the next question, after as many steps. A device server puts what is sent to it
// in a buffer of its own, and a slow line behind it would be busy with it for minutes. So what the line can take is
// measured with the NULs of the step before, by the answer to DLE EOT behind them.
func (d *Device) nextNULs(s *session, step int) int {
	most := unproven
	if d.can.Fence != noFence {
		most = maxNULs
	}
	if s.rate > 0 {
		most = min(most, int(s.rate*nulTime.Seconds()))
	}
	return max(0, min(clearing[min(step, len(clearing)-1)], most-s.nuls))
}

// hello asks for the fence by, and returns nil when the printer has answered: its interpreter is at the
// beginning of a command, nothing of an earlier connection is left to print, and no answer is outstanding.
// s.by is then the fence that proves the ticket. errNoAnswer: it does not answer DLE EOT either.
func (d *Device) hello(ctx context.Context, s *session) error {
	got, err := d.askInOrder(ctx, s, d.can.Fence, helloTimeout)
	switch {
	case err != nil:
		return err
	case got == noFence && len(s.realTime) == 0:
		return errNoAnswer
	case got == noFence:
		d.health.set(Hung)
		_, advice := d.health.describe(Hung)
		return ticket.NotReady(fmt.Errorf("%s reports no trouble and does not process what it is sent; to fix: %s",
			d.o.Name, advice))
	}
	d.noteCut(s)
	if got == d.can.Fence {
		d.can.idUnanswered = 0
		return nil
	}
	// Once may be chance: another program's GS ( H can displace ours.
	if d.can.idUnanswered++; d.can.idUnanswered >= 2 {
		a := d.can.capability
		a.Fence = got
		d.can.save(ctx, a)
	}
	return nil
}

// askInOrder sends questions that are answered in order until one is answered, and returns which; noFence
// if none was within limit. by is the wanted fence; noFence wants the best there is. GS ( H comes with a
// GS r from the second time on: a printer that answers only that one has come to the question, and has no
// such fence any more.
func (d *Device) askInOrder(ctx context.Context, s *session, by fenceKind, limit time.Duration) (fenceKind, error) {
	start := time.Now()
	f := s.newFence(cmp.Or(by, byID), d.issueID())
	for step, nuls := 0, 0; ; step++ {
		if step == 0 || nuls > 0 || step <= len(clearing) {
			if err := s.clear(ctx, nuls); err != nil {
				return noFence, err
			}
			// What cannot be sent in time is sent ahead of the next question.
			ask := append(escpos.SelectPrinter(), s.question(f, by == noFence || step > 0)...)
			if err := s.write(ctx, ask, answerTimeout); err != nil && !timedOut(err) {
				return noFence, err
			}
		}
		got, err := s.waitFence(ctx, f, helloInterval)
		if err != nil {
			return noFence, err
		}
		if got != noFence {
			err := d.settleAnswers(ctx, s)
			s.by = got
			return got, err
		}
		// No answer: it waits for a person, serves another client, or is inside a command.
		if err := s.askStatus(ctx, answerTimeout, never); err != nil {
			return noFence, err
		}
		if err := d.checkReady(s); err != nil {
			return noFence, err
		}
		if time.Since(start) >= limit {
			return noFence, nil
		}
		if by != noFence && d.health.get().State != Hung { // hung until it answers
			d.health.set(Clearing)
		}
		nuls = d.nextNULs(s, step)
	}
}

// settleAnswers waits until no further answer to GS r comes, if one may: several were asked, or another
// connection left one unanswered. It could be taken for the answer behind the ticket.
func (d *Device) settleAnswers(ctx context.Context, s *session) error {
	s.mu.Lock()
	done := s.statusAsked == 0 || s.by != noFence && s.statusAsked == s.statusAnswered
	s.mu.Unlock()
	if done {
		return nil
	}
	// An answer to DLE EOT says that what is on the way, NULs among them, has arrived.
	if err := s.askStatus(ctx, answerTimeout, never); err != nil {
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
		err := s.waitFor(ctx, min(statusInterval, lateAnswerWindow-time.Since(last)), more)
		switch {
		case err == nil:
			last = time.Now()
		case timedOut(err):
			err = s.askStatus(ctx, answerTimeout, never)
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

// sendNULs sends n NULs. What the printer does not take in time is sent ahead of the next question.
func (s *session) sendNULs(ctx context.Context, n int) error {
	s.nuls += n
	if err := s.write(ctx, make([]byte, n), answerTimeout); !timedOut(err) {
		return err
	}
	return nil
}

// clear sends n NULs and notes how fast the line took them. A printer that does not answer in time gets no more.
func (s *session) clear(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	start := time.Now()
	if err := s.sendNULs(ctx, n); err != nil {
		return err
	}
	err := s.askStatus(ctx, 2*answerTimeout, never)
	s.rate = float64(n) / max(time.Since(start), time.Millisecond).Seconds()
	return err
}

// question is what is sent for f; withStatus adds GS r to GS ( H, ahead of it, so that a printer that takes
// GS ( H for text has answered the other one by then. The first GS r of a connection is doubled, because the
// first answer may be to the question of an earlier connection or of another program, with lines to print
// behind it.
func (s *session) question(f *fence, withStatus bool) (b []byte) {
	if f.want == byStatus || withStatus {
		b = escpos.PaperStatus()
		if s.by == noFence {
			b = append(b, b...)
		}
		s.mu.Lock()
		s.statusAsked += len(b) / len(escpos.PaperStatus())
		if f.nth == 0 {
			f.nth = s.statusAsked
		}
		s.mu.Unlock()
	}
	if f.want == byID {
		b = append(b, escpos.ProcessID(f.ids[0])...)
	}
	return b
}

// waitFence waits for the answer to f and returns the fence that was answered, noFence if none was. errLost: none
// will be. An answer to GS r where GS ( H was wanted is believed when the other one is not there soon after: it is
// answered when the data is printed, which may be later.
func (s *session) waitFence(ctx context.Context, f *fence, within time.Duration) (fenceKind, error) {
	err := s.waitNudging(ctx, within, f.answered)
	if err == nil {
		err = s.waitFor(ctx, idAfterStatus, func() bool { return f.got == f.want || f.lost })
	}
	if err != nil && !timedOut(err) {
		return noFence, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.got == noFence && f.lost {
		return noFence, errLost
	}
	return f.got, nil
}
