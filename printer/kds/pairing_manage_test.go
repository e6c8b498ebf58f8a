package kds_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
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
				_, body, _ := w.get(c, path)
				assert.True(t,
					!strings.Contains(strings.ReplaceAll(body, "-", ""), strings.ReplaceAll(shown, "-", "")), from,
					path)
			}
			code, text := w.typed(c, strings.ToLower(shown), "hot-line", ownPage()...)
			p := decode[kds.Pairing](t, text)
			assert.True(t, code == http.StatusOK && p.Station == "hot-line" && !p.Manager, from, code, text)
			assert.True(t, w.maySee(tablet, "hot-line") && !w.maySee(tablet, "cold"), from)
			status, body, _ := w.get(c, "/manage")
			assert.True(t, status == http.StatusOK && strings.Contains(body, m.ID), from, status, m.ID)
		}
		assert.True(t, w.maySee(manager, "hot-line") && w.maySee(manager, "cold"), "a manager cannot see every screen")
		status, body, _ := w.get(manager, "/")
		assert.True(t, status == http.StatusOK && strings.Contains(body, `id="problems"`), status)
		code, text := w.post(w.client("127.0.0.1"), "/manage/revoke", `{"id":"`+m.ID+`"}`, ownPage()...)
		assert.True(t, code == http.StatusOK && !w.maySee(manager, "hot-line"), code, text)
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
			got, text := w.typed(c.client, code, "hot-line", c.header...)
			assert.Equal(t, got, c.want, what, text)
			got, text = w.post(c.client, cancel, `{}`, c.header...)
			assert.Equal(t, got, c.want, what, text)
			if c.want == http.StatusUnauthorized {
				got, _, h := w.get(c.client, "/manage", c.header...)
				assert.True(t, got == http.StatusSeeOther && h.Get("Location") == "/", what, got)
				for _, path := range []string{"/manage/api/state", read} {
					got, _, _ := w.get(c.client, path, c.header...)
					assert.Equal(t, got, c.want, what, path)
				}
			}
			// A screen's pages may stand behind a proxy, and a program may press.
			if what != "a cook's tablet" && what != "no browser" && what != "a proxy that says nothing" {
				got, _ := w.post(c.client, press, bump, c.header...)
				assert.True(t, got >= 400 && got != http.StatusNotFound, what, got)
			}
		}
		n, _ := w.screens["hot-line"].Board().Count()
		assert.Equal(t, n, 1, "one of them has bumped the ticket")
		got, _, _ := w.get(w.paired("192.168.1.22", "hot-line"), "/manage/api/state")
		assert.Equal(t, got, http.StatusForbidden)
		assert.True(t, !w.maySee(tablet, "hot-line") && len(w.managed) <= 0, w.managed)

		for station, c := range map[string]*http.Client{"": manager, "grill": box} {
			got, text := w.typed(c, code, station, own...)
			assert.Equal(t, got, http.StatusNotFound, station, text)
		}
		_, text := w.typed(box, code, "hot-line", own...)
		assert.True(t, w.maySee(tablet, "hot-line"), text)
		for _, host := range []string{"localhost", "127.0.0.1:9322", "[::1]:9322"} {
			got, _, _ := w.get(w.client("::1"), read, "Host", host)
			assert.Equal(t, got, http.StatusOK, host)
		}
		got, text = w.post(box, press, bump, own...)
		assert.True(t, got == http.StatusOK && strings.Contains(text, `"done"`), got, text)
		for _, c := range []*http.Client{manager, box} {
			got, _, h := w.get(c, "/manage/api/state")
			assert.True(t, got == http.StatusOK && h.Get("Cache-Control") == "no-store" &&
				h.Get("Content-Security-Policy") != "", got, h)
			w.post(c, cancel, `{}`, own...)
		}
		const who = "a browser on this computer: "
		want := []string{"pairing " + m.ID + ": GET /state", "pairing " + m.ID + ": POST /jobs/7/cancel",
			who + "GET /state", who + "POST /jobs/7/cancel"}
		assert.True(t, slices.Equal(w.managed, want), w.managed)

		w.post(box, "/manage/revoke", `{"id":"`+m.ID+`"}`, own...)
		got, _ = w.post(manager, cancel, `{}`, own...)
		assert.Equal(t, got, http.StatusUnauthorized)
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
