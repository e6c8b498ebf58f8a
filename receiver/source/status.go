package source

import "time"

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

// Status returns the present state.
func (s *Source) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()

	status := s.status
	if !s.stored.IsZero() {
		status.Oldest = max(1, time.Since(s.stored))
	}
	return status
}

// failed notes why nothing is fetched, or why a is not taken. A new reason is logged.
func (s *Source) failed(err error, a *Arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()

	isNew := s.status.Err == nil || s.status.Err.Error() != err.Error()
	s.status.Err = err
	if a != nil {
		s.status.Failures++
		if isNew {
			s.log.Error("an order of the relay cannot be stored; it is tried again, and the next ones wait",
				"request", a.ID, "err", err)
		}
		return
	}

	s.stored = time.Time{}
	if isNew || s.status.Down.IsZero() {
		s.log.Warn("nothing can be fetched from the relay", "err", err)
	}
	if s.status.Down.IsZero() {
		s.status.Down = time.Now()
	}
}

// reached notes that the relay has answered, with a or without a request, and how many more wait.
func (s *Source) reached(a *Arrival, waiting uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	wasDown := !s.status.Down.IsZero()
	if a == nil || wasDown {
		s.status.Err = nil // otherwise it is why this request was not taken before
	}

	s.status.Down, s.status.Reported, s.stored = time.Time{}, time.Now(), time.Time{}
	if a != nil {
		s.stored = time.Now().Add(-a.Age)
		waiting++
	}
	s.behind(waiting)
	if wasDown {
		s.log.Info("connected to the relay", "behind", s.status.Behind)
	}
}

// took notes that the request at hand has ended.
func (s *Source) took(stored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored {
		s.status.TakenTotal++
		s.status.Taken = time.Now()
	} else {
		s.status.GivenUp++
	}

	s.stored, s.status.Err = time.Time{}, nil
	s.behind(s.status.Behind - 1)
}

func (s *Source) behind(n uint64) {
	s.status.Behind = n
	switch {
	case n == 0:
		s.status.Since = time.Time{}
	case s.status.Since.IsZero():
		s.status.Since = time.Now()
	}
}
