package kds

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

func TestPaperThatWasWaitedForIsNotPrintedOnceTheScreenIsBackOrTheTicketDone(t *testing.T) {
	for name, back := range map[string]func(*testing.T, *Screen){
		"bumped, and dark again": func(t *testing.T, s *Screen) {
			closed := browser(s, "b")
			wants(t, s.Board(), press(s.Board(), Bump, 1, 0), Done)
			wants(t, s.Board(), press(s.Board(), Bump, 3, 0), Done)
			closed()
		},
		"bumped by a page that is not live": func(t *testing.T, s *Screen) {
			wants(t, s.Board(), press(s.Board(), Bump, 1, 0), Done)
			wants(t, s.Board(), press(s.Board(), Bump, 3, 0), Done)
		},
		"a page is open": func(t *testing.T, s *Screen) { t.Cleanup(browser(s, "b")) },
	} {
		t.Run(name, func(t *testing.T) {
			rescued(t, newCupboard(), func(t *testing.T, s *Screen, paper *roll) {
				paper.fails(func(ticket.Delivery) (error, error) { time.Sleep(time.Minute); return nil, nil }) // it waits for paper
				time.Sleep(50 * time.Second)
				back(t, s)
				time.Sleep(10 * time.Minute)
				paper.came(t)
				for _, job := range []uint64{1, 3} {
					if r := s.Board().get(job).rec; r.PaperTries != 0 || r.Paper != "" {
						t.Errorf("card %d says that it was on paper: %+v", job, r)
					}
				}
			})
		})
	}
}

func TestABumpThatCrossesTheRescueIsToldOfThePaperAndThenDone(t *testing.T) {
	rescued(t, newCupboard(), func(t *testing.T, s *Screen, paper *roll) {
		late := press(s.Board(), Bump, 1, 0) // before the paper came out, by a page that could not be heard
		time.Sleep(21 * time.Second)
		synctest.Wait()
		paper.came(t, "1 for hot-line (screen down), was shown", "3 for hot-line (screen down), was shown")
		wants(t, s.Board(), late, Conflict)
		if c, _ := s.Board().Card(1); c.State != Open || c.Paper != "grill" {
			t.Errorf("card %+v", c)
		}
		wants(t, s.Board(), press(s.Board(), Bump, 1, 0), Done)
		wants(t, s.Board(), press(s.Board(), Recall, 1, 0), Done)
		time.Sleep(time.Hour)
		paper.came(t)
		if c, _ := s.Board().Card(1); c.Paper != "grill" {
			t.Errorf("a card that was fetched back does not say that it is on paper: %+v", c)
		}
	})
}

func TestALateWordForACardThatWasTakenOffIsNoProofForItsNextLife(t *testing.T) {
	for name, say := range map[string]func(s *Screen, withdraw func()){
		"before it was taken off": func(s *Screen, withdraw func()) { s.Shown("slow", []uint64{1}); withdraw() },
		"after":                   func(s *Screen, withdraw func()) { withdraw(); s.Shown("slow", []uint64{1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, paper := screen(t, newCupboard()), &roll{}
				defer s.Join("slow")()
				if _, err := s.Print(t.Context(), order(1, "Burger"), new(began).begin); err == nil {
					t.Fatal("shown by a page that says nothing")
				}
				say(s, func() {
					paper.fails(func(ticket.Delivery) (error, error) { return nil, errors.New("connection reset") })
					if _, err := s.StandIn(paper).Print(t.Context(), order(1, "Burger"), new(began).begin); err == nil {
						t.Error("the paper came out")
					}
				})
				time.AfterFunc(3*time.Second, func() { s.Shown("slow", []uint64{1}) })
				start := time.Now()
				d := order(1, "Burger")
				d.Attempt, d.Doubt = 3, true
				proof, err := s.Print(t.Context(), d, new(began).begin)
				if proof != ticket.Shown || err != nil || time.Since(start) != 3*time.Second {
					t.Errorf("%s, %v, after %v: the page said so after 3 s", proof, err, time.Since(start))
				}
				if c, _ := s.Board().Card(1); !c.Duplicate {
					t.Error("it may be on paper and is not marked")
				}
			})
		})
	}
}

func TestATicketThatCameOutElsewhereIsMarkedWhenACookFetchesItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newCupboard()
		s := screen(t, shelf)
		put(t, s.Board(), order(1, "Burger"))
		if _, err := s.StandIn(&roll{}).Print(t.Context(), order(1, "Burger"), new(began).begin); err != nil {
			t.Fatal(err)
		}
		wants(t, s.Board(), press(s.Board(), Recall, 1, 0), Done)
		for when, b := range map[string]*Board{"now": s.Board(), "after a restart": open(t, shelf)} {
			if c, _ := b.Card(1); c.State != Open || !c.Duplicate {
				t.Errorf("%s: %+v", when, c)
			}
		}
	})
}

func TestWhatIsNewWaitsForWhatWasShownEvenIfTheScreenHasJustGoneDark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, paper := newKitchenette(t), &roll{}
		s, end := k.hang(paper)
		defer end()
		closed := browser(s, "a")
		k.order(1)
		time.Sleep(time.Second)
		closed()
		leave := s.Join("deaf") // the next one has a page that shows nothing, which goes dark at last
		k.order(1)
		time.Sleep(25 * time.Second)
		leave()
		time.Sleep(time.Minute)
		paper.mu.Lock()
		defer paper.mu.Unlock()
		if len(paper.out) != 2 || paper.out[0] != "1 for hot-line (screen down), was shown" {
			t.Errorf("came out: %q", paper.out)
		}
	})
}

func TestAScreenThatStandsInForAScreenHoldsNoTicketForAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchenette(t)
		defer k.stop()
		a := screen(t, newCupboard())
		b := NewScreen(ScreenOptions{Name: "cold", Board: open(t, newCupboard()), OnLive: func() { k.d.Kick("hot-line") }})
		k.d.Set([]dispatch.Line{{Name: "hot-line", Station: a, Backups: []dispatch.Backup{{Name: "cold", Station: a.StandIn(b), After: 20 * time.Second}}}})
		leave := a.Join("deaf")
		k.order(2)
		time.Sleep(15 * time.Second)
		leave()
		for range 4 { // and the other one flickers
			leave := b.Join("deaf")
			time.Sleep(15 * time.Second)
			leave()
			time.Sleep(15 * time.Second)
		}
		if got := k.states(); got != "pending pending" {
			t.Errorf("while nobody says that it shows them: %s", got)
		}
		defer browser(b, "b")()
		time.Sleep(time.Minute)
		if got := k.states(); got != "shown shown" || jobs(b.Board()) != "1 2 |" || jobs(a.Board()) != "| 1" {
			t.Errorf("%s, boards %q and %q", got, jobs(a.Board()), jobs(b.Board()))
		}
		if c, ok := b.Board().Card(1); !ok || !c.Duplicate || c.For != "hot-line" {
			t.Errorf("card %+v", c)
		}
	})
}

func TestAScreenIsGivenWhatWasOnAnotherAsOftenAsItTakesAndShowsItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewScreen(ScreenOptions{Name: "cold", Board: open(t, newCupboard())})
		s := screen(t, newCupboard(), func(o *ScreenOptions) { o.Backup, o.BackupName = b, "cold" })
		closed := browser(s, "a")
		for _, job := range []uint64{1, 2} {
			if _, err := s.Print(t.Context(), order(job, "Burger"), new(began).begin); err != nil {
				t.Error(err)
			}
		}
		closed()
		leave := b.Join("deaf")
		defer leave()
		watching := watched(t, s)
		defer watching()
		time.Sleep(2 * time.Minute) // many attempts, none of them proved
		if c, _ := s.Board().Card(1); c.Paper != "" {
			t.Errorf("card %+v", c)
		}
		closedB := browser(b, "b")
		defer closedB()
		time.Sleep(time.Minute)
		if got := jobs(b.Board()); got != "1 2 |" {
			t.Errorf("board of the other screen %q", got)
		}
		for _, job := range []uint64{1, 2} {
			here, _ := s.Board().Card(job)
			there, ok := b.Board().Card(job)
			if here.Paper != "cold" || !ok || there.For != "hot-line" || there.Duplicate {
				t.Errorf("card %d: here %+v, there %+v", job, here, there)
			}
		}
	})
}
