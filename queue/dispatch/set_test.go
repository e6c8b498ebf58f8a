package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestSetDuringAPrintFinishesTheTicketInHandThenUsesTheNewStation(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		before, after := h.printer(), h.printer()
		before.takes = time.Minute
		h.Set([]Lane{{Name: "grill", Station: before}})
		h.q.enqueue("grill", "a", "b")
		h.advance(time.Second)
		start := time.Now()
		h.Set([]Lane{{Name: "grill", Station: after}})
		assert.Equal(t, time.Since(start), 0, "Set blocked")
		h.advance(30 * time.Second)
		h.wantPrinted(after)
		h.advance(time.Minute)
		h.wantPrinted(before, "a")
		h.wantPrinted(after, "b")
		h.wantEnds("grill a ack", "grill b ack")
	})
}

func TestARemovedLaneEndsAfterTheTicketInHand(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.takes = time.Minute
		h.q.enqueue("grill", "a", "b")
		h.advance(time.Second)
		h.Set(nil)
		assert.Equal(t, len(h.Status()), 0, "a removed lane has a status")
		h.advance(time.Hour)
		h.wantPrinted(p, "a")
		h.mu.Lock()
		left := len(h.workers)
		h.mu.Unlock()
		assert.Equal(t, left, 0)
	})
}

func TestAChangedLaneEndsItsPause(t *testing.T) {
	each(t, map[string]time.Duration{
		"in the pause": 0, "in the attempt before it": time.Minute,
	}, func(_ *testing.T, h *harness, dial time.Duration) {
		dead, alive := h.serveGrill(off), h.printer()
		dead.dial = dial
		h.q.enqueue("grill", "a")
		h.advance(dial / 2)
		h.Set([]Lane{{Name: "grill", Station: alive}})
		h.advance(dial / 2)
		h.wantPrinted(alive, "a")
	})
}

func TestAnUnchangedLaneIsNotDisturbed(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p, other := h.failing(off), h.printer()
		l := Lane{Name: "grill", Station: p, ExpireAfter: time.Hour}
		h.Set([]Lane{l})
		h.q.enqueue("grill", "a")
		h.advance(10 * time.Minute)
		next := h.status("grill").NextTry
		n := len(p.attempts())
		h.Set([]Lane{l, {Name: "bar", Station: other}})
		h.advance(0)
		assert.Equal(t, h.status("grill").NextTry, next, "the pause was cut")
		assert.Equal(t, len(p.attempts()), n)
		l.ExpireAfter = 2 * time.Hour
		h.Set([]Lane{l, {Name: "bar", Station: other}})
		h.advance(0)
		assert.Equal(t, len(p.attempts()), n+1, "a changed option was not taken up at once")
	})
}

func TestLanesAreEqualOnlyIfTheirStationsAre(t *testing.T) {
	p, q := &fakePrinter{}, &fakePrinter{}
	named := func(name string, s Station, after time.Duration) Lane {
		return Lane{Name: "grill", Station: p, Backups: []Backup{{name, s, after}}}
	}
	for _, c := range []struct {
		a, b Lane
		want bool
	}{
		{Lane{Station: p}, Lane{Station: p}, true},
		{Lane{Station: p}, Lane{Station: q}, false},
		{Lane{Station: p}, Lane{Station: p, HoldDoubt: true}, false},
		{Lane{Station: p}, Lane{Station: p, ExpireAfter: 1}, false},
		{Lane{Station: p, OnRefusal: []string{"bar"}}, Lane{Station: p}, false},
		{Lane{}, Lane{}, true},
		{Lane{}, Lane{Station: p}, false},
		{grillLane(p, q), grillLane(p, q), true},
		{grillLane(p, q), grillLane(p), false},
		{grillLane(p, q), grillLane(p, p), false},
		{grillLane(p, q), grillLane(p, q, p), false},
		{grillLane(p, q), named("pass", q, backupAfter), false},
		{grillLane(p, q), named("bar", q, time.Minute), false},
		{grillLane(p, q), named("bar", nil, backupAfter), false},
	} {
		assert.True(t, sameLane(c.a, c.b) == c.want && sameLane(c.b, c.a) == c.want, c)
	}
}

func TestAReloadKeepsTheStateOfStationsThatStay(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar, pass := h.failing(off), h.printer(), h.printer()
		h.Set([]Lane{grillLane(grill, bar)})
		h.q.enqueue("grill", "a")
		h.advance(backupAfter + time.Second)
		h.wantPrinted(bar, "a"+forGrill)

		l := grillLane(grill, pass) // another one is called bar now
		h.Set([]Lane{l})
		h.q.enqueue("grill", "b")
		h.advance(0)
		h.wantPrinted(pass, "b"+forGrill)

		h.Set([]Lane{grillLane(h.printer(), pass)}) // the own printer is another: it has not failed yet
		h.advance(0)
		assert.Equal(t, h.status("grill").ActiveBackup, ActiveBackup{}, "it was not tried yet")
	})
}

func TestStopEndsAWorkerInEveryPhase(t *testing.T) {
	const second, minute, hour = time.Second, time.Minute, time.Hour
	type stop struct {
		printer *fakePrinter
		orders  string
		after   time.Duration // when Stop is called
		patient time.Duration // how long its context lives
		takes   time.Duration // how long Stop may take
		ends    string
		paper   string
		doubt   bool // is left
	}
	each(t, map[string]stop{
		"without a ticket":        {&fakePrinter{}, "", 0, 0, 0, "", "", false},
		"in a pause":              {always(off), "a", second / 2, hour, 0, "a retry", "", false},
		"waiting for paper":       {always(noPaper), "a", second, hour, 0, "a return", "", false},
		"dialling, with patience": {&fakePrinter{dial: minute}, "a b", second, hour, minute, "a ack", "a", false},
		"printing, with patience": {&fakePrinter{takes: minute}, "a b", second, hour, minute, "a ack", "a", false},
		"dialling, without": {
			&fakePrinter{dial: minute}, "a b", second, 2 * second, 2 * second, "a return", "", false,
		},
		"printing, without": {
			&fakePrinter{takes: minute}, "a b", second, 2 * second, 2 * second, "a return", "a", true,
		},
		"printing a marked copy, without": {
			&fakePrinter{faults: []fault{cut}, takes: minute}, "a", 90 * second, 0, 0, "a retry, a hold",
			"a, a DUPLICATE", true,
		},
	}, func(t *testing.T, h *harness, c stop) {
		p := c.printer
		p.t = t
		h.Set([]Lane{{Name: "grill", Station: p}})
		h.q.enqueue("grill", strings.Fields(c.orders)...)
		h.advance(c.after)

		ctx, cancel := context.WithTimeout(t.Context(), c.patient)
		defer cancel()
		start := time.Now()
		assert.NoError(t, h.Stop(ctx))
		d := time.Since(start)
		assert.True(t, d <= c.takes, d)
		n, err := testutil.GatherAndCount(h.reg)
		assert.True(t, n > 0 && err == nil, "for the last scrape", n, err)

		h.advance(time.Hour)
		h.wantPrinted(p, list(c.paper)...)
		h.wantEndsAtGrill(c.ends)
		if c.orders != "" {
			j := h.q.job("a")
			assert.True(t, j.Doubt == c.doubt && j.State != ticket.Printing, j)
		}
	})
}

func TestStopMayBeCalledAgainAndWithoutSet(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		for range 3 {
			go h.Stop(t.Context())
			assert.NoError(t, h.Stop(t.Context()))
		}
		p := h.serveGrill()
		h.q.enqueue("grill", "a")
		h.advance(time.Hour)
		h.wantPrinted(p)
		n, err := testutil.GatherAndCount(h.reg)
		assert.True(t, n == 0 && err == nil, n, err)
		assert.NoError(t, h.stopAtOnce())
	})
}

func TestASecondStopWithLessPatienceInterrupts(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.takes = time.Hour
		h.q.enqueue("grill", "a")
		h.advance(time.Second)
		done := make(chan error, 1)
		go func() { done <- h.Stop(context.Background()) }()
		synctest.Wait()
		assert.NoError(t, h.stopAtOnce())
		assert.NoError(t, <-done)
		h.wantEnds("grill a return")
	})
}

func TestAStopWaitsAtMostFiveSecondsForTheStorage(t *testing.T) {
	for _, c := range []struct {
		answers      time.Duration // the storage, after the print
		stop, takes  time.Duration // the stop, after the print; until then the worker waits without limit
		ends, logged string
	}{
		{4 * time.Second, time.Second, 3 * time.Second, "grill a ack", "INFO ticket delivered"},
		{2 * time.Hour, time.Hour, 5 * time.Second, "",
			"ERROR outcome of the ticket could not be stored, it may print again"},
	} {
		inBubble(t, func(t *testing.T, h *harness) {
			h.q.settling = func(ctx context.Context) error {
				select {
				case <-time.After(c.answers):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			h.serveGrill()
			h.q.enqueue("grill", "a")
			h.advance(c.stop)

			start := time.Now()
			assert.NoError(t, h.stopAtOnce())
			assert.Equal(t, time.Since(start), c.takes)
			h.wantEnds(list(c.ends)...)
			got, last := h.logs.entries(t)
			assert.True(t, slices.Equal(got, []string{c.logged}) &&
				(c.ends != "" || last["err"] == errSettleTimeout.Error()), got, last)
		})
	}
}

func TestAStationThatIgnoresItsContextDoesNotBlockStop(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		p.ignoresContext = true
		p.takes = time.Hour
		h.Set([]Lane{{Name: "grill", Station: h.failing(off), Backups: []Backup{{"pass", p, 0}}},
			{Name: "bar", Station: h.printer()}})
		h.q.enqueue("grill", "a")
		h.advance(time.Second)
		start := time.Now()
		err := h.stopAtOnce() // which names the lane, not the backup that is stuck
		assert.True(t, errors.Is(err, errStuck) && strings.HasSuffix(err.Error(), ": grill"), err)
		assert.Equal(t, time.Since(start), LongestStop)
		h.advance(time.Hour) // it comes back after all, and returns its result
		h.wantEnds("grill a ack")
	})
}

func TestATicketTakenDuringAStopIsReturned(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		late := &queueWithoutCancel{Queue: h.q}
		d := New(Options{Queue: late})
		d.Set([]Lane{{Name: "grill", Station: p}})
		h.advance(time.Second)
		go func() { // a ticket arrives in the very moment
			time.Sleep(time.Second)
			h.q.enqueue("grill", "a")
		}()
		assert.NoError(t, d.Stop(t.Context()))
		h.wantPrinted(p)
		h.wantEnds("grill a return")
	})
}

func TestAQueueCallCancelledByStopIsNotLogged(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		d := New(Options{Queue: slowQueue{h.q}, Logger: slog.New(slog.NewJSONHandler(h.logs, nil))})
		grill, bar := Lane{Name: "grill", ExpireAfter: time.Hour}, Lane{Name: "bar"}
		grill.Station, bar.Station = h.printer(), h.printer()
		d.Set([]Lane{grill, bar})
		h.advance(time.Second) // grill is in Expire, bar in Take
		assert.NoError(t, d.Stop(t.Context()))
		got, _ := h.logs.entries(t)
		assert.Equal(t, len(got), 0, got)
	})
}

func TestNoBackupBeginsAfterStop(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar := h.serveWithBackup(off, 0)
		grill.dial = 10 * time.Second
		h.q.enqueue("grill", "a")
		h.advance(time.Second)
		assert.NoError(t, h.Stop(context.Background()))
		h.wantPrinted(bar)
		h.wantEnds("grill a retry")
	})
}

// queueWithoutCancel is a queue that notices the end of a context only when it has lent a ticket.
type queueWithoutCancel struct{ Queue }

func (q *queueWithoutCancel) Take(ctx context.Context, station string) (Lease, error) {
	return q.Queue.Take(context.WithoutCancel(ctx), station)
}

// slowQueue is a queue whose Expire lasts until it is cancelled.
type slowQueue struct{ Queue }

func (slowQueue) Expire(ctx context.Context, _ string, _ time.Duration) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}
