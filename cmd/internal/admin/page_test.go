package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/setup"
	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// Of testQueue: job 1 is out at grill, job 2 waits at bar, job 3 is held at old, which is no longer configured.

func TestTwoTapsOnThePagePrintOneCopy(t *testing.T) {
	for id, what := range map[uint64]string{1: "out", 3: "held"} {
		d := startDaemon(t)
		body := fmt.Sprintf(`{"version":%q,"station":"bar"}`, d.pageTicket(t, id).Version)
		path := fmt.Sprintf("/jobs/%d/reprint", id)
		if code, text := d.onPage("POST", path, body); code != http.StatusOK {
			t.Errorf("%s: the first tap: %d %s", what, code, text)
		}
		if code, text := d.onPage("POST", path, body); code != http.StatusConflict {
			t.Errorf("%s: the second tap: %d %s", what, code, text)
		}
		if jobs, err := d.Jobs(t.Context(), Filter{Station: "bar"}); err != nil || len(jobs) != 2 {
			t.Errorf("%s: at bar there are %+v, %v", what, jobs, err)
		}
	}
}

func TestAPageThatIsOldChangesNothing(t *testing.T) {
	d := startDaemon(t)
	wait := d.pageTicket(t, 2)
	since := time.Now()
	for range 2 { // somebody else has stopped it again
		assert.NoError(t, d.Hold(t.Context(), "bar", "clean it"))
	}
	assert.NoError(t, d.queue.ResumeStation(t.Context(), "bar"))
	l, err := d.queue.Take(t.Context(), "bar")
	assert.NoError(t, err)
	assert.NoError(t, l.Settle(t.Context(), queue.Settlement{End: queue.Hold, Reason: "it may have come out"}))
	assert.NoError(t, d.Hold(t.Context(), "bar", "again"))
	for path, body := range map[string]string{
		"/jobs/2/cancel":       fmt.Sprintf(`{"version":%q}`, wait.Version),
		"/jobs/2/reprint":      fmt.Sprintf(`{"version":%q}`, wait.Version),
		"/move":                fmt.Sprintf(`{"ids":[2],"versions":[%q],"to":"grill"}`, wait.Version),
		"/stations/bar/resume": fmt.Sprintf(`{"since":%q}`, since.Format(time.RFC3339Nano)),
	} {
		code, text := d.onPage("POST", path, body)
		assert.Equal(t, code, http.StatusConflict, path, text)
	}
	if k := d.pageTicket(t, 2); k.State != ticket.Held || k.Station != "bar" {
		t.Errorf("it is %+v", k)
	}
}

func TestThePageMustSayWhatItShowed(t *testing.T) {
	d := startDaemon(t)
	for path, bodies := range map[string][]string{
		"/jobs/3/cancel":  {``, `{}`, `{"version":""}`, `{"reason":"x"}`},
		"/jobs/3/reprint": {``, `{}`, `{"station":"bar"}`},
		"/move": {`{"ids":[2],"to":"grill"}`, `{"ids":[2],"versions":[""],"to":"grill"}`,
			`{"from":"bar","to":"grill"}`},
		"/stations/bar/resume": {``, `{}`, `{"since":null}`},
	} {
		for _, body := range bodies {
			code, text := d.onPage("POST", path, body)
			assert.Equal(t, code, http.StatusBadRequest, path, body, text)
		}
	}
	v := d.pageTicket(t, 2).Version
	for _, body := range []string{
		fmt.Sprintf(`{"ids":[2],"versions":[%q,%q],"to":"grill"}`, v, v),
		fmt.Sprintf(`{"from":"bar","versions":[%q],"to":"grill"}`, v),
	} {
		if code, text := d.onPage("POST", "/move", body); code != http.StatusBadRequest {
			t.Errorf("%s: %s", body, text)
		}
	}
	assert.Equal(t, d.pageTicket(t, 2).Station, "bar", "it was moved")
}

func TestWhatAManagerDidIsLoggedAndStoredWithTheBrowser(t *testing.T) {
	var log bytes.Buffer
	d := startDaemon(t, func(_ *testDaemon, o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	body := fmt.Sprintf(`{"version":%q}`, d.pageTicket(t, 2).Version)
	if code, text := d.onPage("POST", "/jobs/2/cancel", body); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	x, err := d.Job(t.Context(), 2)
	assert.True(t, err == nil && x.Job.Reason == "by pairing y4n7k", x.Job, err)
	assert.Contains(t, log.String(), `action=cancel actor="pairing y4n7k" job=2`)
}

func TestThePageReachesNothingElseOfTheControlAPI(t *testing.T) {
	d := startDaemon(t)
	for _, route := range []string{
		"POST /v1/screens/pair", "POST /screens/pair", "POST /v1/jobs/3/cancel", "POST /stations/bar/hold",
		"POST /stations/bar/test", "GET /jobs/3", "GET /rejects/1", "GET /state/../v1/jobs", "DELETE /jobs/3/cancel",
	} {
		method, path, _ := strings.Cut(route, " ")
		code, text := d.onPage(method, path, `{"version":"x","manager":true}`)
		assert.Equal(t, code, http.StatusNotFound, route, text)
	}
}

func TestThePageShowsTicketsThatNeedAPersonFirst(t *testing.T) {
	d := startDaemon(t, func(_ *testDaemon, o *Options) {
		o.Zone = func() *time.Location { return time.FixedZone("Asia/Tokyo", 9*3600) }
	})
	p := d.page(t)
	if p.Zone != "Asia/Tokyo" || len(p.Tickets) != 2 || p.Tickets[0].ID != 3 || p.Tickets[1].ID != 2 ||
		len(p.Printed) != 1 || p.Printed[0].ID != 1 || p.More != 0 {
		t.Errorf("%s: %+v, printed %+v, %d more", p.Zone, p.Tickets, p.Printed, p.More)
	}
	if len(p.Findings) == 0 || len(p.Stations) != 3 || len(p.Rejects) != 1 || p.Rejects[0].Body != nil {
		t.Errorf("%+v %+v %+v", p.Findings, p.Stations, p.Rejects)
	}
}

// TestThePageListsTheTicketsThatPrintNextAndCountsTheOthers, or "move its tickets" would put the newest ones in front
// of the others at the other station.
func TestThePageListsTheTicketsThatPrintNextAndCountsTheOthers(t *testing.T) {
	d := startDaemon(t)
	d.acceptAtBar(t, slices.Repeat([]ticket.Ticket{{}}, maxOpenOnPage+5)...)
	p := d.page(t)
	// A long queue does not hide job 3, which is held. Job 2 is the oldest that waits.
	if len(p.Tickets) != 1+maxOpenOnPage || p.More != 6 || p.Tickets[0].ID != 3 || p.Tickets[1].ID != 2 {
		t.Errorf("%d tickets, %d and from %d, and %d more", len(p.Tickets), p.Tickets[0].ID, p.Tickets[1].ID, p.More)
	}
}

func TestTextsOnThePageHaveNoControlCharacters(t *testing.T) {
	const hostile = "a\x1b[31m\u202eb\x00\u2028c\u0085"
	d := startDaemon(t, func(_ *testDaemon, o *Options) {
		err := o.Rejects.Store(t.Context(), receiver.Reject{Message: hostile, Device: hostile, Code: hostile})
		assert.NoError(t, err)
		o.Stations = func() []finding.Station { return []finding.Station{{Name: "bar", Error: hostile}} }
	})
	d.acceptAtBar(t, ticket.Ticket{Number: hostile, Table: hostile, Request: hostile, VenueName: hostile,
		Lines: []ticket.Line{{Quantity: "1", Name: hostile}}})
	for _, path := range []string{"/state", "/jobs/4/paper"} {
		code, body := d.onPage("GET", path, "")
		var v any
		if code != http.StatusOK || json.Unmarshal([]byte(body), &v) != nil {
			t.Fatalf("%s: %d %s", path, code, body)
		}
		if text := fmt.Sprintf("%q", v); strings.ContainsAny(fmt.Sprint(v), "\x1b\x00\u202e\u2028\u0085") ||
			!strings.Contains(text, "b") {
			t.Errorf("%s: %s", path, text)
		}
	}
}

func TestThePageShowsATicketAsOnPaper(t *testing.T) {
	d := startDaemon(t)
	d.acceptAtBar(t, ticket.Ticket{Number: "18", Lines: []ticket.Line{{Quantity: "1", Name: "Beer", Void: true}}})
	var p Paper
	code, body := d.onPage("GET", "/jobs/4/paper", "")
	if code != http.StatusOK || json.Unmarshal([]byte(body), &p) != nil || p.Columns != 32 {
		t.Fatalf("%d %s", code, body)
	}
	var text strings.Builder
	big, inverted := false, false
	for _, l := range p.Lines {
		used := 0
		for _, s := range l.Spans {
			text.WriteString(s.Text)
			used += s.Columns * s.Width
			big, inverted = big || s.Height > 1 && l.Height >= s.Height, inverted || s.Invert
		}
		assert.True(t, used <= p.Columns, "a line that is too wide", used, l)
	}
	if !strings.Contains(text.String(), "Beer") || !strings.Contains(text.String(), "VOID") || !big || !inverted {
		t.Errorf("%s", body)
	}
	if code, body := d.onPage("GET", "/jobs/99/paper", ""); code != http.StatusNotFound {
		t.Errorf("a ticket that is not there: %d %s", code, body)
	}
}

func TestThePageIsNotToldAboutPathsOnTheBox(t *testing.T) {
	d := startDaemon(t, func(_ *testDaemon, o *Options) {
		o.Layout = func(string) (layout.Options, error) { return layout.Options{}, errors.New("open /var/lib/secret") }
		o.ConfigPath, o.Settings = "/var/lib/secret", fakeSettings{}
	})
	for _, route := range []string{"GET /jobs/1/paper", "POST /settings/untell", "GET /settings"} {
		method, path, _ := strings.Cut(route, " ")
		if code, body := d.onPage(method, path, `{"version":"1","name":"x"}`); code != http.StatusInternalServerError ||
			strings.Contains(body, "/var/lib") || !strings.Contains(body, "not done") {
			t.Errorf("%s: %d %s", route, code, body)
		}
	}
}

func TestAManagerLooksForPrintersAndWhoMayOnlyLookDoesNot(t *testing.T) {
	d := startDaemon(t, func(_ *testDaemon, o *Options) { o.Settings = fakeSettings{} })
	if code, body := d.onPage("GET", "/settings/found", ""); code != http.StatusNotFound {
		t.Errorf("a GET starts a search: %d %s", code, body)
	}
	if code, body := d.onPage("POST", "/settings/found", "{}"); code != http.StatusOK ||
		!strings.Contains(body, "tcp://10.0.0.9:9100") || strings.Contains(body, `\u001b`) {
		t.Errorf("%d %s", code, body)
	}

	synctest.Test(t, func(t *testing.T) {
		server := New(Options{Settings: fakeSettings{slow: true}, Logger: slog.New(slog.DiscardHandler)})
		answer := httptest.NewRecorder()
		server.ServePage(answer, httptest.NewRequest("POST", "/settings/found", strings.NewReader("{}")), "a browser")
		if body := answer.Body.String(); answer.Code != http.StatusGatewayTimeout ||
			!strings.Contains(body, "ticketrail printers discover looks longer") {
			t.Errorf("%d %s", answer.Code, body)
		}
	})
}

func TestAManagerPrintsARefusedRequestOnceAndTheLogSaysWho(t *testing.T) {
	var log bytes.Buffer
	d := startDaemon(t, func(_ *testDaemon, o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, c := range []struct {
		body string
		code int
		said string
	}{
		{`{}`, http.StatusBadRequest, "lacks the version"},
		{`{"version":"refused"}`, http.StatusConflict, "refused request 1: it still cannot be read"},
		{`{"version":"refused","lenient":true}`, http.StatusOK, `{"jobs":2,"known":false}`},
		{`{"version":"refused","lenient":true}`, http.StatusConflict, "printed meanwhile"},
	} {
		code, said := d.onPage("POST", "/rejects/1/print", c.body)
		assert.True(t, code == c.code && strings.Contains(said, c.said), c.body, code, said)
	}
	const line = `action="print refused request" actor="pairing y4n7k" reject=1`
	if said := log.String(); !strings.Contains(said, line) || strings.Count(said, "action=") != 1 {
		t.Errorf("the log is %s", said)
	}
	if code, said := d.onPage("POST", "/rejects/9/print", `{"version":"refused"}`); code != http.StatusNotFound {
		t.Errorf("%d %s", code, said)
	}
	_, state := d.onPage("GET", "/state", "")
	assert.Contains(t, state, `"printed":"20`)
}

// onPage sends a request as the page does, after package kds has authorized it.
func (d *testDaemon) onPage(method, path, body string) (int, string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	d.server.ServePage(w, r, "pairing y4n7k")
	return w.Code, w.Body.String()
}

// page is the text of the page.
func (d *testDaemon) page(t *testing.T) (p PageState) {
	t.Helper()
	if code, body := d.onPage("GET", "/state", ""); code != http.StatusOK || json.Unmarshal([]byte(body), &p) != nil {
		t.Fatalf("%d %s", code, body)
	}
	return p
}

// pageTicket is a ticket as the page shows it.
func (d *testDaemon) pageTicket(t *testing.T, id uint64) PageTicket {
	t.Helper()
	p := d.page(t)
	for _, k := range append(p.Tickets, p.Printed...) {
		if k.ID == id {
			return k
		}
	}
	t.Fatalf("the page lacks ticket %d: %+v", id, p.Tickets)
	return PageTicket{}
}

// fakeSettings finds one printer, or nothing in time.
type fakeSettings struct {
	Settings
	slow bool
}

func (fakeSettings) Change(string, setup.Edit) ([]string, error) {
	return nil, fmt.Errorf("rename: %w", &fs.PathError{Op: "open", Path: "/var/lib/secret", Err: syscall.EIO})
}

func (f fakeSettings) Discover(ctx context.Context) (any, error) {
	if f.slow {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return []map[string]string{{"address": "tcp://10.0.0.9:9100", "model": "TM\x1b[2J"}}, nil
}
