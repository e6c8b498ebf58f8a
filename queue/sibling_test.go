package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ticketrail/queue/ticket"
)

func TestSiblingsAreTheJobsOfTheSameRequest(t *testing.T) {
	q := start(t)
	q.accept(order("a", "hot", "bar"))
	q.accept(order("b", "hot", "bar"))
	q.accept(order("c", "bar"))
	q.must(q.begin("bar").Ack(bg, ticket.Confirmed, ""))
	q.wantSiblings("1 hot pending, 2 bar confirmed", 1)
	q.wantSiblings("1 hot pending, 2 bar confirmed", 2)
	q.wantSiblings("3 hot pending, 4 bar pending, 1 hot pending, 2 bar confirmed", 4, 1, 2, 3)
	q.wantSiblings("5 bar pending", 5)
	q.wantSiblings("", 99)
	q.wantSiblings("")
	all, err := q.Siblings(bg, []uint64{2})
	q.must(err)
	s := all[1]
	wantTrue(t, s.FinishedAt != nil && len(s.Ticket.Lines) == 1 && s.Ticket.Lines[0].Name == "Soup", s)
	l := q.take("hot")
	q.wantSiblings("1 hot printing, 2 bar confirmed", 2)
	q.must(l.Hold(bg, "look"))
	q.wantSiblings("1 hot held, 2 bar confirmed", 2)
	q.restart()
	q.wantSiblings("1 hot held, 2 bar confirmed", 2)
}

func TestWhatAChangeHasReplacedIsNoSibling(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "hot", "bar"))
	q.must(errOf(q.Move(bg, []uint64{2}, "wall"))) // job 3
	changed := dinner("a", "2Fish", "hot", "bar")
	q.accept(changed) // jobs 4 and 5
	q.wantSiblings("4 hot pending, 5 bar pending", 1)
	q.wantSiblings("4 hot pending, 5 bar pending", 3, 4)
}

func TestSiblingsAreOfTheSameOrderOfTheRequest(t *testing.T) {
	q := start(t)
	r := order("a", "hot", "bar", "cold", "grill", "wall")
	for i, x := range []struct{ number, table, record string }{
		{"7", "", "r1"}, {"7", "12", "r2"}, {"", "Terrace", "r3"}, {"", "TERRACE", "r4"}, {"8", "Terrace", "r1"},
	} {
		d := &r.Drafts[i].Ticket
		d.Number, d.Table, d.Record = x.number, x.table, x.record
	}
	q.accept(r)
	q.wantSiblings("1 hot pending, 2 bar pending", 2)
	q.wantSiblings("3 cold pending, 4 grill pending", 4)
	q.wantSiblings("5 wall pending", 5)
	q.wantSiblings("1 hot pending, 2 bar pending, 5 wall pending", 1, 5)

	r = order("b", "hot", "bar", "cold", "grill")
	for i, x := range []struct{ number, record string }{{"7", "r1"}, {"", ""}, {"", "r1"}, {"", "r2"}} {
		r.Drafts[i].Ticket.Number, r.Drafts[i].Ticket.Record = x.number, x.record
	}
	q.accept(r)
	q.wantSiblings("6 hot pending, 7 bar pending, 8 cold pending", 6)
	q.wantSiblings("6 hot pending, 7 bar pending, 8 cold pending, 9 grill pending", 7)
	q.wantSiblings("7 bar pending, 8 cold pending, 9 grill pending", 9)
}

func TestATicketIsRepresentedByTheJobThatBringsItNow(t *testing.T) {
	type steps = []func(q *testQueue) error
	move := func(job uint64, to string) func(q *testQueue) error {
		return func(q *testQueue) error { return errOf(q.Move(bg, []uint64{job}, to)) }
	}
	reprint := func(job uint64, to string) func(q *testQueue) error {
		return func(q *testQueue) error { return errOf(q.Reprint(bg, job, ReprintOptions{Station: to})) }
	}
	ack := func(station string, proof ticket.Proof, backup string) func(q *testQueue) error {
		return func(q *testQueue) error { return q.begin(station).Ack(bg, proof, backup) }
	}
	hold := func(station string) func(q *testQueue) error {
		return func(q *testQueue) error { return q.take(station).Hold(bg, "look") }
	}
	fail := func(q *testQueue) error { return q.take("bar").Fail(bg, "look") }
	cancel := func(q *testQueue) error { return q.Cancel(bg, 3, "x") }
	expire := func(q *testQueue) error { return errOf(q.Expire(bg, "bar", -1)) }
	printed, shown := ack("bar", ticket.Confirmed, ""), ack("bar", ticket.Shown, "")
	sent := ack("wall", ticket.Sent, "")
	type represented struct {
		steps steps
		want  string
	}
	each(t, map[string]represented{
		"moved":                       {steps{move(2, "wall"), move(3, "grill")}, "4 bar at grill pending"},
		"moved and cancelled":         {steps{move(2, "wall"), cancel}, "3 bar at wall cancelled"},
		"held and reprinted":          {steps{hold("bar"), reprint(2, "")}, "3 bar pending"},
		"failed, copied to another":   {steps{fail, reprint(2, "wall"), sent}, "3 bar at wall sent"},
		"printed, and again":          {steps{printed, reprint(2, ""), reprint(2, ""), hold("bar")}, "4 bar pending"},
		"printed, its copy cancelled": {steps{printed, reprint(2, ""), cancel}, "2 bar confirmed"},
		"printed by its backup":       {steps{ack("bar", ticket.Processed, "grill")}, "2 bar at grill processed"},
		"the same, and again":         {steps{ack("bar", ticket.Processed, "grill"), reprint(2, "")}, "3 bar pending"},
		"expired":                     {steps{expire}, "2 bar expired"},
		"on a screen and on paper":    {steps{shown, reprint(2, "wall"), hold("wall"), reprint(3, "")}, "2 bar shown"},
		"on a screen, twice":          {steps{shown, reprint(2, "")}, "2 bar shown, 3 bar pending"},
	}, func(_ *testing.T, q *testQueue, c represented) {
		q.SetStations([]string{"hot", "bar", "wall", "grill"})
		q.accept(order("a", "hot", "bar"))
		for _, step := range c.steps {
			q.must(step(q))
		}
		q.wantSiblings("1 hot pending, "+c.want, 1)
	})
}

func TestSiblingsOfAHugeRequestAreReadInPagesAndUpToALimit(t *testing.T) {
	q := start(t)
	q.accept(order("a", slices.Repeat([]string{"bar"}, maxSiblings)...))
	q.accept(order("b", slices.Repeat([]string{"bar"}, maxSiblings+1)...))
	all, err := q.Siblings(bg, []uint64{1, 2, 3, maxSiblings + 1})
	q.must(err)
	wantTrue(t, len(all) == 2*maxSiblings && all[maxSiblings-1].ID == maxSiblings, len(all))
	for i := range all {
		want := i == 2*maxSiblings-1
		wantTrue(t, all[i].RequestHasMore == want, all[i].ID, all[i].RequestHasMore)
	}
}

func TestTicketsAfterAJobAreReadInPagesWithoutDamagedOnes(t *testing.T) {
	q := start(t)
	q.unsound = true
	q.accept(order("a", slices.Repeat([]string{"bar"}, 2*pageSize)...))
	q.overwrite(bucketJobs, key64(5), "rubbish")
	for _, after := range []uint64{0, 3, 2*pageSize - 1, 2 * pageSize} {
		var want, got []uint64
		for job := after + 1; job <= 2*pageSize; job++ {
			if job != 5 {
				want = append(want, job)
			}
		}
		last, err := q.TicketsAfter(bg, after, func(job uint64, _ *ticket.Ticket) { got = append(got, job) })
		q.must(err)
		wantTrue(t, last == 2*pageSize && slices.Equal(got, want), after, len(got), last, len(want))
	}
}

// wantSiblings compares the result of Siblings, each as "1 bar waits", "2 grill at wall confirmed".
func (q *testQueue) wantSiblings(want string, jobs ...uint64) {
	q.t.Helper()
	all, err := q.Siblings(bg, jobs)
	q.must(err)
	var out []string
	for _, s := range all {
		at := ""
		if s.At != s.Routed {
			at = " at " + s.At
		}
		out = append(out, fmt.Sprintf("%d %s%s %s", s.ID, s.Routed, at, s.State))
	}
	wantEqual(q.t, strings.Join(out, ", "), want, jobs)
}
