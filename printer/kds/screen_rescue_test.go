package kds

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/kds/board"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

const one, three = "1 for hot-line (screen down), was shown", "3 for hot-line (screen down), was shown"

func TestWhatWasShownAndNotBumpedComesOutOfTheBackupWhenTheScreenIsDark(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
		time.Sleep(19 * time.Second)
		paper.wantPrinted(t)
		closed := openPage(s, "a") // just in time
		time.Sleep(time.Minute)
		closed()
		time.Sleep(19 * time.Second)
		paper.wantPrinted(t)
		time.Sleep(time.Second)
		synctest.Wait()
		paper.wantPrinted(t, one, three)
		time.Sleep(time.Hour)
		closed = openPage(s, "a")
		time.Sleep(time.Minute)
		closed()
		time.Sleep(time.Hour) // dark again
		paper.wantPrinted(t)
		if got := jobs(s.Board()); got != "1 3 |" {
			t.Errorf("board %q", got)
		}
		wantPaper(t, s, map[uint64]string{1: "grill", 3: "grill"})
		if got := k.states(); got != "shown shown shown sent sent" {
			t.Error(got)
		}
	})
}

func TestARescueCopyThatFailsIsMarkedAndThenHeld(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
		paper.fails(func(ticket.Delivery) (error, error) { return ticket.NotReady(errors.New("no paper")), nil })
		time.Sleep(time.Minute)
		paper.wantPrinted(t)
		paper.fails(func(d ticket.Delivery) (error, error) {
			if d.Ticket.Number == "1" {
				return nil, errors.New("connection reset")
			}
			return nil, nil
		})
		time.Sleep(time.Minute)
		paper.wantPrinted(t, one, one+", possible duplicate", three)
		if got := k.states(); got != "shown shown shown held sent" {
			t.Error(got)
		}
		wantPaper(t, s, map[uint64]string{1: "grill", 3: "grill"})
		defer openPage(s, "a")()
		time.Sleep(time.Minute)
		if got := k.states(); got != "shown shown shown held sent" {
			t.Error(got)
		}
	})
}

func TestACopyThatHasNotBegunIsWithdrawnWhenTheScreenIsBackOrTheTicketIsDone(t *testing.T) {
	bump := func(t *testing.T, s *Screen) {
		wantOutcome(t, s.Board(), press(s.Board(), board.Bump, 1), board.Done)
		wantOutcome(t, s.Board(), press(s.Board(), board.Bump, 3), board.Done)
	}
	for name, back := range map[string]func(*testing.T, *Screen){
		"a page is open":                    func(t *testing.T, s *Screen) { t.Cleanup(openPage(s, "b")) },
		"bumped by a page that is not live": bump,
		"bumped, and dark again": func(t *testing.T, s *Screen) {
			closed := openPage(s, "b")
			bump(t, s)
			closed()
		},
	} {
		for how, early := range map[string]error{"waiting in the queue": ticket.NotReady(errors.New("no paper")),
			"lent": nil} {
			t.Run(name+", "+how, func(t *testing.T) {
				withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
					start := time.Now()
					paper.fails(func(ticket.Delivery) (error, error) {
						if time.Since(start) > time.Minute {
							return nil, nil
						}
						if early == nil {
							time.Sleep(time.Until(start.Add(61 * time.Second))) // waiting for the backup
						}
						return early, nil
					})
					time.Sleep(50 * time.Second)
					back(t, s)
					time.Sleep(10 * time.Minute)
					paper.wantPrinted(t)
					wantPaper(t, s, map[uint64]string{})
					if got := k.states(); got != "shown shown shown cancelled cancelled" {
						t.Error(got)
					}
				})
			})
		}
	}
}

func TestWhatIsPrintingWhenTheScreenIsBackIsFinishedAndTheCardSaysSo(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
		paper.setDelay(10 * time.Second)
		time.Sleep(25 * time.Second) // the first has been printing since 20 s
		closed := openPage(s, "b")
		synctest.Wait()
		wantPaper(t, s, map[uint64]string{})
		time.Sleep(time.Minute)
		paper.wantPrinted(t, one)
		wantPaper(t, s, map[uint64]string{1: "grill"})
		closed()
		time.Sleep(time.Minute)
		paper.wantPrinted(t, three)
		wantPaper(t, s, map[uint64]string{1: "grill", 3: "grill"})
		if got := k.states(); got != "shown shown shown sent cancelled sent" {
			t.Error(got)
		}
	})
}

func TestARescueThatFailedIsDoneOnce(t *testing.T) {
	for name, after := range map[string]bool{"failed": false, "failed but persisted": true} {
		t.Run(name, func(t *testing.T) {
			withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
				k.flaky.set(3, after)
				paper.fails(func(ticket.Delivery) (error, error) {
					return ticket.NotReady(errors.New("no paper")), nil
				})
				time.Sleep(time.Minute)
				k.flaky.set(3, after)
				closed := openPage(s, "a")
				time.Sleep(time.Minute)
				if got := k.states(); got != "shown shown shown cancelled cancelled" {
					t.Error(got)
				}
				paper.fails(nil)
				k.flaky.set(3, after)
				closed()
				time.Sleep(time.Minute)
				paper.wantPrinted(t, one, three)
				wantPaper(t, s, map[uint64]string{1: "grill", 3: "grill"})
			})
		})
	}
}

func TestATicketThatEndsAsShownWhileTheScreenIsDarkIsCopiedToo(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
		k.d.Set([]dispatch.Lane{{Name: "hot-line", Station: slowBegin{s, 30 * time.Second}},
			{Name: "grill", Station: paper}})
		closed := openPage(s, "a")
		k.order(1)
		synctest.Wait()
		closed()
		time.Sleep(25 * time.Second)
		paper.wantPrinted(t, one, three)
		time.Sleep(time.Minute)
		paper.wantPrinted(t, "4 for hot-line (screen down), was shown")
	})
}

func TestARescueDoesNoMoreWorkOnceEverythingIsPrinted(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
		time.Sleep(12 * time.Hour)
		paper.wantPrinted(t, one, three)
		k.flaky.mu.Lock()
		defer k.flaky.mu.Unlock()
		if n := k.flaky.calls; n < 2 || n > 5 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestARescueContinuesAfterARestart(t *testing.T) {
	for _, after := range []time.Duration{19, 21, 25, 31, 50} {
		withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
			paper.setDelay(10 * time.Second)
			time.Sleep(after * time.Second)
			k.closeAll() // the ticket that is printing is interrupted, which leaves doubt
			k.start()
			k.newScreen(paper)
			time.Sleep(3 * time.Minute)
			paper.mu.Lock()
			defer paper.mu.Unlock()
			for _, want := range []string{one, three} {
				if n := len(slices.DeleteFunc(slices.Clone(paper.out),
					func(s string) bool { return s != want })); n != 1 {
					t.Errorf("restarted after %d s: %q", after, paper.out)
				}
			}
			if n := len(paper.out); n > 3 { // one may come out twice, marked
				t.Errorf("restarted after %d s: %q", after, paper.out)
			}
			wantPaper(t, k.s, map[uint64]string{1: "grill", 3: "grill"})
		})
	}
}

func TestCopiesStayAtTheBackupWhenTheScreenNoLongerHasOne(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
		paper.fails(func(ticket.Delivery) (error, error) { return ticket.NotReady(errors.New("no paper")), nil })
		time.Sleep(time.Minute)
		k.unwatch()
		o := s.Options()
		o.Backup = ""
		k.watch(NewScreen(o))
		time.Sleep(time.Minute)
		paper.fails(nil)
		time.Sleep(time.Minute)
		paper.wantPrinted(t, one, three)
	})
}

func TestTheBackupTakesTheCardOffTheBoardBeforeItPrints(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
		leave := s.Join("deaf")
		k.order(1)
		time.Sleep(11 * time.Second)
		if got := jobs(s.Board()); got != "1 3 4 | 2" {
			t.Errorf("board %q", got)
		}
		leave()
		time.Sleep(time.Minute)
		paper.wantPrinted(t, one, three, "4 for hot-line (screen down), possible duplicate")
		if got := jobs(s.Board()); got != "1 3 | 4 2" {
			t.Errorf("board %q", got)
		}
		if s.WrapBackup(paper) != s.WrapBackup(paper) {
			t.Error("a stand-in is not the same over a reload")
		}
	})
}

func TestTheBackupWaitsForOlderTicketsButNotForHeldOnes(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter) {
		stop := errors.New("off")
		paper.fails(func(d ticket.Delivery) (error, error) {
			if d.Ticket.Number == "1" {
				return stop, nil
			}
			return nil, nil
		})
		k.order(1)
		time.Sleep(5 * time.Minute)
		paper.wantPrinted(t)
		if err := k.q.HoldStation(t.Context(), "grill", "closed"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		paper.wantPrinted(t, "4 for hot-line (screen down)")
		if err := k.q.ResumeStation(t.Context(), "grill"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * rescueInterval)
		k.order(1)
		time.Sleep(time.Minute)
		paper.wantPrinted(t)
		paper.fails(nil)
		time.Sleep(time.Minute)
		paper.wantPrinted(t, one, three, "5 for hot-line (screen down)")
	})
}

func TestTheBackupPrintsNothingWhileTheCardCannotBeTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, paper := queuetest.NewStore(), &fakePrinter{}
		s := newTestScreen(t, store)
		put(t, s.Board(), order(1, "Burger"))
		store.Inject(queuetest.Failed)
		proof, err := s.WrapBackup(paper).Print(t.Context(), order(1, "Burger"), new(beginCounter).begin)
		if !ticket.IsUntouched(err) || !errors.Is(err, queuetest.ErrStorage) {
			t.Errorf("%s, %v", proof, err)
		}
		paper.wantPrinted(t)
	})
}

func TestATicketThatWasRefusedElsewhereSaysSoOnTheScreenAndAtItsBackup(t *testing.T) {
	store, paper := queuetest.NewStore(), &fakePrinter{}
	s := newTestScreen(t, store)
	d := order(1, "Burger")
	d.For, d.RefusedBy = "fresh", []string{"fresh", "wall"}
	put(t, s.Board(), d)
	for _, b := range []*board.Board{s.Board(), open(t, store)} {
		if c := card(b, 1); !slices.Equal(c.RefusedBy, d.RefusedBy) || c.Down != "" {
			t.Errorf("%+v", c)
		}
	}
	if _, err := s.WrapBackup(paper).Print(t.Context(), d, new(beginCounter).begin); err != nil {
		t.Fatal(err)
	}
	paper.wantPrinted(t, "1 for fresh ( down)")
}

// A slowBegin is a screen that confirms late that it shows a ticket.
type slowBegin struct {
	*Screen
	by time.Duration
}

func (l slowBegin) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	defer time.Sleep(l.by)
	return l.Screen.Print(ctx, d, begin)
}
