package kds_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/kds/board"
)

func TestAPageIsToldEveryChangeAndResumesWhereItsStreamBroke(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		w.put("hot-line", 1)
		c := w.client("127.0.0.1")
		e := w.listen(c, "hot-line", testPage, "")
		e.want("hello")
		e.want("beat")
		snap := decode[board.Snapshot](t, e.want("state").data)
		if len(snap.Orders) != 1 || snap.Orders[0].Tickets[0].Job != 1 {
			t.Fatalf("the snapshot has %v", snap.Orders)
		}
		w.put("hot-line", 2)
		change := e.want("change")
		if ev := decode[board.Event](t, change.data); ev.View.Tickets[0].Job != 2 || ev.ID != change.id {
			t.Errorf("told %+v under %s", ev, change.id)
		}
		e.body.Close()
		w.put("hot-line", 3, 4)
		// A browser that reconnects by itself sends the last id in a header, the script in the address.
		for name, again := range map[string]*eventStream{
			"header":  w.listen(c, "hot-line", testPage, snap.ID, "Last-Event-ID", change.id),
			"address": w.listen(c, "hot-line", "page0002", change.id),
		} {
			for _, job := range []uint64{3, 4} {
				ev := decode[board.Event](t, again.want("change", "hello", "beat").data)
				if ev.View.Tickets[0].Job != job {
					t.Errorf("%s: told of %d, want %d", name, ev.View.Tickets[0].Job, job)
				}
			}
		}
		for _, odd := range []string{"nonsense", snap.Run + ".99", "0.1", ".", snap.Run, snap.Run + ".",
			snap.Run + ".-1", snap.Run + ".1.5", snap.Run + ".18446744073709551616", strings.Repeat("9", 8000)} {
			w.listen(c, "hot-line", "page0003", odd).want("state", "hello", "beat")
		}
	})
}

func TestAHeartbeatComesEveryFiveSecondsWithTheServersTimeAndTheNewestState(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		e := w.listen(w.client("127.0.0.1"), "hot-line", testPage, "")
		e.want("beat", "hello")
		e.want("state")
		for range 4 {
			before := time.Now()
			got := decode[struct {
				ID  string
				Now int64
			}](t, e.want("beat").data)
			if d := time.Since(before); d != 5*time.Second {
				t.Errorf("it came after %v", d)
			}
			if at := w.screens["hot-line"].Board().At(); got.ID != at || got.Now != time.Now().UnixMilli() {
				t.Errorf("it says %+v, the board is at %s", got, at)
			}
		}
	})
}

func TestAPageIsLiveWhileItAnswersHeartbeats(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		s := w.screens["hot-line"]
		c := w.client("127.0.0.1")
		ctx, silence := context.WithCancel(t.Context())
		w.answerBeats(ctx, c, "hot-line", testPage)
		time.Sleep(time.Minute)
		wantLive(t, s, 1)
		silence()
		time.Sleep(18 * time.Second)
		wantLive(t, s, 0)
		// It answers again, on the same stream.
		code, text := w.shown(c, "hot-line", testPage, "[]", "[]")
		if code != http.StatusOK || !strings.Contains(text, `"fresh":true`) {
			t.Errorf("answered %d %s, want to be asked for all cards", code, text)
		}
		wantLive(t, s, 1)
	})
}

func TestAPageThatLeavesIsNotLiveAndOneThatReloadsIs(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		s := w.screens["hot-line"]
		c := w.client("127.0.0.1")
		come := func() *eventStream {
			e := w.listen(c, "hot-line", testPage, "")
			e.want("hello")
			w.shown(c, "hot-line", testPage, "[]", "[]")
			return e
		}
		e := come()
		e.body.Close()
		time.Sleep(2 * time.Second)
		wantLive(t, s, 1)
		if code, text := w.shown(c, "hot-line", testPage, "[]", "[]"); code != http.StatusConflict {
			t.Errorf("a page that hears nothing is answered %d %s", code, text)
		}
		e = come()
		time.Sleep(5 * time.Second)
		wantLive(t, s, 1)
		e.body.Close()
		time.Sleep(4 * time.Second)
		wantLive(t, s, 0)
		come()
		w.post(c, "/screen/hot-line/bye", `{"page":"`+testPage+`"}`)
		wantLive(t, s, 0)
	})
}

func TestAPageThatDoesNotReadIsDroppedAndDelaysNoOther(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		w.listen(w.client("127.0.0.1"), "hot-line", "deaf0001", "").want("hello")
		good := w.listen(w.client("127.0.0.1"), "hot-line", testPage, "")
		good.want("state", "hello", "beat")
		before := runtime.NumGoroutine()
		for job := uint64(1); job <= 300; job++ {
			w.put("hot-line", job)
			if ev := decode[board.Event](t, good.want("change", "beat").data); ev.View.Tickets[0].Job != job {
				t.Fatalf("told of %d, want %d", ev.View.Tickets[0].Job, job)
			}
		}
		go good.drain()
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines, before it was dropped %d", after, before)
		}
	})
}

func TestAPageOnASlowNetworkGetsAWholeBoard(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		long := delivery(1)
		long.Ticket.Lines[0].Name = strings.Repeat("long name ", 50_000)
		w.add("hot-line", long)
		c, err := w.network.DialFrom(t.Context(), "127.0.0.1")
		must(t, err)
		defer c.Close()
		fmt.Fprint(c, "GET /screen/hot-line/events?page="+testPage+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		start, got, piece := time.Now(), 0, make([]byte, 16<<10)
		for got < 500_000 {
			n, err := c.Read(piece)
			if got += n; err != nil {
				t.Fatalf("after %v and %d bytes: %v", time.Since(start), got, err)
			}
			time.Sleep(time.Second)
		}
		_ = c.Close()
	})
}

func TestAPageThatNeverAnswersLosesItsStream(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		e := w.listen(w.client("127.0.0.1"), "hot-line", testPage, "")
		start := time.Now()
		e.drain()
		if d := time.Since(start); d < 2*time.Minute || d > 3*time.Minute {
			t.Errorf("it ended after %v", d)
		}
	})
}

func TestStreamsEndAtOnceWhenTheServerStops(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.client("127.0.0.1")
		w.answerBeats(t.Context(), c, "hot-line", testPage)
		e := w.listen(c, "cold", testPage, "")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			e.drain()
		}()
		synctest.Wait()
		start := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- w.stop() }()
		<-ended
		if d := time.Since(start); d > 0 {
			t.Errorf("the stream ended after %v", d)
		}
		// The server itself may wait 5 s more: http.Server.Shutdown gives a connection on which
		// nothing was sent yet that long, and a client may have opened one too many.
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		wantLive(t, w.screens["hot-line"], 0)
	})
}

func TestAReloadDisturbsOnlyTheScreensThatChanged(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		c := w.client("127.0.0.1")
		hot, cold := w.listen(c, "hot-line", testPage, ""), w.listen(c, "cold", testPage, "")
		first := hot.want("hello").data
		hot.want("state", "beat")
		w.displays[0].Keys = map[string][]string{"bump": {"F1"}}
		w.displays[1].Zone = func() *time.Location { return time.FixedZone("", 3600) }
		w.server.Set(w.displays)
		if ev, ok := hot.next("beat"); ok {
			t.Errorf("the changed one is told %+v, want its end", ev)
		}
		if again := w.listen(c, "hot-line", testPage, "").want("hello").data; again == first {
			t.Error("a page cannot tell that it has to load itself again")
		}
		cold.want("state", "hello", "beat")
		if b := cold.want("beat"); !strings.Contains(b.data, `"offset":60`) {
			t.Errorf("the other goes on with %s", b.data)
		}
	})
}
