package queue

import (
	"fmt"
	"math"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

func TestASearchDoesNotDecodeOrders(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	for i := range 100 {
		r := dinner(fmt.Sprint(i), "1Fish 2Pie", "bar")
		r.Drafts[0].Ticket.Notes = []string{`"void":true and "raw":"{}"`}
		q.accept(r)
	}
	q.must(q.view(func(tx *bolt.Tx) error {
		var s search
		if !s.begin(tx, 1) {
			t.Fatal("there is no search")
		}
		n := testing.AllocsPerRun(10, func() {
			again := s
			again.read(tx, math.MaxInt)
		})
		if n > 2000 { // to decode them takes several thousand
			t.Errorf("%.0f allocations for 100 orders", n)
		}
		return nil
	}))
}

func TestACopyNamesWhatThePlannerCouldNotRead(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	q.print("grill")
	r := dinner("a", "2Fish", "grill")
	r.Drafts[0].Unreadable = true
	r.Drafts[0].Ticket.Lines, r.Drafts[0].Ticket.Raw = nil, `{"id":"a","id":"b"}`
	q.accept(r)
	q.wantCopy(1, ReprintOptions{}, "1Fish Later for #142: UNREADABLE at 19:30 (job 2)")
}

func TestOfVeryLongVoidsOnlyTheFirstAreKeptInMemory(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish 1Pie", "grill"))
	long := strings.Repeat("1Egg- ", maxSearchLines/2)
	for i := range 3 {
		q.accept(dinner("a", "1Fish 1Pie "+strings.Repeat(long, i+1), "grill")) // a void of equal length each time
	}
	void := dinner("a", "1Fish- 1Pie", "grill")
	void.Drafts[0].Ticket.Lines = nil
	void.Drafts[0].Ticket.Void = true
	s, err := q.search(bg, 1)
	q.must(err)
	kept := 0
	for _, c := range s.later {
		kept += len(c.Ticket.Lines)
	}
	if kept != maxSearchLines || len(s.later) != 3 {
		t.Errorf("%d lines of %d cancellations are kept, want %d of 3", kept, len(s.later), maxSearchLines)
	}
	now, voided := ticket.Cancel(s.ticket, s.station, s.later)
	if voided != 0 || len(now.Later) != 3 {
		t.Errorf("%d voided, %q", voided, now.Later)
	}
	q.accept(void) // a void of the whole order counts
	for q.job(1).State == ticket.Pending {
		q.print("grill")
	}
	q.wantCopy(1, ReprintOptions{}, "1Fish- 1Pie-")
}

// TestAVoidThatCameTwiceBecauseOfDamageIsOnlyNamed: then every void under its key is enqueued as a new one.
func TestAVoidThatCameTwiceBecauseOfDamageIsOnlyNamed(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "3Fish", "grill"))
	q.accept(dinner("a", "2Fish 1Fish-", "grill"))
	q.accept(dinner("b", "3Pie", "grill")) // job 3
	q.accept(dinner("b", "2Pie 1Pie-", "grill"))
	q.overwriteKey(order("a"), []byte("damaged"))
	q.accept(dinner("a", "3Fish", "grill")) // the first content again, after which nothing is known to be void
	q.accept(dinner("a", "2Fish 1Fish-", "grill"))
	q.print("grill")
	q.wantCopy(1, ReprintOptions{},
		"3Fish Later for #142: VOID at 19:30 (job 2 at grill) Later for #142: VOID at 19:30 (job 5 at grill)")
	q.wantCopy(3, ReprintOptions{}, "2Pie 1Pie-")
	whole := dinner("a", "", "grill")
	whole.Drafts[0].Ticket.Void = true
	q.accept(whole)
	q.wantCopy(1, ReprintOptions{}, "3Fish-")
}
