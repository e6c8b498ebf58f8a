package queue

import (
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// TestAnOperationSaysAboutHowManyBytesItWrites: its estimate bounds the transaction that it is in.
func TestAnOperationSaysAboutHowManyBytesItWrites(t *testing.T) {
	const change, copied = 512, 4 << 10
	r := order("b", "grill", "bar")
	tickets := 0
	for _, d := range r.Drafts {
		j, err := ticket.Marshal(d.Ticket)
		must(t, err)
		tickets += 4 + len(j)
	}
	type writes struct {
		do   func(q *testQueue) error
		want int
	}
	each(t, map[string]writes{
		"accept": {
			func(q *testQueue) error { return errOf(q.Accept(bg, r)) },
			len(encodeBody(&r)) + tickets + 2*change,
		},
		"move two": {func(q *testQueue) error { return errOf(q.Move(bg, []uint64{1, 2}, "bar")) }, 2 * copied},
		"move all": {func(q *testQueue) error { return errOf(q.MoveAll(bg, "grill", "bar")) }, 2 * copied},
		"reprint":  {func(q *testQueue) error { return errOf(q.Reprint(bg, 3, ReprintOptions{})) }, copied},
		"shown":    {func(q *testQueue) error { return q.printShown() }, copied + len("card"+"on paper")},
		"cancel":   {func(q *testQueue) error { return q.Cancel(bg, 1, "guest left") }, change},
		"hold":     {func(q *testQueue) error { return q.HoldStation(bg, "grill", "closed") }, change},
		"expire":   {func(q *testQueue) error { return errOf(q.Expire(bg, "grill", -1)) }, 64 << 10},
		"put":      {func(q *testQueue) error { return q.KV("x").Put(bg, "key", make([]byte, 1000)) }, 3 + 1000},
		"delete":   {func(q *testQueue) error { return q.KV("x").Delete(bg, "key") }, 3},
	}, func(t *testing.T, q *testQueue, c writes) {
		q.orders(2, "grill")
		q.accept(order("printed", "bar"))
		q.print("bar")
		commit := q.gather()
		go func() { q.must(c.do(q)) }()
		synctest.Wait()
		q.in.mu.Lock()
		waiting := append(append([]*op{}, q.in.urgent...), q.in.accepts...)
		q.in.mu.Unlock()
		wantTrue(t, len(waiting) == 1 && waiting[0].size == c.want, waiting, c.want)
		commit()
	})
}

func TestARequestAboveTheLimitOfWhatWaitsIsTakenIfItIsAlone(t *testing.T) {
	const limit = 64 << 20
	in := newInbox()
	must(t, in.put(&op{kind: opAccept, size: limit + 1}))
	wantErr(t, in.put(&op{kind: opAccept, size: 1}), ErrBusy)
	ops, _ := in.nextBatch()
	wantTrue(t, len(ops) == 1, len(ops))
	for range 2 {
		must(t, in.put(&op{kind: opAccept, size: limit / 2}))
	}
	wantErr(t, in.put(&op{kind: opAccept, size: 1}), ErrBusy)
}

func TestPagesOfKeysThatOnlyGrowAreNearlyFull(t *testing.T) {
	q := start(t)
	q.unsound = true
	grows := []int{bucketRequests, bucketReqJobs, bucketJobs, bucketState, bucketWaiting, bucketFinished}
	q.must(q.do(bg, opOnce, 1, func(b *batch) error {
		for _, n := range grows {
			for i := range uint64(1000) {
				b.put(b.bucket(n), key64(1<<63+i), make([]byte, 100))
			}
		}
		return nil
	}))
	q.must(q.view(func(tx *bolt.Tx) error {
		for _, n := range grows {
			s := tx.Bucket(bucketNames[n]).Stats()
			fill := float64(s.LeafInuse) / float64(s.LeafAlloc)
			wantTrue(t, fill >= 0.8, bucketNames[n], fill)
		}
		return nil
	}))
}

func TestANumberIsNotGivenOutTwiceAlsoIfNothingElseIsWritten(t *testing.T) {
	q := start(t)
	q.must(q.do(bg, opOnce, 1, func(b *batch) error { b.sequence(bucketJobs); return nil }))
	q.accept(order("a", "grill"))
	q.wantState(2, ticket.Pending)
}

func TestTheFirstOfALaneLeavesItWithoutAMoveOfTheOthers(t *testing.T) {
	l := newLane("grill")
	for pos := range uint64(3) {
		l.place(0, &jobState{Pos: pos})
	}
	second := &l.jobs[1]
	l.remove(0)
	wantTrue(t, &l.jobs[0] == second, "those behind it were moved")
}

func TestATransactionPrunesAtMostThirtyJobsThatAreOldEnough(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.orders(31, "grill")
		for range 31 {
			q.print("grill")
		}
		time.Sleep(10 * time.Hour)
		prune := func(retention time.Duration, want int, wantMore bool) {
			t.Helper()
			q.must(q.do(bg, opOnce, 1, func(b *batch) error {
				wantEqual(t, b.prune(retention), wantMore)
				return nil
			}))
			q.wantCount(bucketFinished, want)
		}
		prune(10*time.Hour+1, 31, false)
		prune(10*time.Hour, 1, true)
		prune(10*time.Hour, 0, false)
	})
}
