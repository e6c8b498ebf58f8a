package admin

import (
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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/httpserver"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func ids(jobs []Job) []uint64 {
	var out []uint64
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return out
}

func TestEveryFilterReachesTheQueue(t *testing.T) {
	c, _ := open(t, newKitchen(t).options())
	for _, x := range []struct {
		f    Filter
		want []uint64
	}{
		{Filter{}, []uint64{9, 8, 7}},
		{Filter{States: []string{"sent", "held"}}, []uint64{9, 7}},
		{Filter{Station: "bar"}, []uint64{8}},
		{Filter{Request: "req-a"}, []uint64{8, 7}},
		{Filter{Since: time.Unix(1500, 0)}, []uint64{9}},
		{Filter{Limit: 2}, []uint64{9, 8}},
		{Filter{States: []string{"buried"}}, nil},
	} {
		jobs, err := c.Jobs(t.Context(), x.f)
		if err != nil {
			t.Fatalf("%+v: %v", x.f, err)
		}
		if d := cmp.Diff(x.want, ids(jobs)); d != "" {
			t.Errorf("%+v: -want +got\n%s", x.f, d)
		}
	}
}

func TestARefusalKeepsItsKindOverTheSocket(t *testing.T) {
	k := newKitchen(t)
	c, _ := open(t, k.options())
	ctx := t.Context()
	first := func(_ any, err error) error { return err }
	for name, x := range map[string]struct {
		fail error
		do   func() error
		code Code
		says string
	}{
		"no such job":        {nil, func() error { return first(c.Job(ctx, 77)) }, NotFound, "job 77: not found: ticketrail jobs list has"},
		"no such state":      {nil, func() error { return first(c.Jobs(ctx, Filter{States: []string{"lost"}})) }, BadRequest, "pending, held"},
		"no such printer":    {nil, func() error { return first(c.Jobs(ctx, Filter{Station: "gril"})) }, NotFound, "bar, grill, old"},
		"hold nobody":        {nil, func() error { return c.Hold(ctx, "gril", "") }, NotFound, `"gril"`},
		"resume nobody":      {nil, func() error { return c.Resume(ctx, "a/b c") }, NotFound, `"a/b c"`},
		"test an orphan":     {nil, func() error { return first(c.Test(ctx, "old")) }, NotFound, "bar, grill"},
		"move to an orphan":  {nil, func() error { return first(c.Move(ctx, []uint64{8}, "old")) }, NotFound, "bar, grill"},
		"move to itself":     {nil, func() error { return first(c.MoveAll(ctx, "bar", "bar")) }, BadRequest, "already"},
		"move nothing":       {nil, func() error { return first(c.Move(ctx, nil, "bar")) }, BadRequest, "--from"},
		"reprint elsewhere":  {nil, func() error { return first(c.Reprint(ctx, 7, "gril", "")) }, NotFound, "bar, grill"},
		"reprint what waits": {fmt.Errorf("job 8 still waits: %w", queue.ErrConflict), func() error { return first(c.Reprint(ctx, 8, "", "")) }, Conflict, "still waits"},
		"full disk":          {queue.ErrStorageFull, func() error { return c.Cancel(ctx, 8, "") }, Storage, "full: ticketrail printers list"},
		"failed disk":        {queue.ErrStorageFailed, func() error { return c.Cancel(ctx, 8, "") }, Storage, "ticketrail printers list"},
		"stopping":           {queue.ErrClosed, func() error { return c.Cancel(ctx, 8, "") }, Stopping, "try again when it runs"},
		"too slow":           {context.DeadlineExceeded, func() error { return c.Cancel(ctx, 8, "") }, Timeout, "whether it was done shows in ticketrail jobs list"},
		"anything else":      {errors.New("boom"), func() error { return c.Cancel(ctx, 8, "") }, Internal, "boom"},
		"no such reject":     {nil, func() error { return first(c.Reject(ctx, 3)) }, NotFound, "refused request 3"},
	} {
		k.mu.Lock()
		k.fail = x.fail
		k.mu.Unlock()
		e, ok := errors.AsType[*Error](x.do())
		if !ok || e.Code != x.code || !strings.Contains(e.Message, x.says) {
			t.Errorf("%s: %+v, want code %s and a message with %q", name, e, x.code, x.says)
		}
	}
}

func TestAPersonCanReprintMoveAndCancel(t *testing.T) {
	k := newKitchen(t)
	c, _ := open(t, k.options())
	ctx := t.Context()
	if id, err := c.Reprint(ctx, 7, "bar", "cook asked"); err != nil || id != 101 {
		t.Errorf("Reprint = %d, %v", id, err)
	}
	if moved, err := c.MoveAll(ctx, "old", "grill"); err != nil || !cmp.Equal(moved, []uint64{102}) {
		t.Errorf("MoveAll = %v, %v", moved, err)
	}
	if moved, err := c.MoveAll(ctx, "old", "grill"); err != nil || len(moved) != 0 {
		t.Errorf("MoveAll of nothing = %v, %v", moved, err)
	}
	if moved, err := c.Move(ctx, []uint64{8, 101}, "grill"); err != nil || !cmp.Equal(moved, []uint64{103, 104}) {
		t.Errorf("Move = %v, %v", moved, err)
	}
	if err := c.Cancel(ctx, 104, ""); err != nil {
		t.Errorf("Cancel: %v", err)
	}
	if id, err := c.Test(ctx, "grill"); err != nil || id == 0 {
		t.Errorf("Test = %d, %v", id, err)
	}
	me := fmt.Sprintf("uid %d", os.Getuid()) // of whom nobody knows the name
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		me = u.Username
	}
	if got := k.reasons[104]; got != "by "+me {
		t.Errorf("a change without a reason is kept as %q, want who made it", got)
	}
}

func TestEveryChangeIsLoggedWithWhoMadeIt(t *testing.T) {
	k := newKitchen(t)
	var log bytes.Buffer
	o := k.options()
	o.Logger = slog.New(slog.NewTextHandler(&log, nil)) // written before each answer, one at a time
	c, _ := open(t, o)
	ctx := t.Context()
	_, _ = c.Reprint(ctx, 7, "", "")
	_ = c.Cancel(ctx, 8, "")
	_, _ = c.MoveAll(ctx, "old", "bar")
	_ = c.Hold(ctx, "bar", "")
	_ = c.Resume(ctx, "bar")
	_, _ = c.Test(ctx, "bar")
	_, _ = c.Reload(ctx)
	_ = c.Hold(ctx, "nobody", "")
	_, _ = c.Stations(ctx)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, action := range []string{"reprint", "cancel", "move", "hold", "resume", "test", "reload"} {
		if i >= len(lines) || !strings.Contains(lines[i], "action="+action) || !strings.Contains(lines[i], "actor=") || strings.Contains(lines[i], "actor=somebody") {
			t.Errorf("line %d does not say who did %s:\n%s", i+1, action, log.String())
		}
	}
	if len(lines) != 7 {
		t.Errorf("%d lines for 7 changes:\n%s", len(lines), log.String())
	}
}

func TestAnotherVersionIsSaid(t *testing.T) {
	_, path := open(t, newKitchen(t).options())
	ask := func(version string) string {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://ticketrail/v1/stations", nil)
		if err != nil {
			t.Fatal(err)
		}
		if version != "" {
			req.Header.Set(HeaderAPI, version)
		}
		resp, err := NewClient(path).http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status + " " + string(b)
	}
	if got := ask("1"); !strings.HasPrefix(got, "400") || !strings.Contains(got, "control API 1 and the running daemon speaks 2") {
		t.Errorf("version 1 gets %s", got)
	}
	if got := ask(""); !strings.HasPrefix(got, "400") || !strings.Contains(got, HeaderAPI) {
		t.Errorf("no version gets %s", got)
	}
	if got := ask(API); !strings.HasPrefix(got, "200") {
		t.Errorf("the right version gets %s", got)
	}
}

// serve answers on a socket with h, as something that is not this server.
func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	path := place(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return NewClient(path)
}

func TestTheClientTrustsNobodyElse(t *testing.T) {
	newer := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(HeaderAPI, "3") })
	_, err := newer.Stations(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != Mismatch {
		t.Errorf("a newer daemon gives %v, want a mismatch", err)
	}
	stranger := serve(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := stranger.Stations(t.Context()); err == nil || !strings.Contains(err.Error(), "is not ticketrail") {
		t.Errorf("a stranger gives %v", err)
	}
	dying := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if err := dying.Cancel(t.Context(), 1, ""); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("a daemon that dies over a change gives %v, want that its outcome is unknown", err)
	}
	_, err = NewClient(place(t)).Stations(t.Context())
	if e, ok := errors.AsType[*NotRunning](err); !ok || !strings.Contains(e.Error(), "systemctl start") {
		t.Errorf("no daemon gives %v, want how to start it", err)
	}
}

func TestHostileRequestsAreRefused(t *testing.T) {
	_, path := open(t, newKitchen(t).options())
	c := NewClient(path)
	post := func(path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://ticketrail"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(HeaderAPI, API)
		resp, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for _, x := range []struct {
		path, body string
		want       int
	}{
		{"/v1/move", `{"ids":[` + strings.Repeat("1,", maxBody/2) + `1],"to":"bar"}`, 400},
		{"/v1/move", `{"form":"old","to":"bar"}`, 400},
		{"/v1/move", `{`, 400},
		{"/v1/jobs/-1/cancel", ``, 400},
		{"/v1/jobs/99999999999999999999/cancel", ``, 400},
		{"/v1/nowhere", ``, 404},
		{"/v1/jobs", ``, 404},
	} {
		if got := post(x.path, x.body); got != x.want {
			t.Errorf("POST %s: %d, want %d", x.path, got, x.want)
		}
	}
}

func TestTooManyRequestsAtOnceAreToldToComeBack(t *testing.T) {
	k := newKitchen(t)
	k.entered, k.release = make(chan struct{}), make(chan struct{})
	c, _ := open(t, k.options())
	done := make(chan error, maxRequests)
	for range maxRequests {
		go func() { _, err := c.Job(t.Context(), 7); done <- err }()
	}
	for range maxRequests {
		<-k.entered // each is inside now
	}
	_, err := c.Stations(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != Busy {
		t.Errorf("one request too many gives %v, want busy", err)
	}
	close(k.release)
	for range maxRequests {
		if err := <-done; err != nil {
			t.Errorf("a request in progress fails: %v", err)
		}
	}
}

func TestARequestInProgressIsFinishedWhenTheDaemonStops(t *testing.T) {
	k := newKitchen(t)
	k.entered, k.release = make(chan struct{}), make(chan struct{})
	s, err := New(k.options())
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(place(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served, done := make(chan error, 1), make(chan error, 1)
	go func() { served <- httpserver.Serve(ctx, l, s.HTTPServer(), httpserver.Options{Grace: 5 * time.Second}) }()
	go func() { _, err := NewClient(l.Addr().String()).Job(context.Background(), 7); done <- err }()
	<-k.entered
	stop()
	close(k.release)
	if err := <-done; err != nil {
		t.Errorf("the request fails: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve returns %v", err)
	}
}

func TestBodiesCrossTheSocketByteForByte(t *testing.T) {
	c, _ := open(t, newKitchen(t).options())
	x, err := c.Job(t.Context(), 7)
	if err != nil || string(x.Body) != `{"id": 1}`+"\xff" || x.Ticket.Request != "req-a" || x.Job.State != ticket.Sent {
		t.Errorf("Job = %+v, %v", x, err)
	}
	r, err := c.Reject(t.Context(), 2)
	if err != nil || string(r.Body) != "{\x00" {
		t.Errorf("Reject = %+v, %v", r, err)
	}
	all, err := c.Rejects(t.Context())
	if err != nil || len(all) != 1 || all[0].Body != nil {
		t.Errorf("Rejects = %+v, %v; want one without a body", all, err)
	}
}

func TestAMissingPartIsNamed(t *testing.T) {
	o := newKitchen(t).options()
	o.Desk = nil
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "Options.Desk") {
		t.Errorf("New without a desk gives %v", err)
	}
	o = newKitchen(t).options()
	o.Tester, o.Rejects, o.Reload, o.Statuses, o.Notices = nil, nil, nil, nil, nil
	c, _ := open(t, o)
	if _, err := c.Stations(t.Context()); err != nil {
		t.Errorf("printers without lines: %v", err)
	}
	_, err := c.Test(t.Context(), "bar")
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != Unsupported {
		t.Errorf("a test without a tester gives %v", err)
	}
}
