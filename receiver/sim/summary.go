package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// A Summary counts the outcomes of many jobs.
//
// One goroutine at a time may use it.
type Summary struct {
	Jobs       int
	States     map[JobState]int
	Duplicates int // jobs that repeat an order
	Retries    int // attempts beyond the first
	Late       int // attempts without an answer after 5 s
	Elapsed    time.Duration

	// From the field "duplicate" of the answers, if any has it (ReportsDuplicates).
	ReportsDuplicates bool
	FalseDuplicates   int // new orders that were taken for duplicates: lost
	MissedDuplicates  int // duplicates that were taken for new orders: printed twice

	took []time.Duration // of attempts that were answered or timed out
}

// Add counts a job.
func (s *Summary) Add(j Job) {
	if s.States == nil {
		s.States = map[JobState]int{}
	}

	s.Jobs++
	s.States[j.State]++
	s.Retries += len(j.Attempts) - 1

	for _, a := range j.Attempts {
		late := a.TimeOut || a.Took >= contract.WebhookTimeout
		if late {
			s.Late++
		}
		// An attempt that broke off says nothing about how fast answers are.
		if late || a.Status != 0 {
			s.took = append(s.took, a.Took)
		}
	}
}

// countDuplicate compares the field "duplicate" of the answer with the order. Seen
// from outside, a false duplicate is a lost dinner and a missed one is a dinner cooked twice.
func (s *Summary) countDuplicate(j Job, duplicate bool) {
	dup, seen := duplicateField(j.Answer)

	if duplicate {
		s.Duplicates++
	}
	s.ReportsDuplicates = s.ReportsDuplicates || seen

	switch {
	case !j.Accepted():
	case duplicate && !dup:
		s.MissedDuplicates++
	case !duplicate && dup && len(j.Attempts) == 1: // a retry may rightly be called a duplicate
		s.FalseDuplicates++
	}
}

// Accepted says whether all jobs were accepted.
func (s *Summary) Accepted() bool { return s.accepted() == s.Jobs }

func (s *Summary) accepted() int { return s.States[Sent] + s.States[Consumed] }

// Percentile returns the time within which p of 100 attempts were answered, a time that really occurred (nearest
// rank). An attempt without an answer in time counts with the time that the sender waited. Without attempts it is 0.
func (s *Summary) Percentile(p float64) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	slices.Sort(s.took)
	rank := math.Ceil(p / 100 * float64(len(s.took)))
	return s.took[max(int(rank), 1)-1]
}

// answers says how fast the answers came.
func (s *Summary) answers() string {
	round := func(p float64) time.Duration { return s.Percentile(p).Round(10 * time.Microsecond) }
	return fmt.Sprintf("%d retries, %d late, p50 %s, p99 %s, slowest %s", s.Retries, s.Late, round(50), round(99),
		round(100))
}

// String is the summary as text, in two lines.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d jobs in %s, %d duplicates", s.Jobs, s.Elapsed.Round(time.Millisecond), s.Duplicates)

	for _, st := range []JobState{Sent, Consumed, Aborted, Failed} {
		if count := s.States[st]; count > 0 {
			fmt.Fprintf(&b, ", %d %s", count, st)
		}
	}
	return b.String() + "\n" + s.answers()
}
