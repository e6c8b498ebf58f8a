package admin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func TestEveryFilterReachesTheQueue(t *testing.T) {
	d := startDaemon(t)
	for want, f := range map[string]Filter{
		"[3 2 1]": {}, "[2]": {Station: "bar"}, "[3]": {Since: time.Unix(1500, 0)}, "[]": {Request: "none"},
		"[3]\n": {States: []ticket.State{"sent", "held"}, Limit: 1},
	} {
		jobs, err := d.Jobs(t.Context(), f)
		got := []uint64{}
		for _, j := range jobs {
			got = append(got, j.ID)
		}
		assert.True(t, err == nil && fmt.Sprint(got) == strings.TrimSpace(want), f, got, err, want)
	}
}

func TestARefusalKeepsItsCodeOverTheSocket(t *testing.T) {
	d := startDaemon(t)
	ctx := t.Context()
	first := func(_ any, err error) error { return err }
	failing := func(fail error) func() error {
		return func() error { d.fail = fail; return first(d.Pair(ctx, "CODE", "hot", false)) }
	}
	for name, x := range map[string]struct {
		do   func() error
		code Code
		says string
	}{
		"no such job": {func() error { return first(d.Job(ctx, 77)) }, NotFound,
			"job 77: not found: ticketrail jobs list shows"},
		"no such state": {func() error { return first(d.Jobs(ctx, Filter{States: []ticket.State{"lost"}})) },
			BadRequest, "pending, held"},
		"no such printer": {func() error { return first(d.Jobs(ctx, Filter{Station: "gril"})) }, NotFound,
			"bar, grill, old"},
		"hold unknown":   {func() error { return d.Hold(ctx, "gril", "") }, NotFound, `"gril"`},
		"resume unknown": {func() error { return d.Resume(ctx, "a/b c") }, NotFound, `"a/b c"`},
		"test an orphan": {func() error { return first(d.Test(ctx, "old")) }, NotFound, "bar, grill"},
		"move to an orphan": {func() error { return first(d.Move(ctx, []uint64{2}, "", "old")) }, NotFound,
			"bar, grill"},
		"move to itself": {func() error { return first(d.Move(ctx, nil, "bar", "bar")) }, BadRequest, "already"},
		"move from nowhere": {func() error { return first(d.Move(ctx, nil, "gril", "bar")) }, NotFound,
			"bar, grill, old"},
		"move nothing": {func() error { return first(d.Move(ctx, nil, "", "bar")) }, BadRequest, "--from"},
		"reprint elsewhere": {func() error { return first(d.Reprint(ctx, 1, ReprintOptions{Station: "gril"})) },
			NotFound, "bar, grill"},
		"reprint what waits": {func() error { return first(d.Reprint(ctx, 2, ReprintOptions{})) }, Conflict, "job 2"},
		"no such reject":     {func() error { return first(d.Reject(ctx, 3)) }, NotFound, "refused request 3"},
		"full disk":          {failing(queue.ErrStorageFull), Storage, "full: ticketrail printers list"},
		"failed disk":        {failing(queue.ErrStorageFailed), Storage, "ticketrail printers list"},
		"stopping":           {failing(queue.ErrClosed), Stopping, "try again when it runs"},
		"too slow": {failing(context.DeadlineExceeded), Timeout,
			"ticketrail jobs list shows whether the change was made"},
		"anything else": {failing(errors.New("boom")), Internal, "boom"},
	} {
		e, ok := errors.AsType[*Error](x.do())
		assert.True(t, ok && e.Code == x.code && strings.Contains(e.Message, x.says), name, e, x.code, x.says)
	}
}

func TestEveryChangeIsMadeAndLoggedWithWhoMadeIt(t *testing.T) {
	var log bytes.Buffer // written before each answer, one at a time
	d := startDaemon(t, func(_ *testDaemon, o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	ctx := t.Context()
	check := func(what string, got, want any, err error) {
		t.Helper()
		assert.True(t, err == nil && cmp.Equal(got, want), what, got, err, want)
	}
	copied, err := d.Reprint(ctx, 1, ReprintOptions{Station: "bar", Reason: "cook asked"})
	check("reprint", copied, Reprinted{Jobs: []uint64{4}, Later: []string{}}, err)
	moved, err := d.Move(ctx, nil, "old", "grill")
	check("move all", moved, []uint64{5}, err)
	moved, err = d.Move(ctx, []uint64{2, 4}, "", "grill")
	check("move", moved, []uint64{6, 7}, err)
	moved, err = d.Move(ctx, nil, "bar", "grill")
	check("move nothing", moved, []uint64{}, err)
	check("cancel", nil, nil, d.Cancel(ctx, 7, ""))
	check("hold", nil, nil, d.Hold(ctx, "bar", ""))
	all, err := d.Stations(ctx)
	check("the stations and advice", len(all.Stations), 2, err)
	assert.Contains(t, all.Stations[0].Advice, "ticketrail printers resume bar")
	check("resume", nil, nil, d.Resume(ctx, "bar"))
	check("kicked", d.kicked, []string{"bar"}, nil)
	id, err := d.Test(ctx, "grill")
	check("test", id, uint64(8), err)
	p, err := d.Pair(ctx, "CODE", "hot", false)
	check("pair", p, Pairing{ID: "of CODE", Station: "hot"}, err)
	p, err = d.Pair(ctx, "CODE", "", true)
	check("pair a manager", p, Pairing{ID: "of CODE", Manager: true}, err)
	p, err = d.Revoke(ctx, "of/CODE")
	check("revoke", p, Pairing{ID: "of/CODE"}, err)
	// Refused changes and requests that change nothing are not logged.
	assert.True(t, d.Hold(ctx, "nobody", "") != nil, "nobody was held")
	screens, err := d.Screens(ctx)
	check("screens", screens, Screens{Screens: []Screen{{Name: "hot"}}, Pairings: []Pairing{}}, err)

	x, err := d.Job(ctx, 1)
	check("timeline", x.Timeline, []Moment{
		{time.Unix(1000, 0).UTC(), "accepted"},
		{time.Unix(1001, 0).UTC(), "shown on grill"},
		{time.Unix(1002, 0).UTC(), "bumped at grill"},
		{*x.Job.FinishedAt, "sent at grill"},
	}, err)

	me := fmt.Sprintf("uid %d", os.Getuid()) // for a uid without a name
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		me = u.Username
	}
	x, err = d.Job(ctx, 7)
	check("a change without a reason keeps who made it", x.Job.Reason, "by "+me, err)
	check("and the timeline says it", x.Timeline[1].Text, "cancelled at grill: by "+me, err)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	actions := []string{"reprint", "move", "move", "cancel", "hold", "resume", "test", "pair", "pair", "revoke"}
	for i, action := range actions {
		assert.True(t, i < len(lines) && strings.Contains(lines[i], "action="+action) &&
			strings.Contains(lines[i], "actor=") && !strings.Contains(lines[i], "actor=unknown"), i+1, action,
			log.String())
	}
	assert.Equal(t, len(lines), len(actions), log.String())
}

func TestALongReasonIsCut(t *testing.T) {
	d := startDaemon(t)
	long := strings.Repeat("r", maxReason-1) + "é"
	assert.NoError(t, errors.Join(d.Cancel(t.Context(), 2, long), d.Hold(t.Context(), "bar", long)))
	x, err := d.Job(t.Context(), 2)
	hold := d.queue.HoldOf("bar").Reason
	want := strings.Repeat("r", maxReason-1)
	assert.True(t, err == nil && x.Job.Reason == want && strings.HasPrefix(hold, want+" ("),
		x.Job.Reason, hold, err)
}

func TestMalformedRequestsAndOtherVersionsAreRefused(t *testing.T) {
	d := startDaemon(t)
	for _, x := range []struct {
		method, path, body, version, status, says string
	}{
		{"GET", "/v1/stations", "", API, "200", ""},
		{"GET", "/v1/stations", "", "1", "400", "control API 1 and the running daemon speaks " + API},
		{"GET", "/v1/stations", "", "", "400", HeaderAPI},
		{"POST", "/v1/move", `{"ids":[` + strings.Repeat("1,", maxBody/2) + `1],"to":"bar"}`, API, "400", "too large"},
		{"POST", "/v1/move", `{"form":"old","to":"bar"}`, API, "400", "form"},
		{"POST", "/v1/move", `{`, API, "400", ""},
		{"POST", "/v1/jobs/-1/cancel", ``, API, "404", "job 0"},
		{"GET", "/v1/jobs", `{"sate":"held"}`, API, "400", "sate"},
		{"GET", "/v1/jobs", `{"limit":-1}`, API, "400", "limit"},
		{"POST", "/v1/nowhere", ``, API, "404", "does not know"},
		{"POST", "/v1/jobs", ``, API, "404", "does not know"},
	} {
		got := d.ask(t, x.method, x.path, x.body, x.version)
		assert.True(t, strings.HasPrefix(got, x.status) && strings.Contains(got, x.says),
			x.method, x.path, x.version, got, x.status, x.says)
	}
}

func TestTheClientRefusesOtherServersAndVersions(t *testing.T) {
	newer := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(HeaderAPI, "99") })
	_, err := newer.Stations(t.Context())
	e, ok := errors.AsType[*Error](err)
	assert.True(t, ok && e.Code == Mismatch, "a newer daemon", err)
	other := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, err = other.Stations(t.Context())
	assert.True(t, err != nil && strings.Contains(err.Error(), "is not ticketrail"), "another program", err)
	dying := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	err = dying.Cancel(t.Context(), 1, "")
	assert.True(t, err != nil && strings.Contains(err.Error(), "unknown"), "a daemon that dies over a change", err)
	// The test may run as root, which may open every socket, so the kernel's error is made here.
	denied := &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
	err = dialError("/s", denied)
	assert.True(t, errors.Is(err, ErrUnreachable) && strings.Contains(err.Error(), "use sudo"), err)
	_, err = NewClient(socketPath(t)).Stations(t.Context())
	down, ok := errors.AsType[*NotRunning](err)
	assert.True(t, ok && strings.Contains(down.Error(), "systemctl start"), "no daemon", err)
}

func TestTooManyRequestsAtOnceAreRefusedAsBusy(t *testing.T) {
	d := startDaemon(t, slow)
	done := make(chan error, maxRequests)
	for range maxRequests {
		go func() { _, err := d.Stations(t.Context()); done <- err }()
	}
	for range maxRequests {
		<-d.entered // each is inside now
	}
	_, err := d.Job(t.Context(), 1)
	e, ok := errors.AsType[*Error](err)
	assert.True(t, ok && e.Code == Busy, "one request too many gives", err)
	close(d.release)
	for range maxRequests {
		assert.NoError(t, <-done)
	}
}

func TestAClientThatSendsItsRequestSlowlyKeepsOutNobody(t *testing.T) {
	d := startDaemon(t)
	for range maxRequests {
		c, err := net.Dial("unix", d.path)
		assert.NoError(t, err)
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/move HTTP/1.1\r\nHost: x\r\n%s: %s\r\nExpect: 100-continue\r\n"+
			"Content-Length: 99\r\n\r\n", HeaderAPI, API)
		// The answer to Expect says that the daemon has begun to read the body.
		line, err := bufio.NewReader(c).ReadString('\n')
		assert.True(t, err == nil && line == "HTTP/1.1 100 Continue\r\n", line, err)
	}
	_, err := d.Stations(t.Context())
	assert.True(t, err == nil, err)
}

func TestARequestInProgressIsFinishedWhenTheDaemonStops(t *testing.T) {
	d := startDaemon(t, slow)
	done := make(chan error, 1)
	go func() { _, err := d.Stations(context.Background()); done <- err }()
	<-d.entered
	d.stop()
	close(d.release)
	assert.NoError(t, <-done)
}

func TestBodiesCrossTheSocketByteForByte(t *testing.T) {
	d := startDaemon(t)
	x, err := d.Job(t.Context(), 1)
	assert.True(t, err == nil && string(x.Body) == `{"id": 1}`+"\xff" && x.Ticket.Request == "req-a" &&
		x.Job.State == ticket.Sent, x, err)
	r, err := d.Reject(t.Context(), 1)
	assert.True(t, err == nil && string(r.Body) == "{\x00", r, err)
	all, err := d.Rejects(t.Context())
	assert.True(t, err == nil && len(all) == 1 && all[0].Body == nil, all, err)
}

func TestALongListIsWhole(t *testing.T) {
	d := manyJobs(t)
	jobs, err := d.Jobs(t.Context(), Filter{})
	assert.True(t, err == nil && len(jobs) == many+3, len(jobs), err)
	for i, j := range jobs {
		assert.Equal(t, j.ID, uint64(many+3-i))
	}
}

func TestAListThatBreaksOffIsNotTakenForTheWhole(t *testing.T) {
	d := manyJobs(t)
	resp := d.beginList(t)
	assert.NoError(t, d.queue.Close())
	b, err := io.ReadAll(resp.Body)
	assert.True(t, errors.Is(err, io.ErrUnexpectedEOF), len(b), err)
	_, err = d.Jobs(t.Context(), Filter{})
	assert.True(t, err != nil, "a list of a closed queue")
}

// ask sends any request, also one that no Client sends, and returns the status and body of the answer.
func (d *testDaemon) ask(t *testing.T, method, path, body, version string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://ticketrail"+path, strings.NewReader(body))
	assert.NoError(t, err)
	if version != "" {
		req.Header.Set(HeaderAPI, version)
	}
	resp, err := d.http.Do(req)
	assert.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	assert.NoError(t, err)
	return resp.Status + " " + string(b)
}

// serve answers on a socket with h instead of a [Server].
func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	path := socketPath(t)
	l, err := net.Listen("unix", path)
	assert.NoError(t, err)
	srv := &http.Server{Handler: h}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return NewClient(path)
}

// slow makes the list of stations wait until release is closed.
func slow(d *testDaemon, _ *Options) { d.entered, d.release = make(chan struct{}), make(chan struct{}) }

// many is how many jobs make a list much longer than the buffers of a socket.
const many = 4000

// manyJobs is a daemon whose list of jobs is much longer than the buffers of a socket.
func manyJobs(t *testing.T) *testDaemon {
	d := startDaemon(t)
	d.acceptAtBar(t, slices.Repeat([]ticket.Ticket{{}}, many)...)
	return d
}

// beginList asks for all jobs and reads the head of the answer.
func (d *testDaemon) beginList(t *testing.T) *http.Response {
	t.Helper()
	c, err := net.Dial("unix", d.path)
	assert.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n%s: %s\r\n\r\n", HeaderAPI, API)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	assert.NoError(t, err)
	assert.Equal(t, resp.StatusCode, 200)
	return resp
}
