package kds_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/queuetest"
)

func TestAPageIsToldHowItsScreenIsSetUpAndTheStateItWasRenderedFrom(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		w.put("hot-line", 1, 2)
		s := kds.NewScreen(kds.ScreenOptions{
			Name: "hot-line", Title: "Hot line", Board: w.screens["hot-line"].Board(),
			WarnAfter: time.Minute, LateAfter: 2 * time.Minute, UnseenAfter: 20 * time.Second, Repeat: 30 * time.Second,
		})
		w.server.Set([]kds.ServedScreen{{Screen: s, Zone: utc}})
		_, page, _ := w.get(w.client("127.0.0.1"), "/screen/hot-line")
		_, rest, _ := strings.Cut(page, `id="start">`)
		data, _, _ := strings.Cut(rest, "</script>")
		start := decode[struct {
			Tag   string
			Setup map[string]any
			State board.Snapshot
		}](t, data)
		assert.True(t, start.State.ID == s.Board().At() && len(start.State.Orders) == 2 && start.Tag != "", start)
		got := start.Setup
		for _, other := range []string{"web", "keys", "alarm"} {
			delete(got, other)
		}
		want := map[string]any{
			"name": "hot-line", "title": "Hot line", "pass": false, "print": false, "beat": 5000.0,
			"warn_after": 60000.0, "late_after": 120000.0, "recall_for": 3600000.0, "undo_for": 10000.0,
			"unseen_after": 20000.0, "repeat": 30.0,
		}
		wantEqual(t, "setup", want, got)
	})
}

func TestATicketIsSeenOnceItIsOnTheVisiblePageOfALivePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, reg := queuetest.NewStore(), prometheus.NewPedanticRegistry()
		b := openBoard(t, "hot-line", store)
		metrics := kds.NewMetrics(reg)
		of := kds.ScreenOptions{Name: "hot-line", Board: b, UnseenAfter: 30 * time.Second, Metrics: metrics}
		s := kds.NewScreen(of)
		metrics.Set([]*kds.Screen{s})
		w := newTestServer(t)
		w.server.Set([]kds.ServedScreen{{Screen: s, Zone: utc}})
		c := w.client("127.0.0.1")
		wants := func(name string, want float64) {
			t.Helper()
			synctest.Wait()
			assert.Equal(t, metric(t, reg, "ticketrail_display_"+name), want, name)
		}
		unseen := func(want float64) { t.Helper(); wants("unseen_tickets", want) }
		says := func(jobs, visible string) {
			t.Helper()
			code, text := w.shown(c, "hot-line", testPage, jobs, visible)
			assert.Equal(t, code, http.StatusOK, jobs, visible, text)
		}
		for job := range uint64(3) {
			assert.NoError(t, b.Add(t.Context(), delivery(job+1)))
		}
		w.shown(c, "hot-line", testPage, "[]", "[1]") // it has no stream yet
		e := w.listen(c, "hot-line", testPage, "")
		go e.drain()
		time.Sleep(29 * time.Second)
		wants("screens", 0)
		says("[1,2,3]", "[]")
		unseen(0)
		wants("screens", 1)
		wants("open_tickets", 3)
		wants("oldest_open_seconds", 29)
		wantShown(t, s, delivery(3))
		wants("shown_seconds", 1)
		time.Sleep(time.Second)
		unseen(3)
		says("[]", "[1,2,18446744073709551615]")
		unseen(1)

		// A disk that hangs delays no answer: the page would show that it is not live.
		store.Inject(queuetest.Hangs)
		start := time.Now()
		says("[]", "[3]")
		d := time.Since(start)
		assert.True(t, d <= 0, d)
		unseen(1)
		store.Inject(queuetest.None)
		time.Sleep(10 * time.Second) // the page repeats it with its heartbeats
		says("[]", "[3]")
		unseen(0)
		metrics.Set(nil)
		wants("open_tickets", 0)
	})
}

func TestAPassSeesForNoCook(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		hot := w.screens["hot-line"].Board()
		defer w.openPass("hot-line").Close()
		// Its own board has a ticket of the same job, from when it was a screen of its own.
		own := w.screens["pass"].Board()
		w.put("hot-line", 1)
		assert.NoError(t, own.Add(t.Context(), delivery(1)))
		c := w.client("127.0.0.1")
		w.listen(c, "pass", testPage, "")
		code, text := w.shown(c, "pass", testPage, "[]", "[1]")
		synctest.Wait()
		n := hot.Unseen(0) + own.Unseen(0)
		assert.True(t, code == http.StatusOK && n == 2, code, text, n)
	})
}

// metric is the value of a gauge, or the count of a histogram; 0 without series.
func metric(t *testing.T, reg *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	assert.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}
