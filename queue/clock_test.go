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
		if n := len(q.jobs(Filter{})); n != 249 { // 247 wait, one has failed, one is held
			t.Errorf("%d jobs are left", n)
		}
		q.wantCount(bucketRequests, 249)
		q.wantCount(bucketJobs, 249)
		if _, _, _, err := q.Job(bg, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("job 1: %v", err)
		}
		for range 247 {
			q.print("bar")
		}
		time.Sleep(11 * time.Hour)
		synctest.Wait()
		q.wantCount(bucketFinished, 0)
		if jobs := q.jobs(Filter{}); len(jobs) != 2 || jobs[0].State != ticket.Held || jobs[1].State != ticket.Failed {
			t.Errorf("left: %+v", jobs)
		}
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
		if got := q.take("grill").Waited(); got != 30*time.Minute {
			t.Errorf("it waited %s", got)
		}
	}, func(o *Options) { o.Clock = w })
}

func TestTimeOffCountsIfTheClockWasSynchronizedBeforeAndAfter(t *testing.T) {
	evening := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name          string
		before, after bool
		off, late     time.Duration
		want          time.Duration
	}{
		{"right on both sides", true, true, 10 * time.Hour, 0, 10 * time.Hour},
		{"wrong before", false, true, 10 * time.Hour, 0, 0},
		{"wrong after", true, false, 10 * time.Hour, 0, 0},
		{"set back", true, true, -10 * time.Hour, 0, 0},
		{"NTP answers late", true, false, 10 * time.Hour, 30 * time.Minute, 10*time.Hour + 30*time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &fakeClock{now: evening, synchronized: tt.before}
			inBubble(t, func(t *testing.T, q *testQueue) {
				q.accept(order("a", "grill"))
				q.reboot(w, evening.Add(tt.off), tt.after)
				if tt.late > 0 {
					time.Sleep(tt.late)
					w.set(evening.Add(tt.off+tt.late), true)
					time.Sleep(maintenanceEvery)
					w.set(evening.Add(tt.off+tt.late+maintenanceEvery), true)
					synctest.Wait()
					tt.want += maintenanceEvery
				}
				l := q.take("grill")
				if got := l.Waited(); got < tt.want-maintenanceEvery || got > tt.want {
					t.Errorf("it waited %s, want %s", got, tt.want)
				}
				time.Sleep(time.Hour) // and only once
				if got := l.Waited(); got > tt.want+time.Hour {
					t.Errorf("later it waited %s, want %s", got, tt.want+time.Hour)
				}
			}, func(o *Options) { o.Clock = w })
		})
	}
}

// TestAJumpOfTheClockOfMoreThanAMonthOverOneStopCountsAsNothingAndIsSaid: a restaurant may be closed for the whole of
// August. A longer jump is more likely a clock that is wrong.
func TestAJumpOfTheClockOfMoreThanAMonthOverOneStopCountsAsNothingAndIsSaid(t *testing.T) {
	evening := time.Date(2026, 7, 31, 23, 0, 0, 0, time.UTC)
	august := evening.AddDate(0, 1, 0).Sub(evening)
	for off, want := range map[time.Duration]time.Duration{
		august:                                august,
		august + 1:                            0,
		evening.AddDate(0, 2, 0).Sub(evening): 0,
		evening.AddDate(1, 0, 0).Sub(evening): 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			var log queuetest.Log
			w := &fakeClock{now: evening, synchronized: true}
			q := start(t, logTo(&log), func(o *Options) { o.Clock = w })
			defer q.stop()
			q.accept(order("a", "grill"))
			q.reboot(w, evening.Add(off), true)
			if got := q.take("grill").Waited(); got != want {
				t.Errorf("a jump of %s: it waited %s, want %s", off, got, want)
			}
			if want > 0 {
				return
			}
			q.wantDuplicate(order("a", "grill"))
			to := evening.Add(off).Format(time.RFC3339)
			if l := log.String(); strings.Count(l, "level=WARN") != 1 ||
				!strings.Contains(l, "before=2026-07-31T23:00:00Z after="+to) {
				t.Errorf("a jump of %s: logged %s", off, l)
			}
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
		if waited := q.take("grill").Waited(); waited != 10*time.Hour {
			t.Errorf("it waited %s", waited)
		}
	}, func(o *Options) { o.Clock = w })
}

func TestTimeOffDoesNotCountOnAClockThatCannotSayThatItIsRight(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.stop()
		time.Sleep(10 * time.Hour)
		q.open()
		time.Sleep(time.Minute)
		if w := q.take("grill").Waited(); w != time.Minute {
			t.Errorf("it waited %s", w)
		}
	})
}

func TestAnIdleQueueStoresTheRunningTimeEveryHour(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		before := q.disk.commits()
		time.Sleep(10*time.Hour + 5*time.Minute)
		synctest.Wait()
		q.wantCommits(before, 10)
		if w := q.Waiting(); w != 0 {
			t.Errorf("idle, but %s waiting", w)
		}
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
			if q.clock.written != tt.stored {
				t.Errorf("stored after %s, want %s", q.clock.written, tt.stored)
			}
			if n := q.disk.commits() - before; n > 1 {
				t.Errorf("%d commits", n)
			}
		}
		before := q.disk.commits()
		q.wantDuplicate(order("a", "grill"))
		q.wantCommits(before, 0)
		q.restart()
		q.accept(order("d", "grill"))
		if want := 190 * time.Second; q.clock.written != want {
			t.Errorf("after a restart stored after %s, want %s", q.clock.written, want)
		}
	})
}

func TestTheCommitAfterAFailedOneStoresTheRunningTime(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		time.Sleep(2 * time.Minute)
		q.disk.willEnd(fails)
		if err := q.KV("x").Put(bg, "k", nil); !errors.Is(err, ErrStorageFailed) {
			t.Fatalf("err %v", err)
		}
		q.waitForStorage()
		q.must(q.KV("x").Put(bg, "k", nil))
		q.killed()
		if r := q.clock.running(); r < 2*time.Minute {
			t.Errorf("running time is %s", r)
		}
	})
}
