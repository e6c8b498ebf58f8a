package app

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/config"
	"ticketrail/printer/kds/board"
	"ticketrail/queue"
)

var clockOf = regexp.MustCompile(`\d\d:\d\d`)

// order is an order on the page of a pass.
func (p *page) order(number string) board.Order {
	p.k.t.Helper()
	p.k.advance(2 * time.Second) // the pass asks for the parts once a second
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.orders {
		if o.Number == "#"+number {
			return *o
		}
	}
	p.k.t.Fatalf("%s has no order %s", p.name, number)
	return board.Order{}
}

// wantParts compares what the pass says of an order, one line for each part. 15:04 stands for any time of
// day. The last line says whether the order is ready.
func (p *page) wantParts(number string, want ...string) {
	p.k.t.Helper()
	o := p.order(number)
	var got []string
	for _, part := range o.Parts {
		text := clockOf.ReplaceAllString(part.Text, "15:04")
		if part.TickedAt != 0 {
			text += " (ticked)"
		}
		got = append(got, text)
	}
	if got = append(got, map[bool]string{true: "ready", false: "not ready"}[o.Ready]); strings.Join(got, "\n") !=
		strings.Join(want, "\n") {
		p.k.t.Errorf("order %s\n%s\nwant\n%s", number, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// tick ticks the part of an order that a station has.
func (p *page) tick(number, station string) board.Outcome {
	p.k.t.Helper()
	o := p.order(number)
	var r board.Result
	p.post("do", map[string]any{
		"page": p.id, "id": "tick-" + number + station, "do": "tick", "order": o.Key, "version": o.Version,
		"part": station,
	}, &r)
	return r.Outcome
}

func TestAnOrderIsNotReadyBeforeEveryPartOfItIs(t *testing.T) {
	screens := withScreens(testScreen("hot-line"), testScreen("cold"), testScreen("wall"),
		testPass("pass", "hot-line", "cold"))
	runDaemonWith(t, screens, func(k *testDaemon) {
		hot, wall, pass := k.openPage("hot-line"), k.openPage("wall"), k.openPage("pass")
		defer hot.close()
		defer wall.close()
		defer pass.close()
		k.accept("A401", at("hot-line", "Fish"), at("cold", "Salad"), at("bar", "Wine"), at("wall", "Soup"))
		k.accept("A402", at("hot-line", "Fish"))
		k.advance(40 * time.Second) // no page of cold is open
		k.wantPrinted("grill", "A401@COLD")
		k.wantPrinted("bar", "A401")
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
	screens := withScreens(testScreen("hot-line"), testPass("pass", "hot-line"))
	runDaemonWith(t, func(k *testDaemon) { screens(k); k.printer("bar").ExpireAfter = time.Hour }, func(k *testDaemon) {
		hot, pass := k.openPage("hot-line"), k.openPage("pass")
		defer hot.close()
		defer pass.close()
		k.printers["grill"].ResetAfter(padding()+200, 2)
		k.printers["bar"].Refuse(true)
		k.accept("A1", at("hot-line", "Fish"), at("grill", "Steak"), at("bar", "Wine"))
		hot.want("A1")
		hot.press(board.Bump, "A1")
		k.advance(time.Minute)
		held := "grill: HELD – call somebody"
		if got := pass.tick("A1", "grill"); got != board.Conflict {
			t.Errorf("a tick of a held part ended %q", got)
		}
		pass.wantParts("A1", "hot-line ✓ 15:04", held, "bar: waiting to print", "not ready")
		k.advance(time.Hour)
		pass.wantParts("A1", "hot-line ✓ 15:04", held, "bar: expired, not printed: call somebody", "not ready")
		k.restart()
		pass2 := k.openPage("pass")
		defer pass2.close()
		pass2.wantParts("A1", "hot-line ✓ 15:04", held, "bar: expired, not printed: call somebody", "not ready")
		if _, err := k.app.queue.Reprint(context.Background(), 2, queue.ReprintOptions{}); err != nil {
			t.Fatal(err)
		}
		k.advance(time.Minute)
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
		k.accept("A1", at("bar", "Water")) // before there is anything of this order at the pass
		k.accept("A1", at("hot-line", "Fish"))
		k.accept("A2", at("bar", "Beer"))
		hot.want("A1")
		hot.press(board.Bump, "A1")
		k.advance(time.Minute)
		pass.wantParts("A1", "hot-line ✓ 15:04", "ready")
		k.accept("A1", at("bar", "Wine"))
		k.accept("A1", at("wall", "Soup"), at("hot-line", "Chips"))
		k.advance(time.Minute)
		bar := "bar: on paper, sent 15:04, cannot know when it is made"
		pass.wantParts("A1", "hot-line: 1 left", bar, "wall: 1 left", "not ready")
		hot.want("A1")
		wall.want("A1")
		hot.press(board.Bump, "A1")
		wall.press(board.Bump, "A1")
		k.restart()
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
	f := &fresh{}
	runDaemonWith(t, func(k *testDaemon) {
		withScreens(testScreen("hot-line"), testPass("pass", "hot-line"))(k)
		display := k.changeOptions
		withKDS(f, func(*config.KDS) {})(k)
		fresh := k.changeOptions
		k.changeOptions = func(o *Options) { display(o); fresh(o) }
	}, func(k *testDaemon) {
		hot, pass := k.openPage("hot-line"), k.openPage("pass")
		defer hot.close()
		defer pass.close()
		k.accept("A1", at("hot-line", "Fish"), at("fresh", "Salad"))
		hot.want("A1")
		hot.press(board.Bump, "A1")
		pass.wantParts("A1", "hot-line ✓ 15:04", "fresh: taken 15:04, cannot know when it is made", "not ready")
	}, "grill")
}

func TestTheTimelineOfAJobSaysWhatHappenedOnEveryScreen(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line"), testPass("pass", "hot-line")), func(k *testDaemon) {
		hot, pass := k.openPage("hot-line"), k.openPage("pass")
		defer hot.close()
		defer pass.close()
		k.accept("A1", at("hot-line", "Fish"))
		hot.want("A1")
		hot.press(board.ItemDone, "A1")
		hot.want("A1-")
		hot.press(board.Bump, "A1")
		k.advance(time.Minute)
		pass.want("A1+")
		pass.press(board.Bump, "A1")
		k.advance(20 * time.Hour)
		k.restart()
		moments, err := k.app.stations.Displays().Timeline(1)
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
			s := k.app.stations.Displays().Screens().Screens[0]
			if s.Open != open || s.Unseen != unseen || s.OnPaper != onPaper {
				t.Errorf("%d open, %d not seen, %d on paper; want %d, %d, %d",
					s.Open, s.Unseen, s.OnPaper, open, unseen, onPaper)
			}
		}
		p := k.openPage("hot-line")
		k.accept("A1", at("hot-line", "Fish"))
		p.want("A1")
		want(1, 0, 0)
		k.advance(time.Minute) // this page never says which cards are visible
		want(1, 1, 0)
		p.close()
		k.advance(time.Minute)
		k.accept("A2", at("hot-line", "Soup"))
		k.advance(time.Minute)
		k.wantPrinted("grill", "A1w@HOT LINE A2@HOT LINE")
		want(1, 1, 2)
	}, "grill")
}
