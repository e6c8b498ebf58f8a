package queue

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestAKeyIsKnownForItsRetentionAndThenForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		for day := range 2 {
			time.Sleep(24 * time.Hour)
			q.restart() // running time continues over restarts
			q.accept(order(id(day), "grill"))
			q.wantDuplicate(order("a", "grill"))
		}
		// New content does not make a key younger: a generation is dropped as a whole.
		q.accept(cancelled(order("a", "grill")))
		q.wantCount(bucketDedup, 3)
		time.Sleep(24*time.Hour + time.Minute)
		synctest.Wait()
		q.wantCount(bucketDedup, 2)
		q.wantNew(order("a", "grill"))
	}, func(o *Options) { o.DedupRetention = 48 * time.Hour })
}

func TestHistoryIsPrunedExceptHeldAndFailedJobs(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for n := range 250 {
			q.accept(order(id(n), "grill", "bar"))
			q.print("grill")
		}
		q.must(q.take("bar").Fail(bg, "no"))
		q.must(q.take("bar").Hold(bg, "look"))
		q.print("bar")
		time.Sleep(10*time.Hour + maintenanceEvery) // more than one transaction removes them, at once
		synctest.Wait()
		wantEqual(t, len(q.jobs(Filter{})), 249) // 247 wait, one has failed, one is held
		q.wantCount(bucketRequests, 249)
		q.wantCount(bucketJobs, 249)
		_, _, _, err := q.Job(bg, 1)
		wantTrue(t, errors.Is(err, ErrNotFound), err)
		for range 247 {
			q.print("bar")
		}
		time.Sleep(11 * time.Hour)
		synctest.Wait()
		q.wantCount(bucketFinished, 0)
		jobs := q.jobs(Filter{})
		wantTrue(t, len(jobs) == 2 && jobs[0].State == ticket.Held && jobs[1].State == ticket.Failed, jobs)
	}, func(o *Options) { o.HistoryRetention = 10 * time.Hour })
}

func TestABoxThatBootsIn1970ForgetsNothingAndExpiresNothing(t *testing.T) {
	w := &fakeClock{now: time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC), synchronized: true}
	inBubble(t, func(t *testing.T, q *testQueue) {
		r := order("a", "grill")
		q.accept(r)
		for _, wall := range []time.Time{
			time.Unix(0, 0), time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(5, 0),
		} {
			q.reboot(w, wall, false)
			time.Sleep(10 * time.Minute)
			q.wantDuplicate(r)
			q.wantExpired("grill", time.Hour, 0)
		}
		wantEqual(t, q.take("grill").Waited(), 30*time.Minute)
	}, func(o *Options) { o.Clock = w })
}

// TestTimeOffCountsIfTheClockWasSynchronizedBeforeAndAfter, up to a month: a restaurant may be closed for the whole of
// August. A longer jump is more likely a clock that is wrong, and is said.
func TestTimeOffCountsIfTheClockWasSynchronizedBeforeAndAfter(t *testing.T) {
	evening := time.Date(2026, 7, 31, 23, 0, 0, 0, time.UTC)
	august := evening.AddDate(0, 1, 0).Sub(evening)
	for name, c := range map[string]struct {
		before, after bool
		off, late     time.Duration
		want          time.Duration
	}{
		"right on both sides": {true, true, 10 * time.Hour, 0, 10 * time.Hour},
		"wrong before":        {false, true, 10 * time.Hour, 0, 0},
		"wrong after":         {true, false, 10 * time.Hour, 0, 0},
		"set back":            {true, true, -10 * time.Hour, 0, 0},
		"NTP answers late":    {true, false, 10 * time.Hour, 30 * time.Minute, 10*time.Hour + 30*time.Minute},
		"a month":             {true, true, august, 0, august},
		"more than a month":   {true, true, august + 1, 0, 0},
		"a year":              {true, true, evening.AddDate(1, 0, 0).Sub(evening), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log queuetest.Log
			w := &fakeClock{now: evening, synchronized: c.before}
			inBubble(t, func(t *testing.T, q *testQueue) {
				q.accept(order("a", "grill"))
				q.reboot(w, evening.Add(c.off), c.after)
				if c.late > 0 {
					time.Sleep(c.late)
					w.set(evening.Add(c.off+c.late), true)
					time.Sleep(maintenanceEvery)
					w.set(evening.Add(c.off+c.late+maintenanceEvery), true)
					synctest.Wait()
					c.want += maintenanceEvery
				}
				l := q.take("grill")
				got := l.Waited()
				wantTrue(t, got >= c.want-min(c.late, maintenanceEvery) && got <= c.want, got, c.want)
				time.Sleep(time.Hour) // and only once
				got = l.Waited()
				wantTrue(t, got <= c.want+time.Hour, got, c.want+time.Hour)
				if c.off < august { // then its key is as old as that
					q.wantDuplicate(order("a", "grill"))
				}
				jump := "before=2026-07-31T23:00:00Z after=" + evening.Add(c.off).Format(time.RFC3339)
				wantEqual(t, strings.Count(log.String(), jump) == 1, c.off > august, &log)
			}, logTo(&log), func(o *Options) { o.Clock = w })
		})
	}
}

func TestTimeOffCountsBeforeTheFirstTicketIsLentAlsoIfTheFirstCommitFails(t *testing.T) {
	w := &fakeClock{now: time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC), synchronized: true}
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.stop()
		w.set(w.now.Add(10*time.Hour), true)
		q.disk.willEnd(fails)
		q.open()
		wantEqual(t, q.take("grill").Waited(), 10*time.Hour)
	}, func(o *Options) { o.Clock = w })
}

func TestTimeOffDoesNotCountOnAClockThatCannotSayThatItIsRight(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.stop()
		time.Sleep(10 * time.Hour)
		q.open()
		time.Sleep(time.Minute)
		wantEqual(t, q.take("grill").Waited(), time.Minute)
	})
}

func TestAnIdleQueueStoresTheRunningTimeEveryHour(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		before := q.disk.commits()
		time.Sleep(10*time.Hour + 5*time.Minute)
		synctest.Wait()
		q.wantCommits(before, 10)
		wantEqual(t, q.Waiting(), 0)
	})
}

func TestTheRunningTimeIsStoredAtMostOnceAMinuteAndOnlyWithAChange(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for _, tt := range []struct {
			after, stored time.Duration
			do            func()
		}{
			{10 * time.Second, 0, func() { q.accept(order("a", "grill")) }},
			{80 * time.Second, 90 * time.Second, func() { q.accept(order("b", "grill")) }},
			{50 * time.Second, 90 * time.Second, func() { q.accept(order("c", "grill")) }},
			{50 * time.Second, 90 * time.Second, func() { q.accept(order("a", "grill")) }}, // a duplicate
		} {
			time.Sleep(tt.after)
			before := q.disk.commits()
			tt.do()
			synctest.Wait()
			wantEqual(t, q.clock.written, tt.stored)
			n := q.disk.commits() - before
			wantTrue(t, n <= 1, n)
		}
		before := q.disk.commits()
		q.wantDuplicate(order("a", "grill"))
		q.wantCommits(before, 0)
		q.restart()
		q.accept(order("d", "grill"))
		want := 190 * time.Second
		wantTrue(t, q.clock.written == want, q.clock.written, want)
	})
}

func TestTheCommitAfterAFailedOneStoresTheRunningTime(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		time.Sleep(2 * time.Minute)
		q.disk.willEnd(fails)
		wantErr(t, q.KV("x").Put(bg, "k", nil), ErrStorageFailed)
		q.waitForStorage()
		q.must(q.KV("x").Put(bg, "k", nil))
		q.killed()
		r := q.clock.running()
		wantTrue(t, r >= 2*time.Minute, r)
	})
}
