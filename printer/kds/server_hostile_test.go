package kds_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
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
		assert.True(t, name == want && (want == "" || most == 128), from, most, name, want)
	}
}

func TestOneBrowserCannotUseUpAllStreams(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		wild, good := w.paired("192.168.1.20", "hot-line"), w.paired("192.168.1.21", "hot-line")
		open := 0
		for i := range 60 {
			got, err := wild.Get(fmt.Sprintf("http://localhost/screen/hot-line/events?page=wild%04d", i))
			assert.NoError(t, err)
			t.Cleanup(func() { got.Body.Close() })
			if got.StatusCode == http.StatusOK {
				open++
			}
		}
		assert.True(t, open != 0 && open <= 32, open)
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
			assert.Equal(t, got, want, body)
		}
		assert.Equal(t, w.screens["hot-line"].Board().At(), before)
	})
}

func TestAConfirmationOfCardsThatAPageCannotHaveIsIgnored(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.client("127.0.0.1")
		e := w.listen(c, "hot-line", testPage, "")
		go e.drain()
		// Jobs that do not exist yet, that are another station's, and another page's.
		code, _ := w.shown(c, "hot-line", testPage, "[1,2,3,18446744073709551615]", "[]")
		assert.Equal(t, code, http.StatusOK)
		w.put("cold", 1)
		code, _ = w.shown(c, "cold", testPage, "[1]", "[]")
		assert.Equal(t, code, http.StatusConflict)
		for _, jobs := range []string{"[-1]", `["1"]`, "[1.5]", "{}", "[18446744073709551616]", "[[1]]",
			"[" + strings.Repeat("1,", 200_000) + "1]"} {
			code, _ := w.shown(c, "hot-line", testPage, jobs, "[]")
			assert.Equal(t, code, http.StatusBadRequest, jobs)
		}
		start := time.Now()
		proof, err := w.screens["hot-line"].Print(t.Context(), delivery(2), noBegin)
		assert.True(t, err != nil && proof != ticket.Shown, proof, err, time.Since(start))
		code, _ = w.shown(c, "hot-line", testPage, "[2]", "[]")
		assert.Equal(t, code, http.StatusOK, "a page that holds it now is not heard")
		wantShown(t, w.screens["hot-line"], delivery(2))
	})
}
