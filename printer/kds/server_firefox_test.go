package kds_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"ticketrail/deploy/slow"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

// TestAScreenWorksInFirefox drives Debian's Firefox over WebDriver BiDi, which Firefox speaks
// without a driver.
func TestAScreenWorksInFirefox(t *testing.T) {
	slow.Test(t, "firefox-esr")
	t.Parallel() // it mostly waits
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	b := openBoard(t, "hot-line", queuetest.NewStore())
	s := kds.NewScreen(kds.ScreenOptions{Name: "hot-line", Title: "Hot line", Board: b, ShowWithin: time.Minute})
	at, stop := serveScreen(t, s, "127.0.0.1:0")
	f := startFirefox(ctx, t)
	f.call("browsingContext.navigate", map[string]any{"context": f.tab, "url": "http://" + at + "/screen/hot-line",
		"wait": "complete"}, nil)
	f.until("it is live", `document.getElementById("live").className === "is"`)

	show := func(d ticket.Delivery) {
		t.Helper()
		for s.Status().Live == 0 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if proof, err := s.Print(ctx, d, noBegin); proof != ticket.Shown || err != nil {
			t.Fatalf("%s, %v", proof, err)
		}
	}
	hostile := delivery(1)
	hostile.Ticket.Lines = append(hostile.Ticket.Lines,
		ticket.Line{Depth: 1, Quantity: "1", Name: "<img src=x onerror=window.hurt=1>",
			Notes: []string{"sesame allergy"}})
	show(hostile)
	other := delivery(2)
	other.Ticket.Request, other.Ticket.Number = "another", "19"
	show(other)
	const heads = `Array.from(document.querySelectorAll(".column:not(.measure) article.card .number"), ` +
		`(h) => h.textContent).join()`
	f.until("both cards are there", heads+` === "#18,#19"`)
	f.until("text is text", `!window.hurt && document.querySelector("article.card").textContent.includes("<img src=x")`)
	f.until("nothing scrolls", `document.documentElement.scrollHeight <= innerHeight`)
	f.until("the first has a button", `((b) => b && !b.click())(`+
		`document.querySelector(".column:not(.measure) button.bump"))`)
	f.until("the first is bumped", heads+` === "#19"`)
	stop()
	f.until("it says that it is not live", `document.body.classList.contains("notlive") && `+
		`/^NOT LIVE since \d\d:\d\d$/.test(document.querySelector("#cover .big").textContent)`)
	f.wrong = nil // the errors of the stopped server
	serveScreen(t, s, at)
	f.until("it is live again", `document.getElementById("live").className === "is" && `+
		`!document.body.classList.contains("notlive")`)
	last := delivery(3)
	last.Ticket.Number = "20"
	show(last)
	f.until("it is told again", heads+` === "#19,#20"`)
	if o := b.OrderWith(1); o.State != board.Bumped {
		t.Errorf("order %+v", o)
	}
	for _, line := range f.wrong {
		t.Errorf("the console says: %s", line)
	}
}

// serveScreen serves a screen at the address given, until stop is called or the test ends.
func serveScreen(t *testing.T, s *kds.Screen, on string) (at string, stop func()) {
	t.Helper()
	p, err := kds.OpenPairings(queuetest.NewStore(), nil)
	must(t, err)
	l, err := net.Listen("tcp", on)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		displays := []kds.Display{{Screen: s, Zone: utc}}
		served <- serve(ctx, kds.NewServer(kds.ServerOptions{Displays: displays, Pairings: p}), l)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// A firefox is one tab of a running Firefox.
type firefox struct {
	t     *testing.T
	ctx   context.Context
	conn  *websocket.Conn
	tab   string
	n     int
	wrong []string // errors on its console
}

var listening = regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)

func startFirefox(ctx context.Context, t *testing.T) *firefox {
	t.Helper()
	run := exec.CommandContext(ctx, "firefox-esr", "--headless", "--no-remote", "--profile", t.TempDir(),
		"--remote-debugging-port", "0", "--remote-allow-origins", "http://localhost",
		"--width", "1280", "--height", "800")
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.WaitDelay = 5 * time.Second
	out, err := run.StderrPipe()
	must(t, err)
	must(t, run.Start())
	at := make(chan string, 1)
	go func() {
		defer close(at)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				at <- m[1]
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	where, ok := <-at
	if !ok {
		t.Fatal("firefox-esr ended before it listened")
	}
	conn, err := websocket.Dial(where+"/session", "", "http://localhost")
	must(t, err)
	f := &firefox{t: t, ctx: ctx, conn: conn}
	t.Cleanup(func() {
		_ = run.Cancel()
		_ = run.Wait()
		_ = conn.Close()
	})
	f.call("session.new", map[string]any{"capabilities": map[string]any{}}, nil)
	f.call("session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil)
	var tree struct{ Contexts []struct{ Context string } }
	f.call("browsingContext.getTree", map[string]any{}, &tree)
	f.tab = tree.Contexts[0].Context
	f.call("browsingContext.setViewport", map[string]any{"context": f.tab,
		"viewport": map[string]int{"width": 1280, "height": 800}}, nil)
	return f
}

// call sends one command and waits for its answer.
func (f *firefox) call(method string, params, into any) {
	f.t.Helper()
	f.n++
	if deadline, ok := f.ctx.Deadline(); ok {
		_ = f.conn.SetDeadline(deadline.Add(5 * time.Second))
	}
	must(f.t, websocket.JSON.Send(f.conn, map[string]any{"id": f.n, "method": method, "params": params}))
	for {
		var got struct {
			Type, Method, Error, Message string
			ID                           int
			Result                       json.RawMessage
			Params                       struct{ Level, Text string }
		}
		if err := websocket.JSON.Receive(f.conn, &got); err != nil {
			f.t.Fatalf("%s: %v", method, err)
		}
		switch {
		case got.Type == "event" && got.Params.Level == "error":
			f.wrong = append(f.wrong, got.Params.Text)
		case got.Type == "error" && got.ID == f.n:
			f.t.Fatalf("%s: %s: %s", method, got.Error, got.Message)
		case got.Type == "success" && got.ID == f.n:
			if into != nil {
				must(f.t, json.Unmarshal(got.Result, into))
			}
			return
		}
	}
}

// until waits until the JavaScript expression is is true.
func (f *firefox) until(what, is string) {
	f.t.Helper()
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		var got struct{ Result struct{ Value any } }
		f.call("script.evaluate", map[string]any{"expression": "Boolean(" + is + ")",
			"target": map[string]string{"context": f.tab}, "awaitPromise": false}, &got)
		if got.Result.Value == true {
			return
		}
		if time.Since(start) > time.Minute {
			f.t.Fatalf("it is not so that %s; the console says %q", what, f.wrong)
		}
	}
}
