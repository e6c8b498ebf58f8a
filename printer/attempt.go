package printer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// The result of an attempt depends on how far it came:
//
// If none of the ticket was taken, it is [ticket.Untouched]: the doubt is taken back and no banner
// prints.
//
// If some of it was taken, it is in doubt.
//
// If all of it was taken and the fence was answered, it is printed, whatever happens to the cut and
// to the connection afterwards.

// An attempt is one ticket from begin to its result.
type attempt struct {
	p       *Paper
	d       *Device
	s       *session.Session
	ctx     context.Context
	encoded encodedTicket
	from    int // where the ticket begins in the bytes of the connection
	// stoppedAt is when the printer first reported that it needs a person.
	stoppedAt time.Time
}

// sent is how many bytes of the ticket, and of the questions behind it, were handed to the operating system.
func (a *attempt) sent() int { return max(0, a.s.Wrote()-a.from) }

// print sends the ticket and waits for its result. A failure leaves the ticket in doubt, unless it
// happens before the first ticket byte was taken: a printer that accepts and drops its clients, because
// a till uses it or it is still starting, has printed nothing.
func (a *attempt) print() (ticket.Proof, error) {
	all := a.encoded.bytes()
	ahead := a.ahead()
	a.d.maybeInCommand = true // until the ticket is known to have ended outside a command
	a.from = a.s.Wrote() + a.s.Unsent() + len(ahead)

	_, err := a.write(ahead, a.p.sendTimeout(len(ahead)))
	var proof ticket.Proof

	if err == nil {
		a.d.pendingCut = nil
		if a.s.By() == session.NoFence {
			proof, err = ticket.Sent, a.sendUnfenced(all)
		} else {
			proof, err = a.sendFenced()
		}
	}

	if err == nil {
		a.d.maybeInCommand = longCommand.Match(all)
		return proof, nil
	}
	// An attempt that was interrupted, by a stop or in favour of a backup, says nothing about the printer.
	if a.ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %w", context.Cause(a.ctx))
	} else if errors.Is(err, session.ErrNotPrinter) {
		_ = a.d.notPrinter(err)
	} else if !a.s.Alive() {
		a.d.health.unreachable(err)
	}

	a.d.release(a.s, broken)
	err = fmt.Errorf("print on %s: %d of %d bytes sent: %w", a.p.o.Name, min(a.sent(), len(all)), len(all), err)
	if a.sent() == 0 {
		err = ticket.Untouched(err)
	}

	return "", err
}

// ahead returns the bytes that belong to no ticket: the cut of the one before, and padding for a printer that gave no
// answer to a hello. It may wait for the rest of a command that broke off unnoticed, and would take as much of this
// ticket for it. ESC @, with which every ticket begins, then clears the line.
func (a *attempt) ahead() (b []byte) {
	// A file waits for no command's end, and keeps the padding. On a slow line the padding takes about a second,
	// so it follows only attempts that can need it.
	if a.s.By() == session.NoFence && !transport.IsFile(a.s.Conn()) &&
		(a.d.maybeInCommand || !transport.IsSerial(a.s.Conn())) {
		b = escpos.Resync(a.p.o.Profile)
		b = b[min(a.s.NULs(), len(b)-len(escpos.SelectPrinter())):] // those before its questions count
	}
	return append(b, a.d.pendingCut...)
}

// longCommand is the head of a command with more data than fits into the header of a short one.
var longCommand = regexp.MustCompile(`\x1d(v0|\(L|\(k)`)

// sendUnfenced is for a printer that gives no answer behind a ticket. It returns when the printer has taken
// every byte and the connection is closed in an orderly way. Without the orderly end, closing could reset
// the connection and discard the tail of the ticket in the printer's network interface: the ticket
// would end without its last lines and without a cut.
func (a *attempt) sendUnfenced(all []byte) error {
	left, err := a.write(all, a.p.sendTimeout(len(all)))
	if err != nil {
		return err
	}
	left = max(left, session.AnswerTimeout)

	// A printer that hung meanwhile has taken the ticket into its buffer, and loses it when it is switched off
	// and on. Behind a full buffer the answer takes as long as the printing.
	if err := a.observe(a.s.AskStatus, left); err != nil {
		return err
	}

	if a.s.Condition().Has(escpos.Unrecoverable) {
		return a.stopped()
	}

	ctx, cancel := context.WithTimeout(a.ctx, left)
	defer cancel()
	if err := a.s.Finish(ctx); err != nil {
		return err
	}

	if err := a.s.Err(); errors.Is(err, session.ErrNotPrinter) {
		return err
	}

	if !transport.IsFile(a.s.Conn()) {
		model := &a.p.o.Profile
		lines := len(a.encoded.copies) * (a.encoded.lines + model.FeedBeforeCut)
		a.d.printedAt = time.Now().Add(time.Duration(lines) * time.Second / time.Duration(model.LinesPerSecond))
	}
	a.d.health.update(func(s *Status) { s.Connected = false })
	return nil
}

// sendFenced is for a printer that answers a fence. Each copy waits for its own answer before the
// next is sent, so that one unanswered fence never stands for several copies. If a later copy
// fails, the whole ticket is in doubt, and the next attempt prints every copy again.
func (a *attempt) sendFenced() (ticket.Proof, error) {
	proof := ticket.Confirmed
	// Only status bytes that come from here on can be taken for this ticket's answer.
	unexpected := a.s.Unexpected()
	for _, c := range a.encoded.copies {

		began := time.Now()
		left, err := a.write(c.Body, a.p.sendTimeout(len(c.Body)))
		if err != nil {
			return "", err
		}

		got, err := a.await(left, a.p.printTimeout(a.encoded, len(c.Body)))
		// Until it is known that the printer came to the cut, it is repeated before the next ticket.
		a.d.pendingCut, a.d.cutOn = c.Cut, nil
		if err != nil {
			return "", a.unanswered(err)
		}

		switch {
		case got == session.ByStatus && a.s.Unexpected() > unexpected:
			proof = ticket.Sent // it also sends status bytes unasked, so the answer proves nothing
		case a.tooFast(began):
			proof = ticket.Sent
		case got == session.ByStatus && proof == ticket.Confirmed:
			proof = ticket.Processed
		}

		if a.s.Blocked() { // the last status is older than the answer
			_ = a.observe(a.s.AskStatus, session.AnswerTimeout)
		}

		// Only now: a cut before the answer could cut through lines that are still being printed,
		// and a ticket that ran out of paper would be cut in two. Its failure does not change the result.
		_, err = a.write(c.Cut, session.CutTimeout)
		if err == nil {
			a.d.cutOn = a.s
		}
	}

	a.d.release(a.s, printed)
	return proof, nil
}

// tooFast reports whether the answer behind a copy came before the paper can have moved, and lets people know. Then the
// interface answers and not the engine, and the lines that it holds are lost when it is switched off. Each ticket is
// judged by itself: nothing is concluded from others.
func (a *attempt) tooFast(began time.Time) bool {
	// A quarter of the time that the paper of one copy takes to move: no printer moves more than 500 mm in a second,
	// and a line has at least 24 dots, 3 mm.
	least := time.Duration(a.encoded.lines) * 3 * time.Second / 500 / 4
	if least <= 20*time.Millisecond { // too short to tell printing from a round trip
		return false
	}

	at, _ := a.s.Answered()
	fast := at.Sub(began) < least

	a.d.health.update(func(s *Status) { s.TooFast = fast })
	return fast
}

// chunkSize is how many bytes are written at a time. Each chunk has the time limit of a ticket of
// that size, so that a long ticket does not wait its whole time limit for a printer that has
// stopped. 1 KiB is the unit of TimeoutPerKiB and less than the 4 KiB buffer of the slowest
// printers, so one that works takes a chunk as soon as it has printed one.
const chunkSize = 1024

// write sends b within limit and returns how much of the limit is left. Time during which the printer reports
// that it needs a person does not count, up to WaitForPerson.
func (a *attempt) write(b []byte, limit time.Duration) (left time.Duration, err error) {
	// A write to a connection that the printer has closed succeeds the first time and is lost.
	// While nothing of the ticket was sent, noticing it costs no doubt.
	if a.sent() == 0 {
		if err := a.s.PeerClosed(); err != nil {
			return limit, err
		}
	}
	for part := range slices.Chunk(b, chunkSize) {
		// Each part has its own limit and all parts share the ticket's.
		took, err := a.writePart(part, min(limit, a.p.sendTimeout(len(part))))
		limit -= took
		if err != nil {
			return limit, err
		}
	}
	return limit, nil
}

// writePart is write for one chunk. took is how much of the limit was used.
func (a *attempt) writePart(b []byte, limit time.Duration) (took time.Duration, err error) {
	for {

		start := time.Now()
		err := a.s.Write(a.ctx, b, min(session.WriteCheckInterval, limit-took))
		b = nil // the session has the rest
		if err == nil || !session.TimedOut(err) {
			return took + time.Since(start), err
		}

		blocked, werr := a.needsPerson(err)
		if werr != nil {
			return took, werr
		}
		if !blocked {
			if took += time.Since(start); took >= limit {
				return took, err
			}
		}
	}
}

// needsPerson reports whether the printer has reported that it needs a person, as far as is known: with a full
// buffer it may not read the question. The error is for when WaitForPerson has passed since the first such report,
// because of err. The ticket is in doubt then: its first lines may be on the paper, and the rest in the printer's
// buffer prints when the person comes after all.
func (a *attempt) needsPerson(err error) (bool, error) {
	if !a.s.Blocked() {
		return false, nil
	}

	if a.stoppedAt.IsZero() {
		a.stoppedAt = time.Now()
	}
	if time.Since(a.stoppedAt) < a.d.o.WaitForPerson {
		return true, nil
	}

	return true, fmt.Errorf("it is %s, and this was not fixed within %s: %w",
		a.d.health.trouble(a.s.Condition()), a.d.o.WaitForPerson, err)
}

// stopped is the error of a ticket behind which the printer reports that it must be switched off and on: the lines
// in its buffer are lost.
func (a *attempt) stopped() error {
	return fmt.Errorf("it stopped (it reports: %s)", a.s.Condition())
}

// After the ticket is sent, the printer's silence has one of three reasons: it is still printing,
// it waits for a person, or it does not answer. Each has its own limit, and the status (DLE EOT,
// answered at once, not in order) tells which one it is.

// await sends the question behind a ticket, within left, and waits for its answer. limit applies while the
// printer reports no trouble, or nothing. While it reports that it needs a person, WaitForPerson applies
// instead: GS r and GS ( H are not executed while it is offline, and an answer that comes after the refill
// proves as much as an early one.
//
// The ticket's question is asked once. A printer that lost its buffer and kept its connection would answer it the
// second time. With GS r, whose answers are all alike, such a printer is noticed when the limit is over. An id tells
// the answers apart: after half of the limit a printer that reports no trouble is asked with another one. Not
// earlier, because a printer that is slow and keeps only the newest id answers only that one.
func (a *attempt) await(left, limit time.Duration) (session.Kind, error) {
	// The fence is registered only now: a status byte that came while the ticket was written is no answer to
	// it. The ticket may have used up its time; the question gets its own, or a slow printer would fail here
	// with everything printed.
	a.s.Expect(a.s.By())
	if _, err := a.write(a.s.Question(false), max(left, session.AnswerTimeout)); err != nil {
		return session.NoFence, err
	}

	var elapsed time.Duration // while the printer reports no trouble
	for {
		start := time.Now()
		got, err := a.s.Answer(a.ctx, min(session.StatusInterval, limit))
		switch {
		case err != nil:
			return session.NoFence, err
		case got != session.NoFence:
			return got, a.checkPaper()
		}

		answers := a.observe(a.s.AskStatusBehind, session.AnswerTimeout) == nil
		// Nothing that is still in the buffer prints any more, so there is no point in waiting.
		if a.s.Condition().Has(escpos.Unrecoverable) {
			return session.NoFence, a.stopped()
		}

		// Time in which a person is needed does not count against the time for printing.
		if blocked, err := a.needsPerson(session.ErrNoAnswer); err != nil {
			return session.NoFence, err
		} else if blocked {
			continue
		}

		elapsed += time.Since(start)
		switch after := elapsed.Round(time.Second); {
		case elapsed >= limit && !answers:
			a.d.health.set(Busy)
			return session.NoFence, fmt.Errorf(
				"it stopped answering (for %s): was it switched off, or its cable pulled?",
				after,
			)
		case elapsed >= limit:
			return session.NoFence, fmt.Errorf(
				"it did not report within %s that the ticket is printed, and reports no trouble; "+
					"check whether it came out",
				after,
			)
		case answers && len(a.s.RealTime()) > 0 && elapsed >= limit/2:
			if err := a.s.AskAnother(a.ctx); err != nil {
				return session.NoFence, err
			}
		}
	}
}

// checkPaper returns an error if the answer says that the paper is out: some printers answer GS r without paper too,
// instead of going offline.
func (a *attempt) checkPaper() error {
	_, paper := a.s.Answered()
	if !paper.Has(escpos.PaperOut) {
		return nil
	}
	a.d.health.observe(paper)
	return errors.New("it answered, but reports that it is out of paper: the last lines may be missing")
}

// observe asks for the status and records it. In await its error is not returned: the fence decides about the
// ticket, the status only says how long to wait.
func (a *attempt) observe(ask func(context.Context, time.Duration) error, within time.Duration) error {
	if len(a.s.RealTime()) == 0 {
		return nil
	}
	err := ask(a.ctx, within)
	if err == nil {
		a.d.health.observe(a.s.Condition())
	}
	return err
}

// unanswered is the error of a ticket whose answer did not come because of err. Nothing is concluded from how often
// that happens: it may be a printer that loses its power at each ticket.
func (a *attempt) unanswered(err error) error {
	if a.s.Alive() || a.s.Blocked() {
		return err
	}
	return fmt.Errorf("its connection ended before it could answer; if this repeats, lengthen the idle time-out "+
		"of its print server, or set confirm: none: %w", err)
}
