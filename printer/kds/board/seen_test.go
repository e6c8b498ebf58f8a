package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
)

func TestATicketIsSeenOnceItIsOnTheVisiblePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuetest.NewStore()
		b := open(t, s)
		put(t, b, order(1, "Burger"), order(2, "Soup"))
		time.Sleep(45 * time.Second)
		assert.Equal(t, b.Unseen(45*time.Second), 2)
		first := time.Now().UnixMilli()
		stale := press(b, Bump, 1, 0)
		for range 4 {
			assert.NoError(t, b.Seen(t.Context(), []uint64{1, 99}))
			time.Sleep(5 * time.Second)
		}
		k := card(b, 1)
		assert.True(t, k.Seen == first && b.Unseen(0) == 1 && s.Writes() == 3, k.Seen, first, b.Unseen(0), s.Writes())
		wantOutcome(t, b, stale, Done) // that it was seen is no change for a cook
		assert.Equal(t, open(t, s).get(1).rec.SeenAt, first)
	})
}

func TestTheTimelineTellsWhatHappenedToATicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuetest.NewStore()
		b := open(t, s)
		step := func(err error) {
			assert.NoError(t, err)
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
		assert.True(t, slices.Contains(got, "ack_void at hot-line"), got)
		time.Sleep(2 * time.Hour)
		put(t, b, order(9, "Tea")) // forgets 1
		list, err := b.TimelineOfJob(1)
		got = texts(list)
		assert.True(t, err == nil && b.get(1) == nil && len(got) == len(want)+1 &&
			got[len(got)-1] == "bump at hot-line", got, err)
		list, err = b.TimelineOfJob(77)
		assert.True(t, len(list) == 0 && err == nil, list, err)
	})
}

func TestATimelineIsBounded(t *testing.T) {
	b := boardOf(t, order(1, "Burger"))
	for range maxTimeline {
		do(t, b, press(b, ItemDone, 1, 0))
		do(t, b, press(b, ItemUndone, 1, 0))
	}
	list := b.get(1).rec.Timeline
	assert.True(t, len(list) == maxTimeline && list[0].E == cameHere && list[len(list)-1].E == string(ItemUndone),
		len(list), list[0], list[len(list)-1])
}

func TestTheRecallListHoldsFiftyForAnHourAndCardsAreStoredForTwoDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuetest.NewStore()
		b := open(t, s)
		for job := range uint64(60) {
			put(t, b, order(job+1, "Burger"))
			wantOutcome(t, b, press(b, Bump, job+1, 0), Done)
		}
		n := len(b.Snapshot().Recall)
		assert.True(t, n == 50 && len(b.cards) == 50, n, len(b.cards))
		wantOutcome(t, b, press(b, Recall, 10, 0), Gone)
		time.Sleep(time.Hour)
		assert.Equal(t, len(b.Snapshot().Recall), 0)
		wantOutcome(t, b, press(b, Recall, 60, 0), Gone)
		put(t, b, order(99, "Burger"))
		assert.True(t, len(b.cards) == 1 && len(s.Keys()) == 61, len(b.cards), len(s.Keys()))
		past, err := b.Past(time.Date(2026, 2, 6, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 7, 0, 0, 0, 0, time.UTC))
		assert.True(t, err == nil && len(past) == 61 && past[0].Bumped != 0 &&
			past[0].Items[0].Done == past[0].Bumped && past[60].Bumped == 0, len(past), err)
		b = open(t, s)
		time.Sleep(48 * time.Hour)
		put(t, b, order(100, "Burger"))
		assert.Equal(t, len(s.Keys()), 2)
	})
}
