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

	"ticketrail/deploy/assert"
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
		assert.True(t, len(snap.Orders) == 1 && snap.Orders[0].Tickets[0].Job == 1, snap.Orders)
		w.put("hot-line", 2)
		change := e.want("change")
		ev := decode[board.Event](t, change.data)
		assert.True(t, ev.View.Tickets[0].Job == 2 && ev.ID == change.id, ev, change.id)
		e.body.Close()
		w.put("hot-line", 3, 4)
		// A browser that reconnects by itself sends the last id in a header, the script in the address.
		for name, again := range map[string]*eventStream{
			"header":  w.listen(c, "hot-line", testPage, snap.ID, "Last-Event-ID", change.id),
			"address": w.listen(c, "hot-line", "page0002", change.id),
		} {
			for _, job := range []uint64{3, 4} {
				ev := decode[board.Event](t, again.want("change", "hello", "beat").data)
				assert.Equal(t, ev.View.Tickets[0].Job, job, name)
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
			assert.Equal(t, time.Since(before), 5*time.Second)
			at := w.screens["hot-line"].Board().At()
			assert.True(t, got.ID == at && got.Now == time.Now().UnixMilli(), got, at)
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
		assert.True(t, code == http.StatusOK && strings.Contains(text, `"fresh":true`), code, text)
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
		code, text := w.shown(c, "hot-line", testPage, "[]", "[]")
		assert.Equal(t, code, http.StatusConflict, text)
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
			assert.Equal(t, decode[board.Event](t, good.want("change", "beat").data).View.Tickets[0].Job, job)
		}
		go good.drain()
		time.Sleep(12 * time.Second)
		synctest.Wait()
		after := runtime.NumGoroutine()
		assert.True(t, after <= before, after, before)
	})
}

func TestAPageOnASlowNetworkGetsAWholeBoard(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		long := delivery(1)
		long.Ticket.Lines[0].Name = strings.Repeat("long name ", 50_000)
		w.add("hot-line", long)
		c, err := w.network.DialFrom(t.Context(), "127.0.0.1")
		assert.NoError(t, err)
		defer c.Close()
		fmt.Fprint(c, "GET /screen/hot-line/events?page="+testPage+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		got, piece := 0, make([]byte, 16<<10)
		for got < 500_000 {
			n, err := c.Read(piece)
			got += n
			assert.NoError(t, err)
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
		d := time.Since(start)
		assert.True(t, d >= 2*time.Minute && d <= 3*time.Minute, d)
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
		d := time.Since(start)
		assert.True(t, d <= 0, d)
		// The server itself may wait 5 s more: http.Server.Shutdown gives a connection on which
		// nothing was sent yet that long, and a client may have opened one too many.
		assert.NoError(t, <-stopped)
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
		ev, ok := hot.next("beat")
		assert.True(t, !ok, ev)
		again := w.listen(c, "hot-line", testPage, "").want("hello").data
		assert.True(t, again != first, "a page cannot tell that it has to load itself again")
		cold.want("state", "hello", "beat")
		assert.Contains(t, cold.want("beat").data, `"offset":60`)
	})
}
