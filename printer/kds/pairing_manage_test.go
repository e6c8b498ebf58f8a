package kds_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"ticketrail/printer/kds"
)

func TestAManagerPairsByTypingTheCodeThatATabletShows(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		manager, m := w.manager("192.168.1.9")
		w.restart() // a manager stays one
		for from, c := range map[string]*http.Client{"the box": w.client("127.0.0.1"), "a manager": manager} {
			tablet := w.newTablet("192.168.1.20")
			shown := w.code(tablet)
			for _, path := range []string{"/manage", "/", "/screen/hot-line"} {
				if _, body, _ := w.get(c, path); strings.Contains(strings.ReplaceAll(body, "-", ""),
					strings.ReplaceAll(shown, "-", "")) {
					t.Errorf("from %s: %s has a code that waits", from, path)
				}
			}
			code, text := w.typed(c, strings.ToLower(shown), "hot-line", ownPage()...)
			if p := decode[kds.Pairing](t, text); code != http.StatusOK || p.Station != "hot-line" || p.Manager {
				t.Errorf("from %s: %d %s", from, code, text)
			}
			if !w.maySee(tablet, "hot-line") || w.maySee(tablet, "cold") {
				t.Errorf("from %s: the tablet sees something else", from)
			}
			if status, body, _ := w.get(c, "/manage"); status != http.StatusOK || !strings.Contains(body, m.ID) {
				t.Errorf("from %s: %d, and the list lacks %s", from, status, m.ID)
			}
		}
		if !w.maySee(manager, "hot-line") || !w.maySee(manager, "cold") {
			t.Error("a manager cannot see every screen")
		}
		status, body, _ := w.get(manager, "/")
		if status != http.StatusOK || !strings.Contains(body, `id="problems"`) {
			t.Errorf("a manager's start page: %d", status)
		}
		code, text := w.post(w.client("127.0.0.1"), "/manage/revoke", `{"id":"`+m.ID+`"}`, ownPage()...)
		if code != http.StatusOK || w.maySee(manager, "hot-line") {
			t.Errorf("after the pairing ended: %d %s", code, text)
		}
	})
}

func TestOnlyAManagerManagesAndNoOtherSiteReadsOrPressesAnything(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		manager, m := w.manager("192.168.1.9")
		tablet, box, own := w.newTablet("192.168.1.20"), w.client("127.0.0.1"), ownPage()
		code := w.code(tablet)
		w.put("hot-line", 1)
		const cancel, read, press = "/manage/api/jobs/7/cancel", "/screen/hot-line/state", "/screen/hot-line/do"
		bump := `{"id":"x","do":"bump",` + w.order("hot-line", 1) + `}`
		for what, c := range w.intruders(tablet, manager, box) {
			if got, text := w.typed(c.client, code, "hot-line", c.header...); got != c.want {
				t.Errorf("%s pairs: %d %s, want %d", what, got, text, c.want)
			}
			if got, text := w.post(c.client, cancel, `{}`, c.header...); got != c.want {
				t.Errorf("%s cancels: %d %s, want %d", what, got, text, c.want)
			}
			if c.want == http.StatusUnauthorized {
				if got, _, h := w.get(c.client, "/manage", c.header...); got != http.StatusSeeOther ||
					h.Get("Location") != "/" {
					t.Errorf("%s: the page is answered %d", what, got)
				}
				for _, path := range []string{"/manage/api/state", read} {
					if got, _, _ := w.get(c.client, path, c.header...); got != c.want {
						t.Errorf("%s reads %s: %d", what, path, got)
					}
				}
			}
			// A screen's pages may stand behind a proxy, and a program may press.
			if what != "a cook's tablet" && what != "no browser" && what != "a proxy that says nothing" {
				if got, _ := w.post(c.client, press, bump, c.header...); got < 400 || got == http.StatusNotFound {
					t.Errorf("%s bumps: %d", what, got)
				}
			}
		}
		if n, _ := w.screens["hot-line"].Board().Count(); n != 1 {
			t.Error("one of them has bumped the ticket")
		}
		if got, _, _ := w.get(w.paired("192.168.1.22", "hot-line"), "/manage/api/state"); got != http.StatusForbidden {
			t.Errorf("a cook's tablet reads: %d", got)
		}
		if w.maySee(tablet, "hot-line") || len(w.managed) > 0 {
			t.Fatalf("one of them has paired the tablet, or asked the control API %q", w.managed)
		}

		for station, c := range map[string]*http.Client{"": manager, "grill": box} {
			if got, text := w.typed(c, code, station, own...); got != http.StatusNotFound {
				t.Errorf("for the screen %q: %d %s", station, got, text)
			}
		}
		if _, text := w.typed(box, code, "hot-line", own...); !w.maySee(tablet, "hot-line") {
			t.Errorf("now it cannot be paired at all: %s", text)
		}
		for _, host := range []string{"localhost", "127.0.0.1:9322", "[::1]:9322"} {
			if got, _, _ := w.get(w.client("::1"), read, "Host", host); got != http.StatusOK {
				t.Errorf("the box reads from %s: %d", host, got)
			}
		}
		if got, text := w.post(box, press, bump, own...); got != http.StatusOK || !strings.Contains(text, `"done"`) {
			t.Errorf("its own page bumps: %d %s", got, text)
		}
		for _, c := range []*http.Client{manager, box} {
			got, _, h := w.get(c, "/manage/api/state")
			if got != http.StatusOK || h.Get("Cache-Control") != "no-store" || h.Get("Content-Security-Policy") == "" {
				t.Errorf("%d %v", got, h)
			}
			w.post(c, cancel, `{}`, own...)
		}
		const who = "a browser on this computer: "
		want := []string{"pairing " + m.ID + ": GET /state", "pairing " + m.ID + ": POST /jobs/7/cancel",
			who + "GET /state", who + "POST /jobs/7/cancel"}
		if !slices.Equal(w.managed, want) {
			t.Errorf("the control API was asked %q", w.managed)
		}

		w.post(box, "/manage/revoke", `{"id":"`+m.ID+`"}`, own...)
		if got, _ := w.post(manager, cancel, `{}`, own...); got != http.StatusUnauthorized {
			t.Errorf("a manager whose pairing ended: %d", got)
		}
	})
}

// An intruder is a browser that may not manage, and how it is answered.
type intruder struct {
	client *http.Client
	header []string
	want   int
}

// intruders are browsers that may not manage: strangers, cooks, and managers and the box through another site.
func (w *testServer) intruders(tablet, manager, box *http.Client) map[string]intruder {
	own := ownPage()
	list := map[string]intruder{
		"a stranger":        {w.newTablet("192.168.1.66"), own, http.StatusUnauthorized},
		"the tablet itself": {tablet, own, http.StatusUnauthorized},
		"a cook's tablet":   {w.paired("192.168.1.21", "hot-line"), own, http.StatusForbidden},
		"a proxy that passes Host on": {box, []string{"Host", "kitchen.example",
			"Origin", "https://kitchen.example"}, http.StatusUnauthorized},
		"a proxy that says nothing": {box, []string{"Origin", "https://kitchen.example",
			"Sec-Fetch-Site", "same-origin"}, http.StatusForbidden},
		"a name that was rebound": {box, []string{"Host", "evil.example:9322",
			"Origin", "http://evil.example:9322"}, http.StatusUnauthorized},
		"a name that looks local": {box, []string{"Host", "localhost.evil.example",
			"Origin", "http://localhost.evil.example"}, http.StatusUnauthorized},
		"another site, at the box":     {box, []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		"another port of the box":      {box, []string{"Origin", "http://localhost:3000"}, http.StatusForbidden},
		"a frame without an origin":    {box, []string{"Origin", "null"}, http.StatusForbidden},
		"no browser":                   {box, nil, http.StatusForbidden},
		"another site, at a manager's": {manager, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a form of another site": {manager, []string{"Content-Type", "text/plain"},
			http.StatusUnsupportedMediaType},
	}
	for _, header := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Prefix", "Forwarded", "Via",
		"Cf-Connecting-Ip"} {
		list["a proxy, "+header] = intruder{box, append(ownPage(), header, "10.0.0.1"), http.StatusUnauthorized}
	}
	return list
}
