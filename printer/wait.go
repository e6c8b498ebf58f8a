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

// A personWait measures how long the printer has needed a person.
type personWait struct{ since, clearSince time.Time }

// troubleGap: trouble that comes back within this time continues the same wait. Otherwise each moment in
// which the printer reports no trouble would start WaitForPerson anew.
const troubleGap = time.Minute

// exceeded records whether there is trouble now, and reports whether it has lasted for limit. Without
// trouble it only records; limit is then not used.
func (w *personWait) exceeded(trouble bool, limit time.Duration) bool {
	now := time.Now()
	switch {
	case !trouble && w.clearSince.IsZero():
		w.clearSince = now
	case !trouble && now.Sub(w.clearSince) >= troubleGap:
		w.since = time.Time{}
	case trouble:
		w.clearSince = time.Time{}
		if w.since.IsZero() {
			w.since = now
		}
		return now.Sub(w.since) >= limit
	}
	return false
}

// statusInterval is how often the status is asked while a fence is unanswered. An open cover is
// known after a second at most.
const statusInterval = time.Second

// await waits for the answer to a fence. limit applies while the printer reports no trouble, or nothing.
// While it reports that it needs a person, WaitForPerson applies instead: GS r and GS ( H are not executed
// while it is offline, and an answer that comes after the refill proves as much as an early one.
func (a *attempt) await(f *fence, limit time.Duration) error {
	answered := func() bool { return f.answered }
	var w personWait
	var elapsed time.Duration // while the printer reports no trouble
	for {
		start := time.Now()
		err := a.s.waitFor(a.ctx, min(statusInterval, limit), answered)
		switch {
		case err == nil && f.paper.Has(escpos.PaperOut):
			// Some printers answer GS r without paper too, instead of going offline.
			a.d.observe(f.paper)
			return a.answerFailed(
				errors.New("it answered, but reports that it is out of paper: the last lines may be missing"),
			)
		case err == nil:
			return nil
		case !errors.Is(err, errNoAnswer):
			return a.answerFailed(err)
		}
		answers := a.askStatus(answered)
		blocked := a.s.blocked() // as last reported: with a full buffer it may not read the question
		switch c := a.s.condition(); {
		// Nothing that is still in the buffer prints any more, so there is no point in waiting.
		case answers && c.Has(escpos.Unrecoverable):
			return a.answerFailed(fmt.Errorf("it stopped (it reports: %s); %s", c, advice(Unrecoverable, false)))
		case w.exceeded(blocked, a.d.o.WaitForPerson):
			a.d.pendingCut = a.encoded.cut()
			return a.answerFailed(a.waitedTooLong(errNoAnswer))
		// Time in which a person is needed does not count against the time for printing.
		case blocked:
			continue
		}
		if elapsed += time.Since(start); elapsed >= limit {
			return a.noFenceAnswer(answers, elapsed)
		}
	}
}

// askStatus asks for the status and records it. It returns false if a printer that can answer did
// not. Its error is not returned: the fence decides about the ticket, the status only says how long
// to wait.
func (a *attempt) askStatus(enough func() bool) bool {
	if len(a.d.capability.RealTime) == 0 {
		return true
	}
	if a.s.askEach(a.ctx, a.d.capability.RealTime, enough) != nil {
		return false
	}
	a.d.observe(a.s.condition())
	return true
}

// maxUnanswered is how many fences in a row may stay unanswered, while the printer reports no trouble,
// before it is probed again. One can be an accident; two mean another printer, or another mode.
const maxUnanswered = 2

// noFenceAnswer is the result when limit has passed. answers: the printer answered DLE EOT meanwhile.
func (a *attempt) noFenceAnswer(answers bool, after time.Duration) error {
	after = after.Round(time.Second)
	// The capability is kept: a printer that was switched off answers again when it is on.
	if !answers {
		a.d.setState(Busy)
		return a.answerFailed(
			fmt.Errorf("it stopped answering (for %s): was it switched off, or its cable pulled?", after),
		)
	}
	a.d.pendingCut = a.encoded.cut()
	if a.d.unansweredFences++; a.d.unansweredFences >= maxUnanswered {
		a.d.forgetCapability(a.ctx, "two tickets in a row were not answered, and it reports no trouble")
	}
	return a.answerFailed(fmt.Errorf("it did not report within %s that the ticket is printed, and reports no trouble; "+
		"check whether it came out", after))
}

// cutTimeout is how long a cut may take once everything before it is printed. The next
// ticket waits for this, so it is short; a cut that takes longer still happens.
const cutTimeout = 5 * time.Second

// cut sends the cut behind a copy that is proved to be printed. Its failure does not change the result of
// the ticket: a cut that was not sent is sent before the next ticket. cut reports whether the connection
// can be kept.
func (a *attempt) cut(cut []byte) bool {
	if len(cut) == 0 {
		return true
	}
	f, ask := a.s.newFence(a.d.capability.Fence, a.d.issueID)
	n, _, err := a.write(append(append([]byte(nil), cut...), ask...), cutTimeout)
	switch {
	case n < len(cut):
		a.d.pendingCut = cut
		if n > 0 {
			a.d.noteBroken(a.p.o.Profile, nil)
		}
		// Kept only if ctx ended before the first byte of the cut: the connection is whole, and
		// pendingCut waits for the next ticket. Any other error says that the connection is broken.
		return n == 0 && err != nil && a.ctx.Err() != nil
	case err != nil:
		a.d.noteBroken(a.p.o.Profile, nil) // the fence was sent in part
		return false
	}
	err = a.s.waitFor(a.ctx, cutTimeout, func() bool { return f.answered || a.s.conditions().Any(escpos.Blocking) })
	if err == nil && a.isAnswered(f) {
		return true
	}
	if len(a.d.capability.RealTime) > 0 && a.s.askEach(a.ctx, a.d.capability.RealTime, never) == nil {
		a.d.observe(a.s.condition())
	}
	return false
}

// isAnswered reads f.answered with the session's mu held.
func (a *attempt) isAnswered(f *fence) bool {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return f.answered
}
