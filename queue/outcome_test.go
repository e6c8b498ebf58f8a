package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestWhatBecomesOfEachTicketIsKeptInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("before", "pass")) // outcomes are not kept yet
		q.KeepOutcomes(true)
		q.SetStations([]string{"grill", "bar", "pass"})
		q.accept(order("a", "grill", "bar"))
		q.must(q.begin("grill").Ack(bg, ticket.Confirmed, ""))
		q.must(q.begin("bar").Hold(bg, "look"))
		q.must(q.Cancel(bg, 3, "nobody cooks it"))
		q.accept(order("b", "grill", "grill"))
		q.must(q.begin("grill").Fail(bg, "no"))
		q.must(errOf(q.Move(bg, []uint64{5}, "bar")))
		q.accept(order("a", "grill", "bar")) // a duplicate
		q.must(q.take("bar").Retry(bg, "off"))
		time.Sleep(time.Hour)
		q.wantExpired("bar", time.Minute, 1)
		const want = "2 accepted, 3 accepted, 2 confirmed, 3 held, 3 cancelled, 4 accepted, 5 accepted, 4 failed, " +
			"6 accepted, 5 moved, 6 expired, 7 accepted"
		q.wantOutcomes(want)
		all, err := q.Outcomes(1000)
		q.must(err)
		held := all[3]
		wantTrue(t, held.Reason == "look" && held.Station == "bar" && held.Doubt && !held.At.IsZero(), held)
		q.restart()
		q.wantOutcomes(want)
		q.must(q.ForgetOutcomes(bg, all[9].Seq))
		q.wantOutcomes("6 expired, 7 accepted")
		q.restart()
		q.KeepOutcomes(false)
		q.accept(order("c", "grill"))
		q.must(q.ForgetOutcomes(bg, all[11].Seq))
		q.must(q.ForgetOutcomes(bg, all[11].Seq))
		q.wantOutcomes("")
		q.KeepOutcomes(true)
		q.accept(order("d", "pass"))
		all, err = q.Outcomes(1)
		wantTrue(t, err == nil && len(all) == 1 && all[0].Seq == 13, all, err)
	})
}

func TestOutcomesThatNobodyTakesAreKeptAsLongAsTheHistory(t *testing.T) {
	var log queuetest.Log
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.KeepOutcomes(true)
		for i := range 250 {
			q.accept(order(id(i), "grill"))
		}
		time.Sleep(71 * time.Hour)
		q.accept(order("late", "grill"))
		n, err := q.OutcomesKept()
		wantTrue(t, n == 251 && err == nil, n, err)
		time.Sleep(2 * time.Hour)
		q.wantOutcomes("251 accepted")
	}, logTo(&log))
	wantLogged(t, &log, "outcomes that nobody has taken were removed")
}

// outcomes are those that are kept, each as "job what".
func (q *testQueue) outcomes() string {
	q.t.Helper()
	all, err := q.Outcomes(1000)
	q.must(err)
	var out []string
	for i, o := range all {
		wantTrue(q.t, i == 0 || o.Seq == all[i-1].Seq+1, i, all)
		out = append(out, fmt.Sprint(o.Job, " ", o.What))
	}
	n, err := q.OutcomesKept()
	wantTrue(q.t, err == nil && n == uint64(len(all)), n, len(all), err)
	return strings.Join(out, ", ")
}
