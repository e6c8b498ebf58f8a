package kds

import (
	"maps"
	"sync"
	"time"

	"ticketrail/printer/kds/board"
)

// A page is one browser tab, known by the id it made up for itself. It is live while it answers
// heartbeats; an open connection proves nothing, for a tablet that is switched off or out of range
// keeps one for a long time.
type page struct {
	streams    int
	live       bool
	answeredAt time.Time           // its last answer to a heartbeat, or new stream
	removal    *time.Timer         // runs while it has no stream
	confirmed  map[uint64]struct{} // the jobs whose cards it has confirmed that it holds, since it is live
}

const (
	// maxMissedBeats is how many heartbeats a live page may leave unanswered: two, and half a beat
	// for the answer's way through the network.
	maxMissedBeats = 2.5
	// reconnectGrace is how long a page whose stream broke stays live without one. A reload or a
	// short loss of the wireless network must not make the screen dark.
	reconnectGrace = 3 * time.Second
)

// change changes the pages with f. Only the first live page and the last change the state of the screen:
// from then on it takes tickets, or refuses them and HoldFor runs.
func (s *Screen) change(f func()) {
	s.mu.Lock()
	wasLive := s.darkSince.IsZero()
	f()
	live := s.livePages() > 0
	if live != wasLive {
		if s.darkSince = (time.Time{}); !live {
			s.darkSince = time.Now()
		}
		close(s.pagesChanged)
		s.pagesChanged = make(chan struct{})
	}

	s.mu.Unlock()
	// Without mu: OnLive wakes the dispatcher, which may call Print.
	switch {
	case live && !wasLive:
		s.log.Info("a page of the screen is open")
		if s.o.OnLive != nil {
			s.o.OnLive()
		}
	case wasLive && !live:
		s.log.Warn("no page of the screen is open any more")
	}
}

// livePages counts them. mu is locked.
func (s *Screen) livePages() (n int) {
	for _, p := range s.pages {
		if p.live {
			n++
		}
	}
	return n
}

// live reports whether any page is live.
func (s *Screen) live() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.darkSince.IsZero()
}

// streamOpened notes a stream of a page. The caller must call closed when the stream ends. A page
// has two streams for a moment when it connects anew; only the end of the last one counts.
func (s *Screen) streamOpened(id string) (closed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()

	tab := s.pages[id]
	if tab == nil {
		tab = &page{}
		s.pages[id] = tab
	}

	tab.streams++
	tab.answeredAt = time.Now()
	if tab.removal != nil {
		tab.removal.Stop()
	}

	return sync.OnceFunc(func() {
		s.change(func() {
			if tab.streams--; tab.streams == 0 {
				tab.removal = time.AfterFunc(reconnectGrace, func() { s.removePage(id, false) })
			}
		})
	})
}

// removePage ends a page's liveness, and forgets it once its last stream has ended. atOnce does that while the page
// still has a stream: the page said that it is closed, or may not be shown any more. Otherwise it may have connected
// again.
func (s *Screen) removePage(id string, atOnce bool) {
	s.change(func() {
		tab := s.pages[id]
		if tab == nil || !atOnce && tab.streams > 0 {
			return
		}
		tab.live = false
		if tab.streams == 0 {
			delete(s.pages, id)
		}
	})
}

// pageAnswered notes that a page has answered a heartbeat and holds these cards. fresh says that the page
// was not live before, so it must send all the cards it holds; ok is false for a page without a stream,
// which would not learn of changes and so must not count as live.
func (s *Screen) pageAnswered(id string, jobs []uint64) (fresh, ok bool) {
	s.change(func() {
		tab := s.pages[id]
		if ok = tab != nil && tab.streams > 0; !ok {
			return
		}
		if fresh = !tab.live; fresh {
			tab.live, tab.confirmed = true, map[uint64]struct{}{}
		}
		tab.answeredAt = time.Now()
	})

	s.Confirm(id, jobs)
	return fresh, ok
}

// expirePage ends the liveness of a page that has missed too many heartbeats. It returns how long
// the page has been silent.
func (s *Screen) expirePage(id string) (silent time.Duration) {
	s.change(func() {
		tab := s.pages[id]
		if tab == nil {
			return
		}
		if silent = time.Since(tab.answeredAt); silent > time.Duration(maxMissedBeats*float64(beatInterval)) {
			tab.live = false
		}
	})
	return silent
}

// awaitConfirmation returns a channel that is closed when a live page has confirmed job. The caller must call done
// when it no longer waits. One ticket of a screen is printed at a time, so one channel for each job
// is enough.
func (s *Screen) awaitConfirmation(job uint64) (confirmed <-chan struct{}, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()

	ch := make(chan struct{})
	if s.isConfirmed(job) {
		close(ch)
		return ch, func() {}
	}

	s.waiting[job] = ch
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting[job] == ch {
			delete(s.waiting, job)
		}
	}
}

// isConfirmed reports whether a live page has confirmed job. mu is locked.
func (s *Screen) isConfirmed(job uint64) bool {
	for _, p := range s.pages {
		if _, ok := p.confirmed[job]; ok && p.live {
			return true
		}
	}
	return false
}

// Confirm notes that a page confirms that it holds these cards. It ignores pages that are not live,
// and jobs that the board does not have or that came out elsewhere.
func (s *Screen) Confirm(id string, jobs []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	tab := s.pages[id]
	if tab == nil || !tab.live {
		return
	}

	for _, job := range jobs {
		// The state is read under mu: if the backup takes this card off now, its call of forget waits for mu and then
		// removes the confirmation that is noted here.
		if state, ok := s.o.Board.State(job); !ok || state == board.Elsewhere {
			continue
		}
		tab.confirmed[job] = struct{}{}
		if ch := s.waiting[job]; ch != nil {
			close(ch)
			delete(s.waiting, job)
		}
	}

	// A page that is open for months must not grow: drop jobs that the board no longer has.
	if len(tab.confirmed) > 2*board.MaxKept {
		maps.DeleteFunc(tab.confirmed, func(job uint64, _ struct{}) bool { _, ok := s.o.Board.State(job); return !ok })
	}
}

// forget notes that no page holds a card, because it was taken off the board. If its ticket is
// given again, that is a new card, which a page must confirm anew.
func (s *Screen) forget(job uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pages {
		delete(p.confirmed, job)
	}
}
