package sim

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"ticketrail/receiver/contract"
)

// repeatRows are section 6.4: the same order more than once. Whether the endpoint printed it only
// once can be seen only if its answers have a field "duplicate".
//
// The service repeats a request whenever it has no answer within 5 s, so on a bad network repeats
// are common.
func repeatRows() []row {
	const want = "200 or 202 each; new only once, if the answers say"
	return []row{
		{"6.4", "the same request twice", want, func(c *checker) (string, bool) {
			p := c.postOf(c.newOrder())
			return judgeRepeats(c.send(p), c.send(p))
		}},
		{"6.4", "retries: a higher retryCount, another timestamp", want, func(c *checker) (string, bool) {
			o := c.newOrder()
			var all []reply
			for n := range contract.WebhookRetries + 1 {
				p := c.postOf(o)
				// The body differs from the first in bytes, so it must be recognised by its id.
				p.body = o.Body(n)
				all = append(all, c.send(p))
			}
			return judgeRepeats(all...)
		}},
		{"6.4", "the same request eight times at once", want, func(c *checker) (string, bool) {
			p := c.postOf(c.newOrder())
			// At once, because an endpoint that looks the id up and stores it later accepts all of
			// them as new.
			all := make([]reply, 8)
			var wg sync.WaitGroup
			for i := range all {
				wg.Go(func() { all[i] = c.send(p) })
			}
			wg.Wait()
			return judgeRepeats(all...)
		}},
		{
			"6.4",
			"retries after hanging up before the answer",
			"200 or 202 each; the last a duplicate, if the answers say",
			func(c *checker) (string, bool) {
				o := c.newOrder()
				p := c.postOf(o)
				// What the service does after 5 s: the endpoint may have stored the order, but its
				// answer was lost.
				c.sendAndHangUp(p)
				p.body = o.Body(1)
				second := c.send(p)
				p.body = o.Body(2)
				third := c.send(p)
				dup, seen := third.duplicate()
				return second.String() + "; " + third.String(), second.accepted() && third.accepted() && (dup || !seen)
			},
		},
		// The opposite mistake: recognising an order by its content. Two guests may order the same.
		{"6.4", "the same dishes under another id", "200 or 202, not as a duplicate", func(c *checker) (string, bool) {
			o := c.newOrder()
			c.send(c.postOf(o))
			return c.sendNew(c.postOf(o.WithID(c.newOrder().ID)))
		}},
	}
}

// judgeRepeats judges the answers to the same order sent several times. Each must accept it. If any
// answer has the field "duplicate", all but one must have the value true. An endpoint may leave the
// field out of the answer to the first. More than one new answer means a dinner cooked twice, none
// means one that is lost.
func judgeRepeats(all ...reply) (string, bool) {
	var words []string
	ok, said, first := true, 0, len(all)
	for _, r := range all {
		if s := r.String(); len(words) == 0 || words[len(words)-1] != s {
			words = append(words, s)
		}
		ok = ok && r.accepted()
		if dup, seen := r.duplicate(); seen {
			said++
			if dup {
				first--
			}
		}
	}
	if said == 0 {
		words = append(words, "the answers do not say which is a duplicate")
	}
	return strings.Join(words, "; "), ok && (said == 0 || first == 1)
}

// recordSummary is record for all jobs of a summary.
func (c *checker) recordSummary(sum *Summary) {
	for status := range sum.Statuses {
		c.record(reply{status: status}, 0, true)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, sum.Percentile(100))
	c.late += sum.Late
}

// totalRows are about many requests: the load test, and then all requests of this run.
func totalRows(o CheckOptions) []row {
	return []row{
		{
			"6.1",
			fmt.Sprintf("%d orders, %d at a time", o.Load, o.Concurrency),
			"all accepted, each new only once, each answer within " + contract.WebhookTimeout.String(),
			func(c *checker) (string, bool) {
				s := Sender{URL: o.URL, Transport: c.o.Transport, Backoff: o.Backoff}
				sum := s.Run(c.ctx,
					Load{Next: c.newOrder, Count: o.Load, Concurrency: o.Concurrency, Duplicates: 0.1, Seed: o.Seed})
				c.recordSummary(sum)
				round := func(p float64) time.Duration { return sum.Percentile(p).Round(10 * time.Microsecond) }
				got := fmt.Sprintf("%d of %d accepted, %d late, %d retries, p50 %s, p99 %s, slowest %s",
					sum.States[Sent]+sum.States[Consumed], sum.Jobs, sum.Late, sum.Retries, round(50), round(99),
					round(100))
				if sum.ReportsDuplicates {
					got += fmt.Sprintf(", %d new ones taken for duplicates, %d of %d duplicates taken for new",
						sum.FalseDuplicates, sum.MissedDuplicates, sum.Duplicates)
				}
				return got, sum.Accepted() && sum.Late == 0 &&
					(!sum.ReportsDuplicates || sum.FalseDuplicates+sum.MissedDuplicates == 0)
			},
		},
		{
			"6.3",
			"all of the above: the status",
			"only 200, 202, 400, 401, 403, 500, 502, 503, 504",
			func(c *checker) (string, bool) {
				switch {
				case c.replies == 0:
					return "no answer came", false
				case len(c.unknownStatuses) == 0:
					return "only these", true
				}
				return "also " + strings.ReplaceAll(strings.Trim(fmt.Sprint(c.unknownStatuses), "[]"), " ", ", "), false
			},
		},
		{
			"6.1",
			"all of the above: the time",
			"each answer within " + contract.WebhookTimeout.String(),
			func(c *checker) (string, bool) {
				if c.replies == 0 {
					return "no answer came", false
				}
				return fmt.Sprintf("slowest %s, %d late", c.slowest.Round(10*time.Microsecond), c.late), c.late == 0
			},
		},
	}
}
