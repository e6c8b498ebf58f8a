package kds_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/printer/kds"
)

func TestAPageIsToldHowItsScreenIsSetUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestServer(t)
		s := kds.NewScreen(kds.ScreenOptions{
			Name: "hot-line", Title: "Hot line", Board: w.screens["hot-line"].Board(),
			WarnAfter: time.Minute, LateAfter: 2 * time.Minute, UnseenAfter: 20 * time.Second, Repeat: 30 * time.Second,
		})
		w.server.Set([]kds.Display{{Screen: s, Zone: time.UTC}})
		_, page, _ := w.get(w.client("127.0.0.1"), "/screen/hot-line")
		_, rest, _ := strings.Cut(page, `id="start">`)
		data, _, _ := strings.Cut(rest, "</script>")
		got := decode[struct{ Setup map[string]any }](t, data).Setup
		for _, other := range []string{"web", "keys", "alarm", "expo"} {
			delete(got, other)
		}
		want := map[string]any{
			"name": "hot-line", "title": "Hot line", "pass": false, "print": false, "beat": 5000.0,
			"warn_after": 60000.0, "late_after": 120000.0, "recall_for": 3600000.0, "undo_for": 10000.0,
			"unseen_after": 20000.0, "repeat": 30.0,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
