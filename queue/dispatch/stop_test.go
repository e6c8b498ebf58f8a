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
		doubt   bool // is left
	}{
		{name: "without a ticket", printer: &fakePrinter{}},
		{name: "in a pause", printer: &fakePrinter{always: off}, jobs: []string{"a"}, after: 500 * time.Millisecond,
			patient: time.Hour, ends: []string{"grill a retry"}},
		{name: "waiting for paper", printer: &fakePrinter{always: noPaper}, jobs: []string{"a"}, after: time.Second,
			patient: time.Hour, ends: []string{"grill a return"}},
		{name: "dialling, with patience", printer: &fakePrinter{dial: time.Minute}, jobs: []string{"a", "b"}, after: time.Second,
			patient: time.Hour, takes: time.Minute, ends: []string{"grill a ack"}, paper: []string{"a"}},
		{name: "dialling, without", printer: &fakePrinter{dial: time.Minute}, jobs: []string{"a", "b"}, after: time.Second,
			patient: 2 * time.Second, takes: 2 * time.Second, ends: []string{"grill a return"}},
		{name: "printing, with patience", printer: &fakePrinter{takes: time.Minute}, jobs: []string{"a", "b"}, after: time.Second,
			patient: time.Hour, takes: time.Minute, ends: []string{"grill a ack"}, paper: []string{"a"}},
		{name: "printing, without", printer: &fakePrinter{takes: time.Minute}, jobs: []string{"a", "b"}, after: time.Second,
			patient: 2 * time.Second, takes: 2 * time.Second, ends: []string{"grill a return"}, paper: []string{"a"}, doubt: true},
		{name: "printing a marked reprint, without", printer: &fakePrinter{faults: []fault{cut}, takes: time.Minute}, jobs: []string{"a"},
			after: 90 * time.Second, patient: 0, ends: []string{"grill a retry", "grill a hold"}, paper: []string{"a", "a DUPLICATE"}, doubt: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				p := c.printer
				p.t = t
				k.Set([]Lane{{Name: "grill", Station: p}})
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
					if j := k.q.job("a"); j.Doubt != c.doubt || j.State == ticket.Printing {
						t.Errorf("in doubt %t, %s", j.Doubt, j.State)
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
		p := k.grill()
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
		p := k.grill()
		p.takes = time.Hour
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
		k.grill()
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
		k.Set([]Lane{{Name: "grill", Station: k.printer()}})
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
		dead := k.printer()
		dead.now(off)
		k.Set([]Lane{{Name: "grill", Station: dead, Backups: []Backup{{"pass", p, 0}}}, {Name: "bar", Station: k.printer()}})
		k.q.put("grill", "a")
		k.pass(time.Second)
		start := time.Now()
		err := k.stopNow() // which names the line that waits, not the backup that is stuck
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
		late := &lateQueue{Queue: k.q}
		d := New(Options{Queue: late})
		d.Set([]Lane{{Name: "grill", Station: p}})
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

func TestStopBeginsNothingOnABackup(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.dial = 10 * time.Second
		grill.now(off)
		l := backed(grill, bar)
		l.Backups[0].After = 0
		k.Set([]Lane{l})
		k.q.put("grill", "a")
		k.pass(time.Second)
		if err := k.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		k.wantPaper(bar)
		k.wantEnds("grill a retry")
	})
}
