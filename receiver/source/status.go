package source

import (
	"sync"
	"time"
)

// A Status is the state of the connection to the relay, as the box knows it.
type Status struct {
	Behind   uint64        // requests that wait at the relay, as far as is known
	Since    time.Time     // since when Behind has not been 0; zero: it is
	Oldest   time.Duration // how old the request is that cannot be taken, or is being taken; 0: none is
	Taken    time.Time     // when a request was last taken; zero: none since the start
	Reported time.Time     // when the relay last answered, and so heard of the box; zero: not since the start
	Down     time.Time     // since when nothing can be fetched; zero: it can
	Err      error         // why nothing is fetched, or why the request at hand is not taken; nil: all is well

	// How many requests were taken, were not and are tried again, and can never be.
	TakenTotal, Failures, GivenUp int
}

// sourceState is the state of a Source.
type sourceState struct {
	mu     sync.Mutex // guards the fields below
	status Status     // without Oldest
	stored time.Time  // when the request at hand was stored, by the clock of this process; zero: there is none
}

// Status returns the present state.
func (s *sourceState) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()

	status := s.status
	if !s.stored.IsZero() {
		status.Oldest = max(1, time.Since(s.stored))
	}

	return status
}

// failed notes why nothing is fetched, and says whether that is new.
func (s *sourceState) failed(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	isNew := s.status.Down.IsZero() || s.isNew(err)
	s.status.Err, s.stored = err, time.Time{}
	if s.status.Down.IsZero() {
		s.status.Down = time.Now()
	}
	return isNew
}

func (s *sourceState) isNew(err error) bool {
	return s.status.Err == nil || s.status.Err.Error() != err.Error()
}

// reached notes that the relay has answered, with a or without a request, and says whether it did not before.
func (s *sourceState) reached(a *Arrival) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasDown := !s.status.Down.IsZero()
	if a == nil || wasDown {
		s.status.Err = nil // otherwise it is why this request was not taken before
	}

	s.status.Down, s.status.Reported = time.Time{}, time.Now()
	if a == nil {
		s.stored = time.Time{}
		s.behind(0)
		return wasDown
	}

	s.stored = time.Now().Add(-a.Age)
	s.behind(a.behind + 1)
	return wasDown
}

// refusedToTake notes why the request at hand is not taken, and says whether that is new.
func (s *sourceState) refusedToTake(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Failures++
	isNew := s.isNew(err)
	s.status.Err = err
	return isNew
}

// took notes that the request at hand has ended.
func (s *sourceState) took(stored bool, behind uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored {
		s.status.TakenTotal++
		s.status.Taken = time.Now()
	} else {
		s.status.GivenUp++
	}

	s.stored, s.status.Err = time.Time{}, nil
	s.behind(behind)
}

func (s *sourceState) behind(n uint64) {
	s.status.Behind = n
	switch {
	case n == 0:
		s.status.Since = time.Time{}
	case s.status.Since.IsZero():
		s.status.Since = time.Now()
	}
}
