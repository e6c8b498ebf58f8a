package printer

import (
	"errors"
	"fmt"
	"time"

	"ticketrail/printer/escpos"
)

// A patient is how long a person has been waited for.
type personWait struct{ since, clearSince time.Time }

// relapse is how soon trouble that comes back counts as the same.
const troubleGap = time.Minute

// over notes whether there is trouble now, and says whether it has lasted longer than
// limit.
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

// askWhy is how often a printer that has not answered a fence is asked how it is.
const statusInterval = time.Second

// await waits for the answer to a fence. limit is for a printer that says that all is well, or
// says nothing; while it lacks paper or is open, the person who sees to that is waited for,
// and the answer that comes late is as good as any.
func (a *attempt) await(f *fence, limit time.Duration) error {
	answered := func() bool { return f.answered }
	var w personWait
	var well time.Duration
	for {
		start := time.Now()
		err := a.s.waitFor(a.ctx, min(statusInterval, limit), answered)
		switch {
		case err == nil && f.paper.Has(escpos.PaperOut):
			a.d.observe(f.paper)
			return a.answerFailed(errors.New("it answered, but it is out of paper: the last lines may be missing"))
		case err == nil:
			return nil
		case !errors.Is(err, errNoAnswer):
			return a.answerFailed(err)
		}
		talks := a.askStatus(answered)
		blocked := a.s.blocked() // by its last words: with a full buffer it may not get to new ones
		switch c := a.s.condition(); {
		case talks && c.Has(escpos.Unrecoverable):
			return a.answerFailed(fmt.Errorf("it stopped (it reports: %s); %s", c, advice(Unrecoverable, false)))
		case w.exceeded(blocked, a.d.o.WaitForPerson):
			a.d.pendingCut = a.job.cut()
			return a.answerFailed(a.waitedTooLong(errNoAnswer))
		case blocked:
			continue
		}
		if well += time.Since(start); well >= limit {
			return a.noFenceAnswer(talks, well)
		}
	}
}

// askWhy asks the printer how it is and notes it. False says that it, who can, did not answer.
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

// maxQuiet is how many fences in a row may stay without an answer and without a reason,
// before it is no longer believed that the printer answers them.
const maxUnanswered = 2

// unanswered is the end of the patience with a fence.
func (a *attempt) noFenceAnswer(talks bool, after time.Duration) error {
	after = after.Round(time.Second)
	if !talks {
		a.d.setState(Busy)
		return a.answerFailed(fmt.Errorf("it went silent (%s): was it switched off, or its cable pulled?", after))
	}
	a.d.pendingCut = a.job.cut()
	if a.d.unansweredFences++; a.d.unansweredFences >= maxUnanswered {
		a.d.forgetCapability(a.ctx, "it left two tickets in a row without an answer, and nothing was wrong")
	}
	return a.answerFailed(fmt.Errorf("it did not say in %s that it printed it, and reports no trouble: see whether it came out", after))
}

// cutWithin is how long a cut may take, once everything before it is printed.
const cutTimeout = 5 * time.Second

// cut parts the ticket from the next. The ticket is on paper by now, whatever becomes of the
// cut; one that could not be sent is made up for before the next ticket. It says whether
// the connection is good for another one.
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
		return n == 0 && err != nil && a.ctx.Err() != nil
	case err != nil:
		a.d.noteBroken(a.p.o.Profile, nil) // half a question
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

func (a *attempt) isAnswered(f *fence) bool {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return f.answered
}
