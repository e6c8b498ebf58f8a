package kds

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

// rescued runs f with a screen that showed jobs 1 to 3 (2 is bumped) and has a backup.
func rescued(t *testing.T, shelf *cupboard, f func(t *testing.T, s *Screen, paper *roll)) {
	synctest.Test(t, func(t *testing.T) {
		paper := &roll{}
		s := screen(t, shelf, func(o *ScreenOptions) { o.Backup, o.BackupName = paper, "grill" })
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { s.Watch(ctx) })
		closed := browser(s, "a")
		for job := range uint64(3) {
			if _, err := s.Print(ctx, order(job+1, "Burger"), new(began).begin); err != nil {
				t.Error(err)
			}
		}
		wants(t, s.Board(), press(s.Board(), Bump, 2, 0), Done)
		closed()
		f(t, s, paper)
		cancel()
		watching.Wait()
	})
}

func TestWhatWasShownAndNotBumpedComesOutOfTheBackupWhenNobodyLooks(t *testing.T) {
	rescued(t, newCupboard(), func(t *testing.T, s *Screen, paper *roll) {
		time.Sleep(19 * time.Second)
		paper.came(t)
		closed := browser(s, "a") // just in time
		time.Sleep(time.Minute)
		closed()
		time.Sleep(19 * time.Second)
		paper.came(t)
		time.Sleep(time.Second)
		synctest.Wait()
		paper.came(t, "1 for hot-line (screen down), was shown", "3 for hot-line (screen down), was shown")
		time.Sleep(time.Hour)
		paper.came(t)
		if got := jobs(s.Board()); got != "1 3 |" {
			t.Errorf("board %q", got)
		}
		c, _ := s.Board().Card(1)
		if c.Paper != "grill" || c.PaperAt == 0 {
			t.Errorf("card %+v", c)
		}
	})
}

func TestARescueThatBreaksIsMarkedAndThenLeftToAPerson(t *testing.T) {
	broke := errors.New("connection reset")
	rescued(t, newCupboard(), func(t *testing.T, s *Screen, paper *roll) {
		paper.fails(func(ticket.Delivery) (error, error) { return ticket.NotReady(errors.New("no paper")), nil })
		time.Sleep(time.Minute)
		paper.came(t)
		paper.fails(func(ticket.Delivery) (error, error) { return nil, ticket.Untouched(broke) })
		time.Sleep(time.Minute)
		paper.came(t)
		paper.fails(func(d ticket.Delivery) (error, error) {
			if d.Job == 1 {
				return nil, broke
			}
			return nil, nil
		})
		time.Sleep(time.Minute)
		paper.came(t, "1 for hot-line (screen down), was shown", "1 for hot-line (screen down), was shown, possible duplicate",
			"3 for hot-line (screen down), was shown")
	})
}

func TestARescueGoesOnWhereACrashStoppedIt(t *testing.T) {
	for try := range 10 {
		n, kept := try/2, try%2 == 1 // the write at which the power goes off is on the disk or not
		shelf := newCupboard()
		rescued(t, shelf, func(t *testing.T, s *Screen, paper *roll) {
			shelf.mu.Lock()
			before := shelf.writes
			shelf.fail = func(i int) (bool, bool) { return i > before+n, kept && i == before+n+1 }
			shelf.mu.Unlock()
			time.Sleep(20 * time.Second)
			synctest.Wait()
			paper.mu.Lock()
			out := slices.Clone(paper.out)
			paper.mu.Unlock()
			disk := newCupboard() // that what crashed cannot reach any more
			disk.m = shelf.m
			next := screen(t, disk, func(o *ScreenOptions) { o.Backup, o.BackupName = paper, "grill" })
			ctx, cancel := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			watching.Go(func() { next.Watch(ctx) })
			time.Sleep(time.Minute)
			cancel()
			watching.Wait()
			paper.mu.Lock()
			defer paper.mu.Unlock()
			for _, job := range []string{"1", "3"} {
				unmarked, all := 0, 0
				for _, s := range paper.out {
					if strings.HasPrefix(s, job+" ") {
						if all++; !strings.Contains(s, "duplicate") {
							unmarked++
						}
					}
				}
				if all == 0 || unmarked > 1 {
					t.Errorf("power off at write %d, kept %v (after %q): %q", n+1, kept, out, paper.out)
				}
			}
		})
	}
}

func TestTheStandInTakesTheCardOffTheBoardBeforeItPrints(t *testing.T) {
	rescued(t, newCupboard(), func(t *testing.T, s *Screen, paper *roll) {
		leave := s.Join("deaf")
		if _, err := s.Print(t.Context(), order(4, "Cake"), new(began).begin); err == nil {
			t.Error("shown by a page that says nothing")
		}
		leave()
		d := order(4, "Cake")
		d.Attempt, d.Doubt, d.For, d.Down = 2, true, "hot-line", "printer"
		time.Sleep(21 * time.Second)
		synctest.Wait()
		var b began
		if proof, err := s.StandIn(paper).Print(t.Context(), d, b.begin); proof != ticket.Sent || err != nil || b.times() != 1 {
			t.Errorf("%s, %v", proof, err)
		}
		paper.came(t, "1 for hot-line (screen down), was shown", "3 for hot-line (screen down), was shown",
			"4 for hot-line (screen down), possible duplicate")
		if got := jobs(s.Board()); got != "1 3 | 4 2" {
			t.Errorf("board %q", got)
		}
		if s.StandIn(paper) != s.StandIn(paper) {
			t.Error("a stand-in is not the same over a reload")
		}
	})
}

func TestTheStandInWaitsForWhatIsOlder(t *testing.T) {
	rescued(t, newCupboard(), func(t *testing.T, s *Screen, paper *roll) {
		paper.fails(func(ticket.Delivery) (error, error) { return errors.New("off"), nil })
		time.Sleep(21 * time.Second)
		var b began
		if _, err := s.StandIn(paper).Print(t.Context(), order(4, "Cake"), b.begin); !ticket.IsNotReady(err) || b.times() != 0 {
			t.Errorf("%v, begun %d times", err, b.times())
		}
	})
}

func TestTheStandInPrintsNothingWhileTheCardCannotBeTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf, paper := newCupboard(), &roll{}
		s := screen(t, shelf)
		put(t, s.Board(), order(1, "Burger"))
		shelf.failing = true
		proof, err := s.StandIn(paper).Print(t.Context(), order(1, "Burger"), new(began).begin)
		if got := verdict(proof, err, true); got != "again" || !errors.Is(err, errShelf) {
			t.Errorf("%s: %v", got, err)
		}
		paper.came(t)
	})
}

// watched runs a screen's rescue until what it returns is called.
func watched(t *testing.T, s *Screen) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { s.Watch(ctx) })
	return func() { cancel(); watching.Wait() }
}
