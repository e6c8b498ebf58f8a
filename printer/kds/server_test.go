package kds_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
)

func TestRequestsOfAPageAreAnsweredWithTheRightStatus(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		w.put("hot-line", 1)
		c := w.client("127.0.0.1")
		for _, p := range []struct {
			path, body string
			code       int
		}{
			{"do", `{"id":"` + strings.Repeat("x", 5000) + `"}`, http.StatusBadRequest},
			{"shown", `{"page":"nobody00","jobs":[1]}`, http.StatusConflict},
			{"print", `{"job":1}`, http.StatusNotFound}, // no printer was given
			{"bye", `{"page":"nobody00"}`, http.StatusNoContent},
		} {
			code, text := w.post(c, "/screen/hot-line/"+p.path, p.body)
			assert.Equal(t, code, p.code, p.path, p.body, text)
		}
		code, _, h := w.get(c, "/screen/grill")
		assert.True(t, code == http.StatusNotFound && h.Get("Refresh") == "60", code, h)
		code, _, _ = w.get(c, "/screen/hot-line/events?page=%0a")
		assert.Equal(t, code, http.StatusBadRequest)
	})
}

func TestPrintAsksForATicketOfThisScreenOnly(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		w.put("hot-line", 1)
		w.put("cold", 2)
		var printed []uint64
		w.displays[0].Print = func(_ context.Context, job uint64) error { printed = append(printed, job); return nil }
		w.server.Set(w.displays)
		c := w.client("127.0.0.1")
		for job, want := range map[string]int{"1": http.StatusNoContent, "2": http.StatusNotFound,
			"3": http.StatusNotFound} {
			code, text := w.post(c, "/screen/hot-line/print", `{"job":`+job+`}`)
			assert.Equal(t, code, want, job, text)
		}
		assert.True(t, slices.Equal(printed, []uint64{1}), printed)
		for _, f := range []struct {
			err  error
			code int
			text string
		}{{fmt.Errorf("reprint: %w", kds.ErrInProgress), http.StatusConflict,
			"still being shown or printed"}, {errors.New("disk full"), http.StatusServiceUnavailable, "try again"}} {
			w.displays[0].Print = func(context.Context, uint64) error { return f.err }
			w.server.Set(w.displays)
			code, text := w.post(c, "/screen/hot-line/print", `{"job":1}`)
			assert.True(t, code == f.code && strings.Contains(text, f.text) && !strings.Contains(text, "disk"), f.err,
				code, text)
		}
	})
}

func TestAPageLoadsNothingFromElsewhereAndHasNothingInline(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		w.put("hot-line", 1)
		c := w.client("127.0.0.1")
		for _, path := range []string{"/", "/screen/hot-line"} {
			_, body, header := w.get(c, path)
			policy := header.Get("Content-Security-Policy")
			assert.True(t, strings.Contains(policy, "default-src 'none'") && !strings.Contains(policy, "unsafe") &&
				!strings.Contains(policy, "http"), path, policy)
			for _, bad := range []string{"http://", "https://", "//cdn", "style=", "onclick", "<style", "<script>"} {
				assert.True(t, !strings.Contains(body, bad), path, bad)
			}
		}
	})
}

func TestWhatIsLargeIsSentCompressedAndEventsAreNot(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		for job := range uint64(250) {
			d := delivery(job + 1)
			d.Ticket.Lines[0].Name = fmt.Sprint("Dish ", job)
			w.add("hot-line", d)
		}
		c := w.client("127.0.0.1")
		for _, path := range []string{"", "/state", "/allday"} {
			_, plain, _ := w.get(c, "/screen/hot-line"+path, "Accept-Encoding", "identity")
			_, sent, _ := w.get(c, "/screen/hot-line"+path, "Accept-Encoding", "gzip")
			z, err := gzip.NewReader(strings.NewReader(sent))
			assert.NoError(t, err)
			b, _ := io.ReadAll(z)
			assert.True(t, string(b) == plain && len(sent) <= len(plain)/4, path, len(plain), len(sent), len(b))
		}
		w.listen(c, "hot-line", testPage, "", "Accept-Encoding", "gzip").want("hello")
	})
}

func TestBrowsersMayCacheTheFilesOfAPageAndNothingElse(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.client("192.168.1.20") // the scripts need no pairing
		_, page, _ := w.get(w.client("127.0.0.1"), "/screen/hot-line")
		_, rest, _ := strings.Cut(page, `src="`)
		path, _, _ := strings.Cut(rest, `"`)
		code, _, header := w.get(c, path)
		assert.True(t, code == http.StatusOK && strings.Contains(header.Get("Cache-Control"), "immutable") &&
			header.Get("Content-Type") == "text/javascript; charset=utf-8", path, code, header)
		for _, no := range []string{"/web/x/page.html", "/web/x/..%2fserver.go", "/web/x/nothing.js", "/web/",
			"/server.go"} {
			code, _, _ := w.get(c, no)
			assert.Equal(t, code, http.StatusNotFound, no)
		}
		code, _, header = w.get(c, strings.Replace(path, "/web/", "/web/x", 1))
		assert.True(t, code == http.StatusOK && !strings.Contains(header.Get("Cache-Control"), "immutable"), code,
			header)
	})
}

func TestKeysOfAConfigurationAreChecked(t *testing.T) {
	for _, c := range []struct {
		keys map[string][]string
		says string
	}{
		{map[string][]string{"bump": {"F1"}, "all_day": {"Shift+A"}}, ""},
		{map[string][]string{"dance": {"F1"}}, `unknown action "dance"`},
		{map[string][]string{"bump": {"a"}, "undo": {"A"}}, "is used by both"},
		{map[string][]string{"bump": {""}}, "is not the name of a key"},
	} {
		err := kds.CheckKeys(c.keys)
		assert.True(t, (err == nil) == (c.says == "") && (err == nil || strings.Contains(err.Error(), c.says)),
			c.keys, err, c.says)
	}
}
