package queue

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatAPersonDoesToAJobThatHasChangedSinceIsRefused(t *testing.T) {
	fails := func(q *testQueue) { q.must(q.take("grill").Retry(bg, "cable")) }
	held := func(q *testQueue) { q.must(q.take("grill").Hold(bg, "look")) }
	doubted := func(q *testQueue) {
		l := q.take("grill")
		q.must(l.Begin(bg))
		q.must(l.Retry(bg, "cut"))
	}
	ends := func(q *testQueue) { q.print("grill") }
	copied := func(q *testQueue) { q.must(errOf(q.Reprint(bg, 1, ReprintOptions{Version: q.job(1).Version}))) }
	cancelled := func(q *testQueue) { q.must(q.Cancel(bg, 1, "")) }
	move := func(q *testQueue, v string) error { return errOf(q.Move(bg, []uint64{1}, "bar", v)) }
	cancel := func(q *testQueue, v string) error { return q.Cancel(bg, 1, "gone", v) }
	reprint := func(q *testQueue, v string) error {
		return errOf(q.Reprint(bg, 1, ReprintOptions{Version: v}))
	}
	for name, c := range map[string]struct {
		before, since func(*testQueue)
		do            func(*testQueue, string) error
		want          error
	}{
		"cancel what waits":           {nil, nil, cancel, nil},
		"cancel what was tried since": {nil, fails, cancel, nil},
		"cancel what may be out":      {nil, doubted, cancel, ErrConflict},
		"cancel what is held since":   {nil, held, cancel, ErrConflict},
		"move what waits":             {nil, nil, move, nil},
		"move what may be out":        {nil, doubted, move, ErrConflict},
		"move what is held since":     {nil, held, move, ErrConflict},
		"reprint what is held":        {held, nil, reprint, nil},
		"reprint what is held, twice": {held, copied, reprint, ErrConflict},
		"reprint what is out":         {ends, nil, reprint, nil},
		"reprint what is out, twice":  {ends, copied, reprint, ErrConflict},
		"reprint what was cancelled":  {held, cancelled, reprint, ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := start(t)
				q.accept(order("a", "grill"))
				if c.before != nil {
					c.before(q)
				}
				seen := q.job(1)
				if c.since != nil {
					c.since(q)
				}
				jobs, err := q.Jobs(bg, Filter{})
				q.must(err)
				wantErr(t, c.do(q, seen.Version), c.want)
				after, err := q.Jobs(bg, Filter{})
				if q.must(err); c.want != nil && (len(after) != len(jobs) || after[0].State != jobs[0].State) {
					t.Errorf("it was done all the same: %+v", after)
				}
			})
		})
	}
}

func TestOfSeveralMovedJobsNoneMovesIfOneHasChanged(t *testing.T) {
	q := start(t)
	q.orders(2, "grill")
	q.must(q.take("grill").Hold(bg, "look"))
	two := q.job(2).Version
	wantErr(t, errOf(q.Move(bg, []uint64{2, 1}, "bar", two, two)), ErrConflict)
	err := errOf(q.Move(bg, []uint64{2, 1}, "bar", two))
	wantTrue(t, err != nil, "two jobs are moved with one version")
	wantEqual(t, q.station("bar").Pending, 0)
	q.must(errOf(q.Move(bg, []uint64{2, 1}, "bar", two, q.job(1).Version)))
}

func TestAResumeOfAnOlderHoldIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := start(t)
		q.must(q.HoldStation(bg, "grill", "clean it"))
		first := q.station("grill").Hold.Since
		time.Sleep(time.Minute)
		q.must(q.HoldStation(bg, "grill", "it burns"))
		wantErr(t, q.ResumeStation(bg, "grill", first), ErrConflict)
		q.must(q.ResumeStation(bg, "grill", q.station("grill").Hold.Since))
		wantErr(t, q.ResumeStation(bg, "grill", first), ErrConflict)
		q.must(q.ResumeStation(bg, "grill")) // without a version it is safe to repeat
	})
}
