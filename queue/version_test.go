package queue

import (
	"reflect"
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
	type visit struct {
		before, since func(*testQueue)
		do            func(*testQueue, string) error
		want          error
	}
	each(t, map[string]visit{
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
	}, func(t *testing.T, q *testQueue, c visit) {
		q.accept(order("a", "grill"))
		if c.before != nil {
			c.before(q)
		}
		seen := q.job(1).Version
		if c.since != nil {
			c.since(q)
		}
		before := q.jobs(Filter{})
		wantErr(t, c.do(q, seen), c.want)
		wantEqual(t, reflect.DeepEqual(q.jobs(Filter{}), before), c.want != nil)
	})
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
