package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// TestAWriteThatFailsLeavesNothingOfItsTransaction: something in the file is not of the kind that a write expects, or
// a value cannot be encoded. All of the transaction is then rolled back, and the next ones work.
func TestAWriteThatFailsLeavesNothingOfItsTransaction(t *testing.T) {
	inTheWay := func(bucket int, key []byte) func(b *batch) error {
		return func(b *batch) error { b.put(b.bucket(bucket), key, []byte("in the way")); return nil }
	}
	remove := func(bucket int, key []byte) func(b *batch) error {
		return func(b *batch) error { b.del(b.bucket(bucket), key); return nil }
	}
	accept := func(q *testQueue) error { return errOf(q.Accept(bg, order("b", "grill", "bar"))) }
	put := func(q *testQueue) error { return q.KV("boards").Put(bg, "k", []byte("v")) }
	type write struct {
		before, after func(b *batch) error
		do            func(q *testQueue) error
	}
	each(t, map[string]write{
		"a bucket of keys": {inTheWay(bucketDedup, key64(generationOf(0))), remove(bucketDedup, key64(generationOf(0))),
			accept},
		"a KV": {inTheWay(bucketKV, []byte("boards")), remove(bucketKV, []byte("boards")), put},
		"a KV of cards": {
			inTheWay(bucketKV, []byte("cards")), remove(bucketKV, []byte("cards")),
			func(q *testQueue) error { return q.printShown() },
		},
		"a ticket": {
			func(b *batch) error {
				b.dirty = true
				return errOf(b.bucket(bucketJobs).CreateBucket(key64(2)))
			},
			func(b *batch) error { b.dirty = true; return b.bucket(bucketJobs).DeleteBucket(key64(2)) },
			func(q *testQueue) error { return errOf(q.Accept(bg, order("b", "grill"))) },
		},
	}, func(t *testing.T, q *testQueue, c write) {
		q.must(q.do(bg, opOnce, 1, func(b *batch) error { b.sequence(bucketJobs); return c.before(b) }))
		before := q.counts()
		q.failCommit(works, func() error { return c.do(q) })
		wantEqual(t, q.counts(), before)
		q.checkMemory()
		q.must(q.do(bg, opOnce, 1, c.after))
		q.must(c.do(q))
	})
}

// TestAHoldAndASlipAfterTheYear9999AreRefused: such a time cannot be stored, and the record of the station, or the
// expired tickets, would be lost with it.
func TestAHoldAndASlipAfterTheYear9999AreRefused(t *testing.T) {
	w := &fakeClock{now: time.Date(12026, 11, 20, 19, 0, 0, 0, time.UTC)}
	inBubble(t, func(t *testing.T, q *testQueue) {
		r := order("a", "grill")
		q.accept(r)
		r.ID, r.Drafts[0].Ticket.Received = "b", w.now
		_, err := q.Accept(bg, r)
		wantTrue(t, err != nil && !errors.Is(err, ErrStorageFailed), err)
		q.failCommit(works, func() error { return q.HoldStation(bg, "grill", "x") })
		q.failCommit(works, func() error { return errOf(q.Expire(bg, "grill", -time.Hour)) })
		w.set(time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC), false)
		q.restart()
		s := q.station("grill")
		wantTrue(t, s.Hold == nil && s.Books.Enqueued == 1, s)
	}, func(o *Options) { o.Clock = w })
}

func TestATransactionHasALimitOfOperationsAndOfBytes(t *testing.T) {
	type load struct{ ops, size, want int }
	each(t, map[string]load{
		"operations":                 {2*512 + 1, 1, 3},
		"bytes":                      {5, 2 << 20, 3},
		"bytes of one are too many":  {3, 4<<20 + 1, 3},
		"as much as there may be":    {512, 8 << 10, 1},
		"as much as there may be, 2": {2, 2 << 20, 1},
		"a byte more than there may": {2, 2<<20 + 1, 2},
	}, func(_ *testing.T, q *testQueue, c load) {
		commit := q.gather()
		before := q.disk.commits()
		for range c.ops {
			go func() {
				_ = q.do(bg, opOnce, c.size, func(b *batch) error { b.dirty = true; return nil })
			}()
		}
		synctest.Wait()
		commit()
		q.wantCommits(before, c.want)
	})
}

func TestAtMost4096RequestsWaitAndTheyWaitForEverythingElse(t *testing.T) {
	in := newInbox()
	for range 4096 {
		must(t, in.put(&op{kind: opAccept}))
	}
	wantErr(t, in.put(&op{kind: opAccept}), ErrBusy)
	must(t, in.put(&op{kind: opBegin}))
	ops, _ := in.nextBatch()
	wantTrue(t, len(ops) == maxBatch && ops[0].kind == opBegin && ops[1].kind == opAccept, len(ops), ops[0].kind)
}

func TestAnAnswerCountsMoreThanAContextThatHasEnded(t *testing.T) {
	q := &Queue{in: newInbox()}
	for range 50 {
		wantErr(t, q.do(answered{bg, q}, opOnce, 1, nil), ErrNotFound)
	}
}

func TestWhatWaitsForTheCommitterShowsHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInbox()
		wantEqual(t, in.waiting(), 0)
		must(t, in.put(&op{kind: opAccept, since: time.Now()}))
		time.Sleep(time.Second)
		must(t, in.put(&op{kind: opOnce, since: time.Now()}))
		time.Sleep(time.Second)
		wantEqual(t, in.waiting(), 2*time.Second)
		in.nextBatch()
		time.Sleep(time.Second)
		must(t, in.put(&op{kind: opOnce, since: time.Now()}))
		wantEqual(t, in.waiting(), 3*time.Second)
	})
}

func TestWhileThereIsNoRoomOnlyDuplicatesAreTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		r := order("a", "grill")
		q.accept(r)
		q.accept(order("b", "grill"))
		q.wantRefused(cancelled(r), ErrBacklogFull)
		q.wantDuplicate(order("b", "grill"))
		q.printAll("grill", "a")
		got := q.accept(cancelled(r))
		wantTrue(t, got.Duplicate && got.Jobs == 1, got)
		q.printAll("grill", "b")
		d := q.print("grill")
		wantTrue(t, d.Ticket.Changed != nil, d)
	}, func(o *Options) { o.MaxBacklog = 2 })
}

func TestARequestThatIsNotStampedIsReceivedNow(t *testing.T) {
	w := &fakeClock{now: time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC)}
	q := start(t, func(o *Options) { o.Clock = w })
	r := order("a", "grill")
	r.Received = time.Time{}
	q.accept(r)
	j := q.job(1)
	wantTrue(t, j.ReceivedAt.Equal(w.now), j)
}

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

func BenchmarkOrder(b *testing.B) {
	for name, routes := range map[string][]plan.Route{"OneStation": {grill}, "AnExpression": {drinks, grill}} {
		b.Run(name, func(b *testing.B) {
			prepare := prepareOrders(b, routes...)
			b.ReportAllocs()
			for b.Loop() {
				prepare()
			}
		})
	}
}

func TestAnOrderIsReadyForTheCommitterAfterAtMost300Allocations(t *testing.T) {
	allocations := testing.AllocsPerRun(100, prepareOrders(t, drinks, grill))
	wantTrue(t, allocations <= 300, allocations)
}

// counts is the number of records in each bucket.
func (q *testQueue) counts() (n [bucketCount]int) {
	for b := range n {
		n[b] = q.count(b)
	}
	return n
}

// answered is a context that ends when it is waited for, after the operation got its answer.
type answered struct {
	context.Context
	q *Queue
}

func (c answered) Done() <-chan struct{} {
	ops, _ := c.q.in.nextBatch()
	ops[0].done <- ErrNotFound
	ended := make(chan struct{})
	close(ended)
	return ended
}

func (answered) Err() error { return context.Canceled }

// prepareOrders returns a function that takes an order of 2.7 kB from the body in memory to the operation that is ready
// for the committer.
func prepareOrders(t testing.TB, routes ...plan.Route) func() {
	body := contract.Example("burger.json")
	p, err := plan.Compile(plan.Config{Fallback: "pass", Routes: routes})
	must(t, err)
	at := plan.Venue{ID: venue, Name: "Harbour Grill", Zone: "Australia/Melbourne"}
	return func() {
		request, err := contract.Open(body, contract.Lenient)
		wantTrue(t, err == nil && !contract.VenueDiffers(request, venue), err)
		planned := p.Split(request, at, "T1", time.Now(), nil).Request
		must(t, errOf(newAcceptOp(&planned)))
	}
}

var (
	drinks = plan.Route{When: `item.courseName == "Drinks"`, To: []string{"bar"}}
	grill  = plan.Route{To: []string{"grill"}}
)
