package kds_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

func TestTheTimesOfADayAreThoseOfTheCooksAndThePass(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		pass := w.openPass("hot-line", "cold")
		defer pass.Close()
		hot, c := w.screens["hot-line"], w.client("127.0.0.1")

		time.Sleep(19*time.Hour + 30*time.Minute)
		d := delivery(1)
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: "2", Name: "Fries\x1b"},
			ticket.Line{Depth: 1, Quantity: "1", Name: "no salt"}, ticket.Line{Quantity: "1", Name: "Fish", Void: true})
		assert.NoError(t, hot.Board().Add(t.Context(), d))
		w.listen(c, "hot-line", testPage, "")
		time.Sleep(3 * time.Second)
		w.shown(c, "hot-line", testPage, "[1]", "[1]")
		synctest.Wait()
		w.press("hot-line", board.AckVoid)
		time.Sleep(57 * time.Second)
		w.press("hot-line", board.ItemDone)
		time.Sleep(time.Minute)
		w.press("hot-line", board.Bump)
		time.Sleep(time.Minute)
		w.press("hot-line", board.Recall)
		time.Sleep(6 * time.Minute) // until it is late
		w.press("hot-line", board.Bump)
		time.Sleep(time.Minute)
		w.press("pass", board.Bump)

		// Slips, tests and cancellations are no tickets of the kitchen.
		for job, k := range []ticket.Kind{2: ticket.ExpiredList, 3: ticket.Test, 4: ticket.Order} {
			d := delivery(uint64(job))
			if d.Ticket.Kind, d.Ticket.Void = k, k == ticket.Order && job == 4; job < 2 {
				continue
			}
			assert.NoError(t, hot.Board().Add(t.Context(), d))
		}
		w.put("cold", 9) // open, and not late
		want := []string{
			"cold,,: 1, , , , 0 (0 %), 0",
			"cold,19,: 1, , , , 0 (0 %), 0",
			"cold,,Burger: 1, , , , 0 (0 %), 0",
			"hot-line,,: 1, 0:03 / 0:03, 9:00 / 9:00, 10:00 / 10:00, 1 (100 %), 1",
			"hot-line,19,: 1, 0:03 / 0:03, 9:00 / 9:00, 10:00 / 10:00, 1 (100 %), 1",
			"hot-line,,Burger: 1, 0:03 / 0:03, 1:00 / 1:00, 10:00 / 10:00, 1 (100 %), 1",
			"hot-line,,Fries\ufffd: 1, 0:03 / 0:03, 9:00 / 9:00, 10:00 / 10:00, 1 (100 %), 1",
		}
		wantEqual(t, "times", want, w.times(""))
		// The next day the tickets are off the board, and some hours later out of its memory.
		time.Sleep(24 * time.Hour)
		w.press("cold", board.Bump)
		w.put("cold", 10)
		first := w.times("2000-01-01")
		wantEqual(t, "times of the day before", want[3:], first[3:])
		assert.True(t, strings.HasPrefix(first[0], "cold,,: 1,"), first[0])
		rows := w.times("")
		assert.True(t, len(rows) == 3 && strings.HasPrefix(rows[0], "cold,,: 1,"), rows)
	})
}

func TestATicketIsNotLateBeforeItWasWanted(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		d := delivery(1)
		d.Ticket.Promised = time.Now().Add(time.Hour).Format(time.RFC3339)
		w.add("cold", d)
		for _, want := range []string{"0 (0 %)", "1 (100 %)"} {
			time.Sleep(30 * time.Minute)
			assert.Equal(t, w.times("")[0], "cold,,: 1, , , , "+want+", 0", time.Now(), want)
		}
		held := delivery(2) // its time to begin is not known
		held.Ticket.Lines[0].Hold = true
		w.add("cold", held)
		time.Sleep(time.Hour)
		assert.Equal(t, w.times("")[0], "cold,,: 2, , , , 1 (100 %), 0")
	})
}

func TestTheTimesAreForManagersOnly(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		manager, _ := w.manager("192.168.1.9")
		for what, c := range map[string]struct {
			client *http.Client
			path   string
			want   int
		}{
			"the box":                {w.client("127.0.0.1"), "/times", http.StatusOK},
			"a manager":              {manager, "/times", http.StatusOK},
			"a cook's tablet":        {w.paired("192.168.1.20", "hot-line"), "/times", http.StatusForbidden},
			"a stranger":             {w.newTablet("192.168.1.66"), "/times", http.StatusSeeOther},
			"a day that is none":     {manager, "/times?day=2026-02-30", http.StatusBadRequest},
			"a day that is a script": {manager, "/times?day=<script>", http.StatusBadRequest},
		} {
			got, text, _ := w.get(c.client, c.path)
			assert.Equal(t, got, c.want, what, text)
		}

		_, text, h := w.get(manager, "/times?csv")
		assert.True(t, strings.HasPrefix(h.Get("Content-Type"), "text/csv") &&
			strings.HasPrefix(text, "day,station,hour,"), h.Get("Content-Type"), text)
	})
}

// press carries out a command on the first order of a screen, or the item of its first ticket, as for a page.
func (w *testServer) press(screen string, do board.Verb) {
	w.t.Helper()
	s := w.screens[screen]
	snap := s.Orders().Snapshot()
	o := append(snap.Orders, snap.Recall...)[0]
	c := board.Command{ID: fmt.Sprint(time.Now().UnixNano()), Do: do, Order: o.Key, Version: o.Version}
	if do == board.ItemDone {
		c.Job, c.Version = o.Tickets[0].Job, o.Tickets[0].Version
	}
	r, err := s.Do(w.t.Context(), testPage, c)
	assert.True(w.t, r.Outcome == board.Done && err == nil, do, r.Outcome, err)
}

// times are the rows of the report of a day.
func (w *testServer) times(day string) (rows []string) {
	w.t.Helper()
	report, err := w.server.Times(day)
	assert.NoError(w.t, err)
	for _, r := range report.Rows {
		rows = append(rows, fmt.Sprintf("%s,%s,%s: %d, %s, %s, %s, %s, %d", r.Station, r.Hour, r.Item, r.Count, r.Seen,
			r.Bumped, r.SentOut, r.LateText(), r.Recalls))
	}
	return rows
}
