package printer

import (
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/queue/ticket"
)

// After the ticket is sent, the printer's silence has one of three reasons: it is still printing,
// it waits for a person, or it does not answer. Each has its own limit, and the status (DLE EOT,
// answered at once, not in order) tells which one it is.

// statusInterval is how often the status is asked while a fence is unanswered. An open cover is
// known after a second at most.
const statusInterval = time.Second

// overdue is how long after a ticket should be printed GS r is asked as well as GS ( H. A printer that answers
// only that one has processed the ticket and lost the id, or answers with another one.
const overdue = 3 * time.Second

// await sends the question behind a ticket, within left, and waits for its answer. limit applies while the
// printer reports no trouble, or nothing. While it reports that it needs a person, WaitForPerson applies
// instead: GS r and GS ( H are not executed while it is offline, and an answer that comes after the refill
// proves as much as an early one.
func (a *attempt) await(left, limit time.Duration) (fenceKind, error) {
	// The fence is registered only now: a status byte that came while the ticket was written is no answer to
	// it. The ticket may have used up its time; the question gets its own, or a slow printer would fail here
	// with everything printed.
	f := a.s.newFence(a.s.by, a.d.issueID())
	if _, err := a.write(a.s.question(f, false), max(left, answerTimeout)); err != nil {
		return noFence, err
	}
	var elapsed time.Duration // while the printer reports no trouble
	for asked := false; ; {
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
		case !asked && elapsed >= overdue+a.p.printTime(a.encoded):
			asked = true
			if err := a.s.write(a.ctx, a.s.question(f, true), answerTimeout); err != nil && !timedOut(err) {
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

// maxCutOffs is how many connections in a row may end before the answer for a ticket, while each of these
// tickets began with an answered hello. One may be a power cut, a second one in a row hardly.
const maxCutOffs = 2

// cutOff is the result of a ticket whose answer did not come because of err. end is where its copy ends in the
// bytes of the connection, last that it was the last one. A print server that closes an idle connection before the
// printer has printed would leave every ticket in doubt: each would print twice and be held. So after maxCutOffs
// such a ticket of this printer ends as sent, this one included, if every byte of it was acknowledged. An answer
// that comes in time still counts.
func (a *attempt) cutOff(err error, end int, last bool) (ticket.Proof, error) {
	if a.s.alive() || a.s.blocked() {
		return "", err
	}
	if a.d.can.cutOffs++; a.d.can.cutOffs < maxCutOffs && !a.d.can.CutOff {
		return "", err
	}
	if now := a.d.can.capability; !now.CutOff {
		now.CutOff = true
		a.d.can.save(a.ctx, now)
		a.d.o.Logger.Warn("the connection ends before the printer can answer: such tickets end as sent",
			"printer", a.d.o.Name, "advice", a.d.health.get().Advice)
	}
	c, ok := a.s.conn.(acknowledger)
	if !ok || !last {
		return "", err
	}
	if n, aerr := c.Acknowledged(); aerr != nil || n < end {
		return "", err
	}
	a.d.printedAt = time.Now().Add(a.p.printTime(a.encoded)) // before that, the next hello would be cut off too
	// Not close: a reset could destroy what the print server still holds.
	a.d.finishSession(a.s)
	return ticket.Sent, nil
}
