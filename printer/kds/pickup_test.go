package kds_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestAPickupBoardHasTheNumbersOfATakeawayUntilTheyAreSentOut(t *testing.T) {
	withPass(t, func(w *testServer, pass *board.Pass) {
		c := w.paired("10.0.0.9", "pass/pickup")
		e := w.listen(c, "pass/pickup", "", "")
		w.take("41", "Takeaway", "", "Priya", 1)
		w.take("42", "Dine In", "12", "", 2)
		w.take("43", "", "", "Max", 3)
		w.take("", "Takeaway", "", "Zoe", 4)
		for e.want("pickup", "hello", "beat").data != `{"preparing":["41","43"],"ready":[]}` {
			// the orders before the latest
		}

		box := w.client("127.0.0.1")
		w.post(box, "/screen/hot-line/do", `{"id":"a","do":"bump",`+w.order("hot-line", 1)+`}`)
		assert.Equal(t, e.want("pickup", "beat").data, `{"preparing":["43"],"ready":["41"]}`)
		w.post(box, "/screen/pass/do", `{"id":"b","do":"bump",`+w.order("pass", 1)+`}`)
		assert.Equal(t, e.want("pickup", "beat").data, `{"preparing":["43"],"ready":[]}`)
		wantLive(t, w.screens["pass"], 0)

		w.displays[2].PickupNames = true
		w.server.Set(w.displays)
		e = w.listen(c, "pass/pickup", "", "")
		assert.Equal(t, e.want("pickup", "hello", "beat").data, `{"preparing":["43 Max","Zoe"],"ready":[]}`)
	})
}

func TestABrowserOfAPickupBoardSeesNothingElse(t *testing.T) {
	withPass(t, func(w *testServer, _ *board.Pass) {
		w.take("41", "Takeaway", "", "Priya", 1)
		c := w.paired("10.0.0.9", "pass/pickup")
		for path, want := range map[string]int{
			"/": http.StatusSeeOther, "/screen/pass/pickup": http.StatusOK,
			"/screen/pass": http.StatusSeeOther, "/screen/pass/state": http.StatusForbidden,
			"/screen/pass/events?page=abcdefgh": http.StatusForbidden, "/screen/pass%2Fpickup": http.StatusNotFound,
			"/screen/hot-line/pickup": http.StatusSeeOther, "/screen/pass%2Fpickup/state": http.StatusNotFound,
			"/manage": http.StatusForbidden, "/screen/pass/timeline": http.StatusForbidden,
		} {
			code, text, h := w.get(c, path)
			assert.True(t, code == want && !strings.Contains(text, "Priya"), path, code, h.Get("Location"), text, want)
		}
		code, _ := w.post(c, "/screen/pass/do", `{"id":"a","do":"bump"}`)
		assert.Equal(t, code, http.StatusForbidden)
		_, _, h := w.get(c, "/")
		assert.Equal(t, h.Get("Location"), "/screen/pass/pickup")

		stranger := w.newTablet("10.0.0.10")
		code, _, h = w.get(stranger, "/screen/pass/pickup")
		assert.True(t, code == 303 && h.Get("Location") == "/", code, h.Get("Location"))
		code, _, _ = w.get(stranger, "/screen/pass/pickup/events")
		assert.Equal(t, code, http.StatusUnauthorized)
		_, err := w.pair(w.code(stranger), "hot-line/pickup")
		assert.True(t, err != nil, "paired with the pickup board of a screen that has none")
		code, _, _ = w.get(w.client("127.0.0.1"), "/screen/hot-line/pickup")
		assert.Equal(t, code, http.StatusNotFound)
	})
}

// withPass runs f with a pass over hot-line as the third display.
func withPass(t *testing.T, f func(w *testServer, pass *board.Pass)) {
	withServer(t, func(t *testing.T, w *testServer) {
		pass := w.openPass("hot-line")
		defer pass.Close()
		f(w, pass)
	})
}

// openPass adds a pass over these screens as the last display.
func (w *testServer) openPass(over ...string) *board.Pass {
	w.t.Helper()
	of := board.PassOptions{Station: "pass", KV: queuetest.NewStore(), Title: strings.ToUpper}
	for _, name := range over {
		of.Boards = append(of.Boards, w.screens[name].Board())
	}
	pass, err := board.OpenPass(of)
	assert.NoError(w.t, err)
	own := openBoard(w.t, "pass", queuetest.NewStore())
	w.screens["pass"] = kds.NewScreen(kds.ScreenOptions{Name: "pass", Board: own, Pass: pass})
	w.displays = append(w.displays, kds.ServedScreen{Screen: w.screens["pass"], Zone: utc})
	w.server.Set(w.displays)
	return pass
}

// take puts an order on the hot line.
func (w *testServer) take(number, kind, table, customer string, job uint64) {
	w.t.Helper()
	w.add("hot-line", ticket.Delivery{Job: job, Ticket: ticket.Ticket{
		Request: "r" + number + customer, Number: number, Type: kind, Table: table, Customer: customer,
		Received: time.Now(), Lines: []ticket.Line{{Quantity: "1", Name: "Burger"}},
	}})
}
