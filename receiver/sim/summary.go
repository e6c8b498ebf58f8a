package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// A Summary counts the outcomes of many jobs.
//
// One goroutine at a time may use it.
type Summary struct {
	Jobs              int
	States            map[JobState]int
	Statuses          map[int]int // attempts that were answered, by status
	Alerts            int         // jobs that alert the venue's admin (401, 403)
	Duplicates        int         // jobs that repeat an order
	Retries           int         // attempts beyond the first
	Late              int         // attempts without an answer after 5 s
	BrokenConnections int         // attempts that failed in another way
	Interrupted       int         // jobs that were running when ctx ended; no other field counts them
	Elapsed           time.Duration

	// From the field "duplicate" of the answers, if any has it (ReportsDuplicates).
	ReportsDuplicates bool
	FalseDuplicates   int // new orders that were taken for duplicates: lost
	MissedDuplicates  int // duplicates that were taken for new orders: printed twice

	took []time.Duration // of attempts that were answered or timed out
}

// Add counts a job.
func (s *Summary) Add(j Job) {
	if s.States == nil {
		s.States, s.Statuses = map[JobState]int{}, map[int]int{}
	}
	s.Jobs++
	s.States[j.State]++
	if j.Alert {
		s.Alerts++
	}
	s.Retries += len(j.Attempts) - 1
	for _, a := range j.Attempts {
		if a.Status != 0 {
			s.Statuses[a.Status]++
		}
		switch {
		case a.TimeOut || a.Took >= contract.WebhookTimeout:
			s.Late++
		case a.Status == 0:
			s.BrokenConnections++
			// An attempt that broke off says nothing about how fast answers are.
			continue
		}
		s.took = append(s.took, a.Took)
	}
}

// countDuplicate compares the field "duplicate" of the answer with what the order is. Seen
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

// Percentile returns the time within which p of 100 attempts were answered (nearest rank). An
// attempt without an answer in time counts with the time that the sender waited. Without attempts
// it is 0. Nearest rank is a time that really occurred.
func (s *Summary) Percentile(p float64) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	slices.Sort(s.took)
	rank := int(p / 100 * float64(len(s.took)))
	if float64(rank) < p/100*float64(len(s.took)) {
		rank++
	}
	return s.took[min(max(rank, 1), len(s.took))-1]
}

// String is the summary as text, in up to three lines.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d jobs in %s", s.Jobs, s.Elapsed.Round(time.Millisecond))
	for _, st := range JobStates() {
		if n := s.States[st]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, st)
		}
	}
	if s.Interrupted > 0 {
		fmt.Fprintf(&b, ", %d interrupted", s.Interrupted)
	}
	fmt.Fprintf(&b, "\nretries %d, duplicates %d, alerts %d, broken connections %d", s.Retries, s.Duplicates,
		s.Alerts, s.BrokenConnections)
	if len(s.took) == 0 {
		b.WriteString("\nno answer came")
		return b.String()
	}
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	fmt.Fprintf(&b, "\nwaited for answers: p50 %s, p99 %s, slowest %s, over %s: %d", round(s.Percentile(50)),
		round(s.Percentile(99)), round(s.Percentile(100)), contract.WebhookTimeout, s.Late)
	return b.String()
}
