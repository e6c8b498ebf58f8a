package kds_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

func TestAMachineOfTheNetworkHasAFewConnectionsAndThisBoxAnyNumber(t *testing.T) {
	for from, want := range map[string]string{
		"192.168.1.66": "192.168.1.66", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff": "2001:db8::/64",
		"127.0.0.1": "", "::1": "",
	} {
		name, most := kds.Group(netip.MustParseAddr(from))
		if name != want || want != "" && most != 128 {
			t.Errorf("%s has %d connections with %q, want them with %q", from, most, name, want)
		}
	}
}

func TestOneBrowserCannotUseUpAllStreams(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		wild, good := w.paired("192.168.1.20", "hot-line"), w.paired("192.168.1.21", "hot-line")
		open := 0
		for i := range 60 {
			got, err := wild.Get(fmt.Sprintf("http://localhost/screen/hot-line/events?page=wild%04d", i))
			must(t, err)
			t.Cleanup(func() { got.Body.Close() })
			if got.StatusCode == http.StatusOK {
				open++
			}
		}
		if open == 0 || open > 32 {
			t.Errorf("one screen has %d streams", open)
		}
		w.listen(good, "hot-line", testPage, "").want("state", "hello", "beat")
	})
}

func TestMalformedRequestsChangeNothing(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		w.put("hot-line", 1)
		w.put("cold", 2)
		c := w.client("127.0.0.1")
		before := w.screens["hot-line"].Board().At()
		key, order := w.screens["hot-line"].Orders().OrderWith(1).Key, w.order("hot-line", 1)
		for body, want := range map[string]string{
			`{"id":"a","do":"item_done","job":-1,"version":1}`:                   "400",
			`{"id":"a","do":"item_done","job":"1","version":1}`:                  "400",
			`{"id":"a","do":"item_done","job":18446744073709551616,"version":1}`: "400",
			`{"id":"a","do":"item_done","job":18446744073709551615,"version":1}`: "gone",
			`{"id":"a","do":"item_done","job":2,"version":1}`:                    "gone", // of another station
			`{"id":"a","do":"item_done","job":1,"version":2}`:                    "conflict",
			`{"id":"a","do":"item_done","job":1,"version":1,"item":-1}`:          "gone",
			`{"id":"a","do":"item_done","job":1,"version":1,"item":1}`:           "gone",
			`{"id":"a","do":"bump","order":"` + key + `","version":1}`:           "conflict",
			`{"id":"a","do":"undo",` + order + `}`:                               "too_late",
			`{"id":"a","do":"ack_void",` + order + `}`:                           "already",
			`{"id":"a","do":"ack_alarm",` + order + `}`:                          "already",
			`{"id":"a","do":"recall",` + order + `}`:                             "already",
			`{"id":"a","do":"tick",` + order + `,"part":"bar"}`:                  "400",
			`{"id":"a\u0000","do":"bump","job":1,"version":1}`:                   "400",
			`{"id":"a","do":"bump","order":"9f","version":1}`:                    "gone",
			strings.Repeat("[", 4000):                                            "400",
			`{"page":` + strings.Repeat(`{"a":`, 600) + `1`:                      "400",
			``: "400",
		} {
			code, text := w.post(c, "/screen/hot-line/do", body)
			got := fmt.Sprint(code)
			if code == http.StatusOK {
				got = string(decode[board.Result](t, text).Outcome)
			}
			if got != want {
				t.Errorf("%.70s: %s, want %s", body, got, want)
			}
		}
		if after := w.screens["hot-line"].Board().At(); after != before {
			t.Errorf("the board went from %s to %s", before, after)
		}
	})
}

func TestAConfirmationOfCardsThatAPageCannotHaveIsIgnored(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.client("127.0.0.1")
		e := w.listen(c, "hot-line", testPage, "")
		go e.drain()
		// Jobs that do not exist yet, that are another station's, and another page's.
		if code, _ := w.shown(c, "hot-line", testPage, "[1,2,3,18446744073709551615]", "[]"); code != http.StatusOK {
			t.Fatalf("answered %d", code)
		}
		w.put("cold", 1)
		if code, _ := w.shown(c, "cold", testPage, "[1]", "[]"); code != http.StatusConflict {
			t.Errorf("a page without a stream there is answered %d", code)
		}
		for _, jobs := range []string{"[-1]", `["1"]`, "[1.5]", "{}", "[18446744073709551616]", "[[1]]",
			"[" + strings.Repeat("1,", 200_000) + "1]"} {
			if code, _ := w.shown(c, "hot-line", testPage, jobs, "[]"); code != http.StatusBadRequest {
				t.Errorf("%.30s is answered %d", jobs, code)
			}
		}
		start := time.Now()
		if proof, err := w.screens["hot-line"].Print(t.Context(), delivery(2), noBegin); err == nil ||
			proof == ticket.Shown {
			t.Errorf("%s, %v, after %v: it was said before the ticket came", proof, err, time.Since(start))
		}
		if code, _ := w.shown(c, "hot-line", testPage, "[2]", "[]"); code != http.StatusOK {
			t.Error("a page that holds it now is not heard")
		}
		wantShown(t, w.screens["hot-line"], delivery(2))
	})
}
