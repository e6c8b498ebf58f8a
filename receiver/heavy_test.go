package receiver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestABodyThatNeedsMuchMemoryIsParsedAndStoredAlone(t *testing.T) {
	for items, wait := range map[int]time.Duration{10_000: time.Second, 1000: 0} { // those of usual size do not wait
		bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener, _ func() error) {
			b.intake.acceptAfter(time.Second)
			start := time.Now()
			lines := []*rawConn{l.dial(t), l.dial(t), l.dial(t)}
			for i, c := range lines {
				c.send(requestWith(requestOfItems(fmt.Sprint(i), items)))
				synctest.Wait()
			}
			for i, c := range lines {
				c.want(200, "")
				wantElapsed(t, start, time.Second+time.Duration(i)*wait)
			}
		})
	}
}

func TestABodyThatBreaksALimitOfOursPrintsAsText(t *testing.T) {
	deep := `{"records":[{"id":"a","retryCount":0,"items":[` + strings.Repeat(`{"childItems":[`, 64) +
		`{"name":"Egg\u001b"}` + strings.Repeat(`]}`, 64) + `]}],"serverRequestTimestamp":"1"}`
	deeper := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for name, c := range map[string]struct{ body, why string }{
		"items":           {requestOfItems("a", 10_001), "more than 10000 items"},
		"depth":           {deep, "nested deeper than 64"},
		"depth of JSON":   {`{"records":[{"id":"a","x":` + deeper + `}]}`, "nested"},
		"without an id":   {`{"x":` + deeper + `}`, "nested"},
		"too many values": {`{"records":[{"id":"a","x":[` + strings.Repeat("0,", 300_000) + `0]}]}`, "300000 values"},
	} {
		b := newTestbed(t, nil)
		again := strings.NewReplacer(`"retryCount":0`, `"retryCount":1`, `Timestamp":"1"`, `Timestamp":"2"`)
		for i, body := range []string{c.body, again.Replace(c.body)} {
			w := b.do(post([]byte(body)))
			if w.Code != 200 || strings.Contains(w.Body.String(), `"duplicate":true`) != (i == 1) {
				t.Fatalf("%s: sending %d: %d %s", name, i, w.Code, w.Body)
			}
		}
		got := b.intake.requests()
		if len(got) != 1 || len(got[0].Drafts) != 1 || name != "without an id" && got[0].ID != "a" {
			t.Fatalf("%s: stored %+v", name, got)
		}
		d := got[0].Drafts[0]
		if heads := strings.Join(d.Ticket.Heads(), " "); !strings.Contains(heads, c.why) || d.Station != "grill" {
			t.Errorf("%s: headed %q at %s", name, heads, d.Station)
		}
		sent := strings.Replace(c.body, `"retryCount":0,`, "", 1)
		if raw := d.Ticket.Raw; len(raw) > 8100 || !strings.Contains(sent, raw[:100]) {
			t.Errorf("%s: the text is %.200s", name, raw)
		}
		if kept := b.rejected(); (len(kept) == 1) != (len(c.body) > 8000) {
			t.Errorf("%s: what did not fit is kept: %d of %d bytes", name, len(kept), len(c.body))
		}
		b.count(t, "ticketrail_receiver_requests_total{200 stored}", 1)
		b.count(t, "ticketrail_receiver_requests_total{200 duplicate}", 1)
	}
}

func TestASmallOrderDoesNotWaitForLargeOnes(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener, _ func() error) {
		b.intake.accept = func(_ context.Context, q ticket.Request) (ticket.Receipt, error) {
			if len(q.Body) > maxUsualBody {
				time.Sleep(3 * time.Second)
			}
			return b.intake.store(q), nil
		}
		for i := range 64 {
			l.dial(t).send(requestWith(requestOfItems(fmt.Sprint(i), 10_000)))
		}
		time.Sleep(time.Second)
		for i := range 10 {
			start, c := time.Now(), l.dial(t)
			c.send(requestWith(requestOfItems(fmt.Sprintf("small %d", i), 300)))
			c.want(200, "")
			wantElapsed(t, start, 0)
		}
		time.Sleep(time.Minute) // the large ones end
	})
}

// requestOfItems is a request of n items that are as small as they can be.
func requestOfItems(id string, n int) string {
	return fmt.Sprintf(`{"records":[{"id":%q,"items":[%s{}]}]}`, id, strings.Repeat("{},", n-1))
}
