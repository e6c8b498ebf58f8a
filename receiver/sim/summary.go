package sim

import (
	"fmt"
	"strings"
	"time"
)

// A Summary counts the outcomes of many jobs.
type Summary struct {
	Jobs            int
	States          map[JobState]int
	Retries         int           // attempts beyond the first
	Late            int           // attempts without an answer after 5 s
	Slowest         time.Duration // of the attempts that were answered or late
	FalseDuplicates int           // new orders whose answers call them duplicates: lost
	Elapsed         time.Duration
}

// add counts a job.
func (s *Summary) add(j Job) {
	s.Jobs++
	s.States[j.State]++
	s.Retries += len(j.Attempts) - 1
	if dup, _ := j.duplicate(); dup && len(j.Attempts) == 1 { // a retry may rightly be called a duplicate
		s.FalseDuplicates++
	}

	for _, a := range j.Attempts {
		if a.isLate() {
			s.Late++
		}
		// An attempt that broke off says nothing about how fast answers are.
		if a.isLate() || a.Status != 0 {
			s.Slowest = max(s.Slowest, a.Took)
		}
	}
}

// Accepted says whether all jobs were accepted.
func (s *Summary) Accepted() bool { return s.accepted() == s.Jobs }

func (s *Summary) accepted() int { return s.States[Sent] + s.States[Consumed] }

// answers says how fast the answers came.
func (s *Summary) answers() string {
	return fmt.Sprintf("%d retries, %d late, slowest %s", s.Retries, s.Late, s.Slowest.Round(10*time.Microsecond))
}

// String is the summary as text, in two lines.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d jobs in %s", s.Jobs, s.Elapsed.Round(time.Millisecond))

	for _, st := range []JobState{Sent, Consumed, Aborted, Failed} {
		if count := s.States[st]; count > 0 {
			fmt.Fprintf(&b, ", %d %s", count, st)
		}
	}
	return b.String() + "\n" + s.answers()
}
