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
			if code, text := w.post(c, "/screen/hot-line/"+p.path, p.body); code != p.code {
				t.Errorf("%s %.60s: %d %s, want %d", p.path, p.body, code, text, p.code)
			}
		}
		if code, _, h := w.get(c, "/screen/grill"); code != http.StatusNotFound || h.Get("Refresh") != "60" {
			t.Errorf("a screen that is not there: %d, %v", code, h)
		}
		if code, _, _ := w.get(c, "/screen/hot-line/events?page=%0a"); code != http.StatusBadRequest {
			t.Errorf("a page of an odd name: %d", code)
		}
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
			if code, text := w.post(c, "/screen/hot-line/print", `{"job":`+job+`}`); code != want {
				t.Errorf("job %s: %d %s, want %d", job, code, text, want)
			}
		}
		if !slices.Equal(printed, []uint64{1}) {
			t.Errorf("printed %v", printed)
		}
		for _, f := range []struct {
			err  error
			code int
			text string
		}{{fmt.Errorf("reprint: %w", kds.ErrInProgress), http.StatusConflict,
			"still being shown or printed"}, {errors.New("disk full"), http.StatusServiceUnavailable, "try again"}} {
			w.displays[0].Print = func(context.Context, uint64) error { return f.err }
			w.server.Set(w.displays)
			if code, text := w.post(c, "/screen/hot-line/print", `{"job":1}`); code != f.code ||
				!strings.Contains(text, f.text) || strings.Contains(text, "disk") {
				t.Errorf("%v: %d %s", f.err, code, text)
			}
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
			if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
				strings.Contains(policy, "http") {
				t.Errorf("%s: the policy is %q", path, policy)
			}
			for _, bad := range []string{"http://", "https://", "//cdn", "style=", "onclick", "<style", "<script>"} {
				if strings.Contains(body, bad) {
					t.Errorf("%s holds %s", path, bad)
				}
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
			_, sent, header := w.get(c, "/screen/hot-line"+path, "Accept-Encoding", "gzip")
			z, err := gzip.NewReader(strings.NewReader(sent))
			if err != nil {
				t.Fatalf("%q: %v %v", path, err, header)
			}
			if b, _ := io.ReadAll(z); string(b) != plain || len(sent) > len(plain)/4 {
				t.Errorf("%q: %d bytes are sent as %d, and read as %d", path, len(plain), len(sent), len(b))
			}
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
		if code != http.StatusOK || !strings.Contains(header.Get("Cache-Control"), "immutable") ||
			header.Get("Content-Type") != "text/javascript; charset=utf-8" {
			t.Errorf("%s: %d %v", path, code, header)
		}
		for _, no := range []string{"/web/x/page.html", "/web/x/..%2fserver.go", "/web/x/nothing.js", "/web/",
			"/server.go"} {
			if code, _, _ := w.get(c, no); code != http.StatusNotFound {
				t.Errorf("%s: %d", no, code)
			}
		}
		if code, _, header := w.get(c, strings.Replace(path, "/web/", "/web/x", 1)); code != http.StatusOK ||
			strings.Contains(header.Get("Cache-Control"), "immutable") {
			t.Errorf("of another version: %d %v", code, header)
		}
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
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.keys, err, c.says)
		}
	}
}
