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
		d.expect(t, http.StatusOK, "POST", path, body)
		d.expect(t, http.StatusConflict, "POST", path, body)
		jobs, err := d.Jobs(t.Context(), Filter{Station: "bar"})
		assert.True(t, err == nil && len(jobs) == 2, "at bar there are", what, jobs, err)
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
		d.expect(t, http.StatusConflict, "POST", path, body)
	}
	k := d.pageTicket(t, 2)
	assert.True(t, k.State == ticket.Held && k.Station == "bar", k)
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
			d.expect(t, http.StatusBadRequest, "POST", path, body)
		}
	}
	v := d.pageTicket(t, 2).Version
	for _, body := range []string{
		fmt.Sprintf(`{"ids":[2],"versions":[%q,%q],"to":"grill"}`, v, v),
		fmt.Sprintf(`{"from":"bar","versions":[%q],"to":"grill"}`, v),
	} {
		d.expect(t, http.StatusBadRequest, "POST", "/move", body)
	}
	assert.Equal(t, d.pageTicket(t, 2).Station, "bar", "it was moved")
}

func TestWhatAManagerDidIsLoggedAndStoredWithTheBrowser(t *testing.T) {
	var log bytes.Buffer
	d := startDaemon(t, func(_ *testDaemon, o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	body := fmt.Sprintf(`{"version":%q}`, d.pageTicket(t, 2).Version)
	d.expect(t, http.StatusOK, "POST", "/jobs/2/cancel", body)
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
		d.expect(t, http.StatusNotFound, method, path, `{"version":"x","manager":true}`)
	}
}

func TestThePageShowsTicketsThatNeedAPersonFirst(t *testing.T) {
	d := startDaemon(t, func(_ *testDaemon, o *Options) {
		o.Zone = func() *time.Location { return time.FixedZone("Asia/Tokyo", 9*3600) }
	})
	p := d.page(t)
	assert.True(t, p.Zone == "Asia/Tokyo" && len(p.Tickets) == 2 && p.Tickets[0].ID == 3 && p.Tickets[1].ID == 2 &&
		len(p.Printed) == 1 && p.Printed[0].ID == 1 && p.More == 0, p.Zone, p.Tickets, p.Printed,
		p.More)
	assert.True(t, len(p.Findings) != 0 && len(p.Stations) == 3 && len(p.Rejects) == 1 && p.Rejects[0].Body == nil,
		p.Findings, p.Stations, p.Rejects)
}

// TestThePageListsTheTicketsThatPrintNextAndCountsTheOthers, or "move its tickets" would put the newest ones in front
// of the others at the other station.
func TestThePageListsTheTicketsThatPrintNextAndCountsTheOthers(t *testing.T) {
	d := startDaemon(t)
	d.acceptAtBar(t, slices.Repeat([]ticket.Ticket{{}}, maxOpenOnPage+5)...)
	p := d.page(t)
	// A long queue does not hide job 3, which is held. Job 2 is the oldest that waits.
	assert.True(t, len(p.Tickets) == 1+maxOpenOnPage && p.More == 6 && p.Tickets[0].ID == 3 && p.Tickets[1].ID == 2,
		len(p.Tickets), p.Tickets[0].ID, p.Tickets[1].ID, p.More)
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
		var v any
		assert.NoError(t, json.Unmarshal([]byte(d.expect(t, http.StatusOK, "GET", path, "")), &v))
		text := fmt.Sprintf("%q", v)
		assert.True(t, !strings.ContainsAny(fmt.Sprint(v), "\x1b\x00\u202e\u2028\u0085") &&
			strings.Contains(text, "b"), path, text)
	}
}

func TestThePageShowsATicketAsOnPaper(t *testing.T) {
	d := startDaemon(t)
	d.acceptAtBar(t, ticket.Ticket{Number: "18", Lines: []ticket.Line{{Quantity: "1", Name: "Beer", Void: true}}})
	var p Paper
	body := d.expect(t, http.StatusOK, "GET", "/jobs/4/paper", "")
	assert.NoError(t, json.Unmarshal([]byte(body), &p))
	assert.Equal(t, p.Columns, 32)
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
	assert.True(t, strings.Contains(text.String(), "Beer") && strings.Contains(text.String(), "VOID") && big &&
		inverted, body)
	d.expect(t, http.StatusNotFound, "GET", "/jobs/99/paper", "")
}

func TestThePageIsNotToldAboutPathsOnTheBox(t *testing.T) {
	d := startDaemon(t, func(_ *testDaemon, o *Options) {
		o.Layout = func(string) (layout.Options, error) { return layout.Options{}, errors.New("open /var/lib/secret") }
		o.ConfigPath, o.Settings = "/var/lib/secret", fakeSettings{}
	})
	for _, route := range []string{"GET /jobs/1/paper", "POST /settings/untell", "GET /settings"} {
		method, path, _ := strings.Cut(route, " ")
		said := d.expect(t, http.StatusInternalServerError, method, path, `{"version":"1","name":"x"}`)
		assert.True(t, !strings.Contains(said, "/var/lib") && strings.Contains(said, "not done"), route, said)
	}
}

func TestAManagerLooksForPrintersAndWhoMayOnlyLookDoesNot(t *testing.T) {
	d := startDaemon(t, func(_ *testDaemon, o *Options) { o.Settings = fakeSettings{} })
	d.expect(t, http.StatusNotFound, "GET", "/settings/found", "")
	found := d.expect(t, http.StatusOK, "POST", "/settings/found", "{}")
	assert.True(t, strings.Contains(found, "tcp://10.0.0.9:9100") && !strings.Contains(found, `\u001b`), found)

	synctest.Test(t, func(t *testing.T) {
		server := New(Options{Settings: fakeSettings{slow: true}, Logger: slog.New(slog.DiscardHandler)})
		answer := httptest.NewRecorder()
		server.ServePage(answer, httptest.NewRequest("POST", "/settings/found", strings.NewReader("{}")), "a browser")
		body := answer.Body.String()
		assert.True(t, answer.Code == http.StatusGatewayTimeout &&
			strings.Contains(body, "ticketrail printers discover looks longer"), answer.Code, body)
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
		assert.Contains(t, d.expect(t, c.code, "POST", "/rejects/1/print", c.body), c.said)
	}
	const line = `action="print refused request" actor="pairing y4n7k" reject=1`
	said := log.String()
	assert.True(t, strings.Contains(said, line) && strings.Count(said, "action=") == 1, "the log is", said)
	d.expect(t, http.StatusNotFound, "POST", "/rejects/9/print", `{"version":"refused"}`)
	assert.Contains(t, d.expect(t, http.StatusOK, "GET", "/state", ""), `"printed":"20`)
}

// expect sends a request as the page does, after package kds has authorized it, compares the code of the answer, and
// returns its body.
func (d *testDaemon) expect(t *testing.T, want int, method, path, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	d.server.ServePage(w, httptest.NewRequest(method, path, strings.NewReader(body)), "pairing y4n7k")
	assert.Equal(t, w.Code, want, method, path, body, w.Body)
	return w.Body.String()
}

// page is the text of the page.
func (d *testDaemon) page(t *testing.T) (p PageState) {
	t.Helper()
	assert.NoError(t, json.Unmarshal([]byte(d.expect(t, http.StatusOK, "GET", "/state", "")), &p))
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
