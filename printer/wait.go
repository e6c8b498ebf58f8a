package printer

import (
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
)

// After the ticket is sent, the printer's silence has one of three reasons: it is still printing,
// it waits for a person, or it does not answer. Each has its own limit, and the status (DLE EOT,
// answered at once, not in order) tells which one it is.

// statusInterval is how often the status is asked while a fence is unanswered. An open cover is known at once, and
// what closes idle connections, as print servers do, leaves this one open.
const statusInterval = 200 * time.Millisecond

// errLost: a question behind the ticket's was answered, and the ticket's was not.
var errLost = errors.New("it lost what was in its buffer: it answers again, but not the question behind the ticket")

// await sends the question behind a ticket, within left, and waits for its answer. limit applies while the
// printer reports no trouble, or nothing. While it reports that it needs a person, WaitForPerson applies
// instead: GS r and GS ( H are not executed while it is offline, and an answer that comes after the refill
// proves as much as an early one.
//
// The ticket's question is asked once. A printer that lost its buffer and kept its connection would answer it the
// second time. With GS r, whose answers are all alike, such a printer is noticed when the limit is over. An id tells
// the answers apart: after half of the limit a printer that reports no trouble is asked with another one. Not
// earlier, because a printer that is slow and keeps only the newest id answers only that one.
func (a *attempt) await(left, limit time.Duration) (fenceKind, error) {
	// The fence is registered only now: a status byte that came while the ticket was written is no answer to
	// it. The ticket may have used up its time; the question gets its own, or a slow printer would fail here
	// with everything printed.
	f := a.s.newFence(a.s.by, a.d.issueID())
	if _, err := a.write(a.s.question(f, false), max(left, answerTimeout)); err != nil {
		return noFence, err
	}
	var elapsed time.Duration // while the printer reports no trouble
	for {
		start := time.Now()
		got, err := a.s.waitFence(a.ctx, f, min(statusInterval, limit))
		switch {
		case err != nil:
			return noFence, err
		case got != noFence && f.paper.Has(escpos.PaperOut):
			// Some printers answer GS r without paper too, instead of going offline.
			a.d.health.observe(f.paper)
			return noFence, errors.New(
				"it answered, but reports that it is out of paper: the last lines may be missing",
			)
		case got != noFence:
			return got, nil
		}
		answers := a.askStatus(answerTimeout, f.answered) == nil
		// Nothing that is still in the buffer prints any more, so there is no point in waiting.
		if a.s.condition().Has(escpos.Unrecoverable) {
			return noFence, a.stopped()
		}
		// Time in which a person is needed does not count against the time for printing.
		if blocked, err := a.waitForPerson(errNoAnswer); err != nil {
			return noFence, err
		} else if blocked {
			continue
		}
		elapsed += time.Since(start)
		switch after := elapsed.Round(time.Second); {
		case elapsed >= limit && !answers:
			a.d.health.set(Busy)
			return noFence, fmt.Errorf(
				"it stopped answering (for %s): was it switched off, or its cable pulled?",
				after,
			)
		case elapsed >= limit:
			return noFence, fmt.Errorf(
				"it did not report within %s that the ticket is printed, and reports no trouble; "+
					"check whether it came out",
				after,
			)
		case answers && len(a.s.realTime) > 0 && elapsed >= limit/2 && f.want == byID && len(f.ids) == 1:
			err := a.s.write(a.ctx, a.s.anotherID(f, a.d.issueID()), answerTimeout)
			if err != nil && !timedOut(err) {
				return noFence, err
			}
		}
	}
}

// askStatus asks for the status and records it. In await its error is not returned: the fence decides about the
// ticket, the status only says how long to wait.
func (a *attempt) askStatus(within time.Duration, enough func() bool) error {
	if len(a.s.realTime) == 0 {
		return nil
	}
	err := a.s.askStatus(a.ctx, within, enough)
	if err == nil {
		a.d.health.observe(a.s.condition())
	}
	return err
}

// unanswered is the error of a ticket whose answer did not come because of err. Nothing is concluded from how often
// that happens: it may be a printer that loses its power at each ticket.
func (a *attempt) unanswered(err error) error {
	if a.s.alive() || a.s.blocked() {
		return err
	}
	return fmt.Errorf("its connection ended before it could answer; if this repeats, lengthen the idle time-out "+
		"of its print server, or set confirm: none: %w", err)
}
