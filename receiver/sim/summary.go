package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// A Summary is what became of many jobs.
type Summary struct {
	Jobs              int
	States            map[JobState]int
	Statuses          map[int]int // of all attempts that were answered
	Alerts            int         // jobs that alert the venue's admin
	Duplicates        int         // jobs whose order had been sent before
	Retries           int         // attempts beyond the first
	Late              int         // attempts without an answer after 5 s
	BrokenConnections int         // attempts that broke in another way
	Interrupted       int         // jobs that were on their way when the evening ended; they count nowhere else
	Elapsed           time.Duration

	// What the answers say, if any says what is a duplicate (ReportsDuplicates).
	ReportsDuplicates bool
	FalseDuplicates   int // new orders that were taken for duplicates, and so lost
	MissedDuplicates  int // duplicates that were not taken for such, and so put again

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
			continue
		}
		s.took = append(s.took, a.Took)
	}
}

// countDuplicate counts what the answer to a job says about its order having come before.
func (s *Summary) countDuplicate(j Job, duplicate bool) {
	dup, seen := duplicateField(j.Answer)
	s.ReportsDuplicates = s.ReportsDuplicates || seen
	switch {
	case !j.Accepted():
	case duplicate && !dup:
		s.MissedDuplicates++
	case !duplicate && dup && len(j.Attempts) == 1: // later ones are, if an answer got lost
		s.FalseDuplicates++
	}
}

// Accepted says whether all jobs were.
func (s *Summary) Accepted() bool { return s.States[Sent]+s.States[Consumed] == s.Jobs }

// Percentile is the time within which p of 100 attempts were answered (nearest rank). One that
// was not answered in time counts with the time that was waited. It is 0 when there was none.
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

// String is the summary for people, of a few lines.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d jobs in %s", s.Jobs, s.Elapsed.Round(time.Millisecond))
	for _, st := range JobStates() {
		if n := s.States[st]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, st)
		}
	}
	if s.Interrupted > 0 {
		fmt.Fprintf(&b, ", %d broken off by the end", s.Interrupted)
	}
	fmt.Fprintf(&b, "\nretries %d, duplicates %d, alerts %d, broken connections %d", s.Retries, s.Duplicates, s.Alerts, s.BrokenConnections)
	if len(s.took) == 0 {
		b.WriteString("\nno answer came")
		return b.String()
	}
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	fmt.Fprintf(&b, "\nwaited for answers: p50 %s, p99 %s, slowest %s, over %s: %d", round(s.Percentile(50)), round(s.Percentile(99)),
		round(s.Percentile(100)), contract.WebhookTimeout, s.Late)
	return b.String()
}
