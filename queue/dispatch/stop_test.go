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

	"ticketrail/queue/ticket"
)

func TestStopEndsAWorkerInEveryPhase(t *testing.T) {
	for _, c := range []struct {
		name    string
		printer *fakePrinter
		jobs    []string
		after   time.Duration // when Stop is called
		patient time.Duration // how long its context lives
		takes   time.Duration // how long Stop may take
		ends    []string
		paper   []string
		doubt   bool // is left
	}{
		{name: "without a ticket", printer: &fakePrinter{}},
		{name: "in a pause", printer: &fakePrinter{always: off}, jobs: []string{"a"}, after: 500 * time.Millisecond,
			patient: time.Hour, ends: []string{"grill a retry"}},
		{name: "waiting for paper", printer: &fakePrinter{always: noPaper}, jobs: []string{"a"}, after: time.Second,
			patient: time.Hour, ends: []string{"grill a return"}},
		{name: "dialling, with patience", printer: &fakePrinter{dial: time.Minute}, jobs: []string{"a", "b"},
			after:   time.Second,
			patient: time.Hour, takes: time.Minute, ends: []string{"grill a ack"}, paper: []string{"a"}},
		{name: "dialling, without", printer: &fakePrinter{dial: time.Minute}, jobs: []string{"a", "b"},
			after:   time.Second,
			patient: 2 * time.Second, takes: 2 * time.Second, ends: []string{"grill a return"}},
		{name: "printing, with patience", printer: &fakePrinter{takes: time.Minute}, jobs: []string{"a", "b"},
			after:   time.Second,
			patient: time.Hour, takes: time.Minute, ends: []string{"grill a ack"}, paper: []string{"a"}},
		{name: "printing, without", printer: &fakePrinter{takes: time.Minute}, jobs: []string{"a", "b"},
			after:   time.Second,
			patient: 2 * time.Second, takes: 2 * time.Second, ends: []string{"grill a return"}, paper: []string{"a"},
			doubt: true},
		{name: "printing a marked copy, without", printer: &fakePrinter{faults: []fault{cut}, takes: time.Minute},
			jobs:  []string{"a"},
			after: 90 * time.Second, patient: 0, ends: []string{"grill a retry", "grill a hold"},
			paper: []string{"a", "a DUPLICATE"}, doubt: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				p := c.printer
				p.t = t
				h.Set([]Lane{{Name: "grill", Station: p}})
				h.q.enqueue("grill", c.jobs...)
				h.advance(c.after)
				ctx, cancel := context.WithTimeout(t.Context(), c.patient)
				defer cancel()
				start := time.Now()
				must(t, h.Stop(ctx))
				d := time.Since(start)
				wantTrue(t, d <= c.takes, d)
				n, err := testutil.GatherAndCount(h.reg)
				wantTrue(t, n > 0 && err == nil, "for the last scrape", n, err)
				h.advance(time.Hour)
				h.wantPrinted(p, c.paper...)
				h.wantEnds(c.ends...)
				if len(c.jobs) > 0 {
					j := h.q.job("a")
					wantTrue(t, j.Doubt == c.doubt && j.State != ticket.Printing, j)
				}
			})
		})
	}
}

func TestStopMayBeCalledAgainAndWithoutSet(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		for range 3 {
			go h.Stop(t.Context())
			must(t, h.Stop(t.Context()))
		}
		p := h.serveGrill()
		h.q.enqueue("grill", "a")
		h.advance(time.Hour)
		h.wantPrinted(p)
		n, err := testutil.GatherAndCount(h.reg)
		wantTrue(t, n == 0 && err == nil, n, err)
		must(t, h.stopAtOnce())
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
		must(t, h.stopAtOnce())
		must(t, <-done)
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
			must(t, h.stopAtOnce())
			wantEqual(t, time.Since(start), c.takes)
			h.wantEnds(list(c.ends)...)
			if got, last := h.logs.entries(t); !slices.Equal(got, []string{c.logged}) ||
				c.ends == "" && last["err"] != errSettleTimeout.Error() {
				t.Errorf("logged %q, last %v", got, last)
			}
		})
	}
}

func TestAStationThatIgnoresItsContextDoesNotBlockStop(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		p.ignoresContext = true
		p.takes = time.Hour
		dead := h.printer()
		dead.setFault(off)
		h.Set([]Lane{{Name: "grill", Station: dead, Backups: []Backup{{"pass", p, 0}}},
			{Name: "bar", Station: h.printer()}})
		h.q.enqueue("grill", "a")
		h.advance(time.Second)
		start := time.Now()
		err := h.stopAtOnce() // which names the lane, not the backup that is stuck
		wantTrue(t, errors.Is(err, errStuck) && strings.HasSuffix(err.Error(), ": grill"), err)
		wantEqual(t, time.Since(start), LongestStop)
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
		must(t, d.Stop(t.Context()))
		h.wantPrinted(p)
		h.wantEnds("grill a return")
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

func TestAQueueCallCancelledByStopIsNotLogged(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		d := New(Options{Queue: slowQueue{h.q}, Logger: slog.New(slog.NewJSONHandler(h.logs, nil))})
		grill, bar := Lane{Name: "grill", ExpireAfter: time.Hour}, Lane{Name: "bar"}
		grill.Station, bar.Station = h.printer(), h.printer()
		d.Set([]Lane{grill, bar})
		h.advance(time.Second) // grill is in Expire, bar in Take
		must(t, d.Stop(t.Context()))
		got, _ := h.logs.entries(t)
		wantEqual(t, len(got), 0, got)
	})
}

func TestNoBackupBeginsAfterStop(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar := h.printer(), h.printer()
		grill.dial = 10 * time.Second
		grill.setFault(off)
		l := grillLane(grill, bar)
		l.Backups[0].After = 0
		h.Set([]Lane{l})
		h.q.enqueue("grill", "a")
		h.advance(time.Second)
		must(t, h.Stop(context.Background()))
		h.wantPrinted(bar)
		h.wantEnds("grill a retry")
	})
}
