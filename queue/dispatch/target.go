package dispatch

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// A target is a station that can print a lane's tickets, its own or a backup, with its recent failures.
type target struct {
	Backup    // of the own station: no Name, no After
	own       bool
	failures  failures
	next      time.Time // end of its pause; zero: it is not in one
	lastError string    // the last one logged; empty when the station works
}

// buildTargets replaces the targets by the lane's. The state of a station that stays is kept; a new
// station has not failed yet.
func (w *worker) buildTargets(lane Lane) {
	previous := w.targets
	w.targets = []*target{{Backup: Backup{Station: lane.Station}, own: true}}
	for _, b := range lane.Backups {
		w.targets = append(w.targets, &target{Backup: b})
	}

	for _, t := range w.targets {
		for _, p := range previous {
			if p.Station == t.Station {
				t.failures, t.next, t.lastError = p.failures, p.next, p.lastError
			}
		}
	}

	if len(previous) > 0 && previous[0].Station != lane.Station {
		w.clearActiveBackup()
	}
}

// noteResult keeps the station's state after an attempt. Only the own station changes the lane's
// status and metrics: a backup has a lane of its own that reports its state.
func (w *worker) noteResult(t *target, lease Lease, a tryResult, v verdict) {
	msg, notReady := "", ""
	var pause time.Duration
	switch {
	case v.result == resultOK:
		w.noteSuccess(t, lease)
		return
	case v.result == resultPermanent:
		// An answer that refuses one ticket shows that the station works. A ticket that cannot be composed
		// shows nothing.
		if t.own && ticket.IsUntouched(a.err) {
			w.noteSuccess(t, lease)
		}
		return
	case a.queueFailed():
		w.logQueueError("cannot store that a ticket begins to print, trying again", a.beginErr)
		return
	case v.result == resultInterrupted:
		w.log.Info("ticket interrupted by shutdown", append(ticketAttrs(lease), "begun", a.begun, "err", a.err)...)
		return

	case v.result == resultCleanFailure:
		msg, pause = "ticket not printed, trying again", t.failures.afterCleanFailure()
	case v.result == resultNotReady:
		msg, notReady, pause = "station needs attention", a.err.Error(), notReadyPause()
		t.failures.clean = 0
	case ticket.IsNotReady(a.err):
		msg, notReady, pause = "station needs attention, ticket in doubt", a.err.Error(), notReadyPause()
	default:
		msg, pause = "ticket in doubt", t.failures.afterDoubt()
	}

	t.next = time.Now().Add(pause)
	w.logFailure(t, msg, lease, a)

	if t.own {
		w.noteOwnFailure(a.err, notReady)
	}
}

// noteSuccess notes that t has printed a ticket.
func (w *worker) noteSuccess(t *target, lease Lease) {
	hadFailed := t.lastError != ""
	t.failures, t.next, t.lastError = failures{}, time.Time{}, ""
	w.lastQueueError = ""

	if !t.own {
		if w.setActiveBackup(t.Name) {
			w.log.Warn("backup prints for this station",
				append(ticketAttrs(lease), "backup", t.Name, "down_since", w.downSince)...)
		}
		return
	}
	if hadFailed {
		w.log.Info("station works again", ticketAttrs(lease)...)
	}

	w.clearActiveBackup()

	w.update(func(s *Status) {
		s.setUp(true)
		s.Err, s.NotReady, s.Attempt = "", "", 0
	})
}

// setActiveBackup notes that a backup has printed a ticket, and says whether it is another one than before.
func (w *worker) setActiveBackup(backup string) (changed bool) {
	w.update(func(s *Status) {
		s.Attempt = 0
		if changed = s.ActiveBackup.Name != backup; changed {
			s.ActiveBackup = ActiveBackup{backup, time.Now()}
		}
	})
	return changed
}

// clearActiveBackup notes that no backup is needed: the own station prints, or it was replaced.
func (w *worker) clearActiveBackup() {
	w.downSince, w.ownRetryAt = time.Time{}, time.Time{}
	w.update(func(s *Status) { s.ActiveBackup = ActiveBackup{} })
}

// noteOwnFailure notes that the own station has just failed. notReady is the text of err if the station reported that
// it cannot print now, else empty.
func (w *worker) noteOwnFailure(err error, notReady string) {
	now := time.Now()
	if w.downSince.IsZero() {
		w.downSince = now
	}

	w.ownRetryAt = now.Add(ownRetryPause())

	w.update(func(s *Status) {
		s.setUp(false)
		s.Err, s.NotReady = err.Error(), notReady
	})
}

// logFailure logs why a ticket did not print, when the reason changes. A ticket in doubt is always
// logged: a person may look for it by its number.
func (w *worker) logFailure(t *target, msg string, lease Lease, a tryResult) {
	key := msg + ": " + a.err.Error()
	if t.lastError == key && !a.begun {
		return
	}

	t.lastError = key
	attrs := append(ticketAttrs(lease), "err", a.err)
	if !t.own {
		attrs = append(attrs, "backup", t.Name)
	}

	if a.stack != nil {
		// Error, not Warn: a panic is a bug in the program and must be reported.
		w.log.Error("station panicked: "+msg, append(attrs, "stack", string(a.stack))...)
		return
	}
	w.log.Warn(msg, attrs...)
}

// dueAt says when a target may be tried; false if it may not, because the own station works.
func (w *worker) dueAt(t *target) (time.Time, bool) {
	switch {
	case t.own && w.backupWorks(): // instead of t.next: while a backup prints, each own try delays a ticket
		return w.ownRetryAt, true
	case t.own:
		return t.next, true
	case w.downSince.IsZero():
		return time.Time{}, false
	default:
		return slices.MaxFunc([]time.Time{t.next, w.downSince.Add(t.After)}, time.Time.Compare), true
	}
}

// backupWorks says whether a backup may print now and did not fail last.
func (w *worker) backupWorks() bool {
	for _, t := range w.targets {
		if !t.own && t.lastError == "" && !w.downSince.IsZero() && time.Since(w.downSince) >= t.After {
			return true
		}
	}
	return false
}

// ready says whether a target may be tried now.
func (w *worker) ready(t *target) bool {
	at, ok := w.dueAt(t)
	return ok && !at.After(time.Now())
}

// untilNextTry is how long no target may be tried.
func (w *worker) untilNextTry() time.Duration {
	var first time.Time
	for i, t := range w.targets {
		if at, ok := w.dueAt(t); ok && (i == 0 || at.Before(first)) {
			first = at
		}
	}

	return time.Until(first)
}

// resetBackoff ends all pauses and starts every backoff again at its shortest: the cycle was ended
// early because a person changed something, and must see the effect at once.
func (w *worker) resetBackoff() {
	for _, t := range w.targets {
		t.failures, t.next = failures{}, time.Time{}
	}
	w.ownRetryAt, w.queueFailures = time.Time{}, 0
}

// excludeIdleTime notes that Take blocked since then, because the queue was empty or a person held the
// station. That time does not count towards a backup's After: no ticket waited for the printer, and a
// person who holds a station does not want its tickets elsewhere. A hold may have begun in the pause before Take, so
// all time since the last attempt is excluded: of a printer that is down since 19:00, was tried last at 19:05 and is
// asked again at 19:30, five minutes count. The next ticket is tried without a pause.
func (w *worker) excludeIdleTime(since time.Time) {
	now := time.Now()
	if now.Sub(since) < idleAfter || w.downSince.IsZero() {
		return
	}

	w.downSince = w.downSince.Add(now.Sub(w.lastAttempt))
	w.lastAttempt = now
	w.resetBackoff()
}

// idleAfter is how long Take must block to count as idle. Reading a ticket from a slow disk takes less.
const idleAfter = time.Second

const (
	longestPause  = 30 * time.Second // a printer that is switched on again prints within this time
	readyInterval = 5 * time.Second  // how often to check whether paper was put in
)

// backoff is the pause after the nth failure in a row, n >= 1: between half and the whole of 2 s, 4 s,
// 8 s … 30 s, so never under 1 s. The random half keeps stations from retrying in step. There is no
// last attempt: the printer may be off for the night, and tickets that are too old in the morning expire.
func backoff(n int) time.Duration {
	whole := min(longestPause, 2*time.Second<<min(max(n-1, 0), 10))
	return whole/2 + rand.N(whole/2+1)
}

// notReadyPause is the pause while the station needs attention: 4 to 6 s. It does not grow, so that
// the cook who has put in paper soon sees that it helped.
func notReadyPause() time.Duration {
	return readyInterval*4/5 + rand.N(readyInterval*2/5+1)
}

// ownRetryPause is the pause of the own station while a backup prints for it, 25 to 30 s. Each try
// costs the ticket in hand up to a connect time-out, so it is rare while tickets come out elsewhere.
func ownRetryPause() time.Duration { return longestPause*5/6 + rand.N(longestPause/6+1) }

// failures counts failures in a row. A ticket that is printed clears them.
type failures struct {
	clean   int // before begin
	doubted int // after it
}

func (f *failures) afterCleanFailure() time.Duration {
	f.clean++
	return backoff(f.clean)
}

// afterDoubt is the pause before the copy that is marked POSSIBLE DUPLICATE. The first one is 0.5 to 1 s: long enough
// for a printer to recover from a reset connection, short for a cook who waits. It grows from then on: a printer that
// breaks off every ticket must not waste a whole queue, two copies each, in a minute.
func (f *failures) afterDoubt() time.Duration {
	f.clean = 0 // the printer could be reached
	f.doubted++
	if f.doubted == 1 {
		return time.Second/2 + rand.N(time.Second/2+1)
	}
	return backoff(f.doubted - 1)
}

// Status is the state of a station by the attempts of its lane.
type Status struct {
	Name  string    `json:"name"`
	Up    bool      `json:"up"`    // the last attempt that says something about the station succeeded
	Known bool      `json:"known"` // there was such an attempt; without one Up means nothing
	Since time.Time `json:"since"` // when Up or Known last changed; wall clock
	// Err is why it is not up, for people.
	Err string `json:"err,omitempty"`
	// NotReady is Err if the station reported that it cannot print now, see [ticket.NotReady]; else empty.
	NotReady string `json:"waiting,omitempty"`
	// Attempt is the number of the attempt in hand, or of the last one that failed while its ticket
	// still waits; 0 if there is neither.
	Attempt int `json:"attempt,omitempty"`
	// NextTry is when the current pause ends; zero if there is none.
	NextTry time.Time `json:"next_try,omitzero"`
	// ActiveBackup is the backup that prints this station's tickets; zero if none does.
	ActiveBackup ActiveBackup `json:"stand_in,omitzero"`
}

// An ActiveBackup is a backup that prints for another station.
type ActiveBackup struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"` // wall clock, of the first ticket it printed
}

// Status returns the status of each lane of the last [Dispatcher.Set], sorted by name.
func (d *Dispatcher) Status() []Status {
	d.mu.Lock()
	defer d.mu.Unlock()

	out := make([]Status, 0, len(d.workers))
	for _, w := range d.workers {
		if w.lane != nil {
			out = append(out, w.status)
		}
	}

	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// update changes the worker's status.
func (w *worker) update(f func(*Status)) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	f(&w.status)
}

func (s *Status) setUp(up bool) {
	if !s.Known || s.Up != up {
		s.Known, s.Up, s.Since = true, up, time.Now()
	}
}
