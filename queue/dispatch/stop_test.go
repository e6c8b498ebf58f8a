package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/queue/ticket"
)

func TestStopEndsEveryPhase(t *testing.T) {
	for _, c := range []struct {
		name    string
		printer *fakePrinter
		jobs    []string
		after   time.Duration // when Stop is called
		patient time.Duration // how long its context lives
		takes   time.Duration // how long Stop may take
		ends    []string
		paper   []string
		doubts  int
	}{
		{name: "without a ticket", printer: &fakePrinter{}},
		{name: "in a pause", printer: &fakePrinter{always: off}, jobs: []string{"a"}, after: 500 * time.Millisecond,
			patient: time.Hour, ends: []string{"grill a retry"}},
		{name: "waiting for paper", printer: &fakePrinter{always: noPaper}, jobs: []string{"a"}, after: time.Second,
			patient: time.Hour, ends: []string{"grill a return"}},
		{name: "dialling, with patience", printer: &fakePrinter{dial: time.Minute}, jobs: []string{"a", "b"}, after: time.Second,
			patient: time.Hour, takes: time.Minute, ends: []string{"grill a ack"}, paper: []string{"a"}, doubts: 1},
		{name: "dialling, without", printer: &fakePrinter{dial: time.Minute}, jobs: []string{"a", "b"}, after: time.Second,
			patient: 2 * time.Second, takes: 2 * time.Second, ends: []string{"grill a return"}},
		{name: "printing, with patience", printer: &fakePrinter{takes: time.Minute}, jobs: []string{"a", "b"}, after: time.Second,
			patient: time.Hour, takes: time.Minute, ends: []string{"grill a ack"}, paper: []string{"a"}, doubts: 1},
		{name: "printing, without", printer: &fakePrinter{takes: time.Minute}, jobs: []string{"a", "b"}, after: time.Second,
			patient: 2 * time.Second, takes: 2 * time.Second, ends: []string{"grill a return"}, paper: []string{"a"}, doubts: 1},
		{name: "printing a marked reprint, without", printer: &fakePrinter{faults: []fault{cut}, takes: time.Minute}, jobs: []string{"a"},
			after: 90 * time.Second, patient: 0, ends: []string{"grill a retry", "grill a hold"}, paper: []string{"a", "a DUPLICATE"}, doubts: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				p := c.printer
				p.t = t
				k.Set([]Line{{Name: "grill", Station: p}})
				k.q.put("grill", c.jobs...)
				k.pass(c.after)
				ctx, cancel := context.WithTimeout(t.Context(), c.patient)
				defer cancel()
				start := time.Now()
				if err := k.Stop(ctx); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d > c.takes {
					t.Errorf("Stop took %v, want at most %v", d, c.takes)
				}
				k.pass(time.Hour)
				k.wantPaper(p, c.paper...)
				k.wantEnds(c.ends...)
				if len(c.jobs) > 0 {
					if j := k.q.job("a"); j.doubts != c.doubts || j.state == ticket.Printing {
						t.Errorf("%d doubts, %s", j.doubts, j.state)
					}
				}
			})
		})
	}
}

func TestStopMayBeCalledAgainAndWithoutSet(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		for range 3 {
			go k.Stop(t.Context())
			if err := k.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		p := k.printer()
		k.Set([]Line{{Name: "grill", Station: p}})
		k.q.put("grill", "a")
		k.pass(time.Hour)
		k.wantPaper(p)
		if n, err := testutil.GatherAndCount(k.reg); n != 0 || err != nil {
			t.Errorf("Set after Stop made %d series, %v", n, err)
		}
		if err := k.stopNow(); err != nil {
			t.Error(err)
		}
	})
}

func TestASecondStopWithLessPatienceInterrupts(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.takes = time.Hour
		k.Set([]Line{{Name: "grill", Station: p}})
		k.q.put("grill", "a")
		k.pass(time.Second)
		done := make(chan error, 1)
		go func() { done <- k.Stop(context.Background()) }()
		synctest.Wait()
		if err := k.stopNow(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		k.wantEnds("grill a return")
	})
}

func TestTheNextStartMarksWhatAStopInterrupted(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.takes = time.Minute
		k.Set([]Line{{Name: "grill", Station: p}})
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		if err := k.stopNow(); err != nil {
			t.Error(err)
		}
		next := New(Options{Queue: From(k.q)})
		next.Set([]Line{{Name: "grill", Station: p}})
		k.pass(time.Hour)
		k.wantPaper(p, "a", "a DUPLICATE", "b")
		if j := k.q.job("a"); j.attempts != 0 {
			t.Errorf("%d attempts were counted", j.attempts)
		}
		if err := next.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAShutdownCannotLoseASettlement(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		k.q.settling = func(ctx context.Context) error { // a slow disk
			select {
			case <-time.After(4 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		p := k.printer()
		k.Set([]Line{{Name: "grill", Station: p}})
		k.q.put("grill", "a")
		k.pass(time.Second) // it is out and being settled
		start := time.Now()
		if err := k.stopNow(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("Stop took %v", d)
		}
		k.wantEnds("grill a ack")
	})
}

func TestAStorageThatNeverAnswersDelaysAShutdownByABoundedTime(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		k.q.settling = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		k.Set([]Line{{Name: "grill", Station: k.printer()}})
		k.q.put("grill", "a")
		k.pass(time.Hour) // without a shutdown it waits for the storage
		start := time.Now()
		if err := k.stopNow(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != settleWithin {
			t.Errorf("Stop took %v", d)
		}
		if got, last := k.logs.lines(t); len(got) != 1 || last["level"] != "ERROR" || last["err"] != errUnsettled.Error() {
			t.Errorf("logged %q, last %v", got, last)
		}
	})
}

func TestAStationThatIgnoresItsContextDoesNotHangStop(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.deaf = true
		p.takes = time.Hour
		k.Set([]Line{{Name: "grill", Station: p}, {Name: "bar", Station: k.printer()}})
		k.q.put("grill", "a")
		k.pass(time.Second)
		start := time.Now()
		err := k.stopNow()
		if !errors.Is(err, errStuck) || !strings.HasSuffix(err.Error(), ": grill") {
			t.Errorf("Stop returned %v", err)
		}
		if d := time.Since(start); d != letGoWithin {
			t.Errorf("Stop took %v", d)
		}
		k.pass(time.Hour) // it comes back after all, and says what it knows
		k.wantEnds("grill a ack")
	})
}

func TestATicketHandedOverDuringAStopIsGivenBack(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		late := &lateQueue{Queue: From(k.q)}
		d := New(Options{Queue: late})
		d.Set([]Line{{Name: "grill", Station: p}})
		k.pass(time.Second)
		go func() { // a ticket arrives in the very moment
			time.Sleep(time.Second)
			k.q.put("grill", "a")
		}()
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		k.wantPaper(p)
		k.wantEnds("grill a return")
	})
}

// lateQueue is a queue that notices the end of a context only when it has lent a ticket.
type lateQueue struct{ Queue }

func (q *lateQueue) Take(ctx context.Context, station string) (Lease, error) {
	return q.Queue.Take(context.WithoutCancel(ctx), station)
}
