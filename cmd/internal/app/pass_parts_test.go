package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/config"
	"ticketrail/printer/kds/board"
	"ticketrail/queue"
)

func TestAnOrderIsNotReadyBeforeEveryPartOfItIs(t *testing.T) {
	screens := withScreens(testScreen("hot-line"), testScreen("cold"), testScreen("wall"),
		testPass("pass", "hot-line", "cold"))
	runDaemonWith(t, screens, func(k *testDaemon) {
		hot, wall, pass := k.openPage("hot-line"), k.openPage("wall"), k.openPage("pass")
		defer hot.close()
		defer wall.close()
		defer pass.close()
		k.Accept("A401", at("hot-line", "Fish"), at("cold", "Salad"), at("bar", "Wine"), at("wall", "Soup"))
		k.Accept("A402", at("hot-line", "Fish"))
		k.Advance(40 * time.Second) // no page of cold is open
		k.WantPrinted("grill", "A401@COLD")
		k.WantPrinted("bar", "A401")
		cold := "cold: on paper at grill, sent 15:04, cannot know when it is made"
		bar := "bar: on paper, sent 15:04, cannot know when it is made"
		pass.wantParts("A401", "hot-line: 1 left", cold, bar, "wall: 1 left", "not ready")
		hot.press(board.Bump, "A401")
		hot.press(board.Bump, "A402")
		pass.wantParts("A401", "hot-line ✓ 15:04", cold, bar, "wall: 1 left", "not ready")
		pass.wantParts("A402", "hot-line ✓ 15:04", "ready")
		wall.press(board.Bump, "A401")
		pass.wantParts("A401", "hot-line ✓ 15:04", cold, bar, "wall ✓ 15:04", "not ready")
		for _, station := range []string{"cold", "bar"} {
			if got := pass.tick("A401", station); got != board.Done {
				t.Errorf("a tick of %s ended %q", station, got)
			}
		}
		pass.wantParts("A401", "hot-line ✓ 15:04", cold+" (ticked)", bar+" (ticked)", "wall ✓ 15:04", "ready")
	}, "grill", "bar")
}

func TestAPassKnowsWhatPrintersOwe(t *testing.T) {
	setup := func(k *testDaemon) {
		withScreens(testScreen("hot-line"), testPass("pass", "hot-line"))(k)
		k.Printer("bar").ExpireAfter = 10 * time.Minute
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		hot, pass := k.openPage("hot-line"), k.openPage("pass")
		defer hot.close()
		k.Printers["grill"].ResetAfter(padding()+200, 2)
		k.Printers["bar"].Refuse(true)
		k.Accept("A1", at("hot-line", "Fish"), at("grill", "Steak"), at("bar", "Wine"))
		hot.want("A1")
		hot.press(board.Bump, "A1")
		k.Advance(time.Minute)
		held := "grill: HELD – call somebody"
		if got := pass.tick("A1", "grill"); got != board.Conflict {
			t.Errorf("a tick of a held part ended %q", got)
		}
		pass.wantParts("A1", "hot-line ✓ 15:04", held, "bar: waiting to print", "not ready")
		hot.close()
		pass.close()
		k.Advance(10 * time.Minute)
		k.Restart()
		pass2 := k.openPage("pass")
		defer pass2.close()
		pass2.wantParts("A1", "hot-line ✓ 15:04", held, "bar: expired, not printed: call somebody", "not ready")
		if _, err := k.App.Queue().Reprint(context.Background(), 2, queue.ReprintOptions{}); err != nil {
			t.Fatal(err)
		}
		k.Advance(time.Minute)
		pass2.wantParts("A1", "hot-line ✓ 15:04", "grill: on paper, sent 15:04, cannot know when it is made",
			"bar: expired, not printed: call somebody", "not ready")
	}, "grill", "bar")
}

func TestAPassKnowsWhatALaterRequestSendsToAPrinterAlone(t *testing.T) {
	screens := withScreens(testScreen("hot-line"), testScreen("wall"), testPass("pass", "hot-line"))
	runDaemonWith(t, screens, func(k *testDaemon) {
		hot, wall, pass := k.openPage("hot-line"), k.openPage("wall"), k.openPage("pass")
		defer hot.close()
		defer wall.close()
		defer pass.close()
		k.Accept("A1", at("bar", "Water")) // before there is anything of this order at the pass
		k.Accept("A1", at("hot-line", "Fish"))
		k.Accept("A2", at("bar", "Beer"))
		hot.want("A1")
		hot.press(board.Bump, "A1")
		k.Advance(time.Minute)
		pass.wantParts("A1", "hot-line ✓ 15:04", "ready")
		k.Accept("A1", at("bar", "Wine"))
		k.Accept("A1", at("wall", "Soup"), at("hot-line", "Chips"))
		k.Advance(time.Minute)
		bar := "bar: on paper, sent 15:04, cannot know when it is made"
		pass.wantParts("A1", "hot-line: 1 left", bar, "wall: 1 left", "not ready")
		hot.want("A1")
		wall.want("A1")
		hot.press(board.Bump, "A1")
		wall.press(board.Bump, "A1")
		k.Restart()
		pass2 := k.openPage("pass")
		defer pass2.close()
		pass2.wantParts("A1", "hot-line ✓ 15:04", bar, "wall ✓ 15:04", "not ready")
		if got := pass2.tick("A1", "bar"); got != board.Done {
			t.Errorf("a tick ended %q", got)
		}
		pass2.wantParts("A1", "hot-line ✓ 15:04", bar+" (ticked)", "wall ✓ 15:04", "ready")
		pass2.press(board.Bump, "A1")
	}, "bar")
}

func TestAPassKnowsWhatAnotherDisplayHasTaken(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		withScreens(testScreen("hot-line"), testPass("pass", "hot-line"))(k)
		withThirdParty(&thirdParty{}, func(*config.KDS) {})(k)
	}, func(k *testDaemon) {
		hot, pass := k.openPage("hot-line"), k.openPage("pass")
		defer hot.close()
		defer pass.close()
		k.Accept("A1", at("hot-line", "Fish"), at("fresh", "Salad"))
		hot.want("A1")
		hot.press(board.Bump, "A1")
		pass.wantParts("A1", "hot-line ✓ 15:04", "fresh: taken 15:04, cannot know when it is made", "not ready")
	}, "grill")
}

func TestTheTimelineOfAJobSaysWhatHappenedOnEveryScreen(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line"), testPass("pass", "hot-line")), func(k *testDaemon) {
		hot, pass := k.openPage("hot-line"), k.openPage("pass")
		k.Accept("A1", at("hot-line", "Fish"))
		hot.want("A1")
		hot.press(board.ItemDone, "A1")
		hot.want("A1-")
		hot.press(board.Bump, "A1")
		k.Advance(time.Minute)
		pass.want("A1+")
		pass.press(board.Bump, "A1")
		hot.close()
		pass.close()
		k.Advance(20 * time.Hour)
		k.Restart()
		moments, err := k.App.Stations().Displays().Timeline(1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range moments {
			got = append(got, m.Text)
		}
		want := []string{"accepted", "on the board of hot-line", "shown on hot-line", "1 Fish done at hot-line",
			"bumped at hot-line", "sent out"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}, "grill")
}

func TestTheListOfScreensSaysWhatACookMayHaveMissed(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		want := func(open, unseen, onPaper int) {
			t.Helper()
			s := k.App.Stations().Displays().Screens().Screens[0]
			if s.Open != open || s.Unseen != unseen || s.OnPaper != onPaper {
				t.Errorf("%d open, %d not seen, %d on paper; want %d, %d, %d",
					s.Open, s.Unseen, s.OnPaper, open, unseen, onPaper)
			}
		}
		p := k.openPage("hot-line")
		k.Accept("A1", at("hot-line", "Fish"))
		p.want("A1")
		want(1, 0, 0)
		k.Advance(time.Minute) // this page never says which cards are visible
		want(1, 1, 0)
		p.close()
		k.Advance(time.Minute)
		k.Accept("A2", at("hot-line", "Soup"))
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1w@HOT LINE A2@HOT LINE")
		want(1, 1, 2)
	}, "grill")
}
