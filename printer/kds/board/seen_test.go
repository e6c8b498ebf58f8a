package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/queuetest"
)

func TestATicketIsSeenOnceItIsOnTheVisiblePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuetest.NewStore()
		b := open(t, s)
		put(t, b, order(1, "Burger"), order(2, "Soup"))
		time.Sleep(45 * time.Second)
		if n := b.Unseen(45 * time.Second); n != 2 {
			t.Errorf("%d are unseen", n)
		}
		first := time.Now().UnixMilli()
		stale := press(b, Bump, 1, 0)
		for range 4 {
			must(t, b.Seen(t.Context(), []uint64{1, 99}))
			time.Sleep(5 * time.Second)
		}
		if k := card(b, 1); k.Seen != first || b.Unseen(0) != 1 || s.Writes() != 3 {
			t.Errorf("seen %d, want %d; %d are unseen; %d writes", k.Seen, first, b.Unseen(0), s.Writes())
		}
		wantOutcome(t, b, stale, Done) // that it was seen is no change for a cook
		if r := open(t, s).get(1).rec; r.SeenAt != first {
			t.Errorf("stored: seen at %d", r.SeenAt)
		}
	})
}

func TestTheTimelineTellsWhatHappenedToATicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuetest.NewStore()
		b := open(t, s)
		step := func(err error) {
			must(t, err)
			time.Sleep(time.Second)
		}
		d := of18(1, "2 Fish", "1 Pie")
		d.Ticket.Received = time.Now()
		put(t, b, d)
		step(b.MarkShown(t.Context(), 1))
		step(b.Seen(t.Context(), []uint64{1}))
		do(t, b, press(b, ItemDone, 1, 0))
		toPaper(t, b, s)
		step(nil)
		for _, v := range []Verb{Bump, Undo, Bump, Recall} {
			do(t, b, press(b, v, 1, 0))
			step(nil)
		}
		want := []string{"accepted", "came at hot-line", "shown at hot-line", "seen at hot-line",
			"item_done at hot-line 2 Fish", "paper at hot-line grill", "bump at hot-line", "undo at hot-line",
			"bump at hot-line", "recall at hot-line"}
		texts := func(list []Moment) (out []string) {
			for _, m := range list {
				text := fmt.Sprint(m.What, " at ", m.Station, " ", m.Item, m.Paper)
				out = append(out, strings.TrimSuffix(strings.TrimSpace(text), " at"))
			}
			return out
		}
		wantEqual(t, "timeline", want, texts(b.Timeline(b.OrderWith(1).Key)))
		put(t, b, void18(2, "1 Fish"))
		do(t, b, press(b, AckVoid, 1, 0))
		do(t, b, press(b, Bump, 1, 0))
		got := texts(b.Timeline(b.OrderWith(1).Key))
		if !slices.Contains(got, "ack_void at hot-line") {
			t.Errorf("%q", got)
		}
		time.Sleep(2 * time.Hour)
		put(t, b, order(9, "Tea")) // forgets 1
		list, err := b.TimelineOfJob(1)
		if got = texts(list); err != nil || b.get(1) != nil || len(got) != len(want)+1 ||
			got[len(got)-1] != "bump at hot-line" {
			t.Errorf("after it was forgotten: %q, %v", got, err)
		}
		if list, err := b.TimelineOfJob(77); len(list) != 0 || err != nil {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestATimelineIsBounded(t *testing.T) {
	b := boardOf(t, order(1, "Burger"))
	for range maxTimeline {
		do(t, b, press(b, ItemDone, 1, 0))
		do(t, b, press(b, ItemUndone, 1, 0))
	}
	list := b.get(1).rec.Timeline
	if len(list) != maxTimeline || list[0].E != cameHere || list[len(list)-1].E != string(ItemUndone) {
		t.Errorf("%d moments, from %v to %v", len(list), list[0], list[len(list)-1])
	}
}

func TestTheRecallListHoldsFiftyForAnHourAndCardsAreStoredForTwoDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuetest.NewStore()
		b := open(t, s)
		for job := range uint64(60) {
			put(t, b, order(job+1, "Burger"))
			wantOutcome(t, b, press(b, Bump, job+1, 0), Done)
		}
		if n := len(b.Snapshot().Recall); n != 50 || len(b.cards) != 50 {
			t.Errorf("%d can be recalled, %d are in memory", n, len(b.cards))
		}
		wantOutcome(t, b, press(b, Recall, 10, 0), Gone)
		time.Sleep(time.Hour)
		if n := len(b.Snapshot().Recall); n != 0 {
			t.Errorf("after an hour %d can be recalled", n)
		}
		wantOutcome(t, b, press(b, Recall, 60, 0), Gone)
		put(t, b, order(99, "Burger"))
		if len(b.cards) != 1 || len(s.Keys()) != 61 {
			t.Errorf("after an hour %d are in memory and %d stored", len(b.cards), len(s.Keys()))
		}
		past, err := b.Past(time.Date(2026, 2, 6, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 7, 0, 0, 0, 0, time.UTC))
		if err != nil || len(past) != 61 || past[0].Bumped == 0 || past[0].Items[0].Done != past[0].Bumped ||
			past[60].Bumped != 0 {
			t.Errorf("%d cards for reports, %v", len(past), err)
		}
		b = open(t, s)
		time.Sleep(48 * time.Hour)
		put(t, b, order(100, "Burger"))
		if len(s.Keys()) != 2 {
			t.Errorf("after two days %d are stored", len(s.Keys()))
		}
	})
}
