package receiver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// requestOfItems is a request of n items that are as small as they can be.
func requestOfItems(id string, n int) string {
	return fmt.Sprintf(`{"records":[{"id":%q,"items":[%s{}]}]}`, id, strings.Repeat("{},", n-1))
}

func TestABodyThatNeedsMuchMemoryIsParsedAndStoredAlone(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener, _ func() error) {
		b.intake.accept = func(_ context.Context, q ticket.Request) (ticket.Receipt, error) {
			time.Sleep(time.Second)
			return b.intake.store(q), nil
		}
		start := time.Now()
		lines := []*rawConn{l.dial(t), l.dial(t), l.dial(t)}
		for i, c := range lines {
			c.send(requestWith(requestOfItems(fmt.Sprint(i), 10_000)))
			time.Sleep(time.Millisecond)
		}
		for i, c := range lines {
			c.want(200, "")
			wantElapsed(t, start, time.Duration(i+1)*time.Second)
		}
	})
}

func TestOrdersOfUsualSizeDoNotWaitForEachOther(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener, _ func() error) {
		b.intake.accept = func(_ context.Context, q ticket.Request) (ticket.Receipt, error) {
			time.Sleep(time.Second)
			return b.intake.store(q), nil
		}
		start := time.Now()
		for i := range 10 {
			c := l.dial(t)
			c.send(requestWith(requestOfItems(fmt.Sprint(i), 1000)))
			defer func() { c.want(200, ""); wantElapsed(t, start, time.Second) }()
		}
	})
}

func TestABodyWithTooManyItemsIsRefused(t *testing.T) {
	b := newTestbed(t, nil)
	w := b.do(post([]byte(requestOfItems("a", 10_001))))
	if code, message := errorOf(t, w.Body.Bytes()); code != SchemaMismatch ||
		message != "records[0].items: more than 10000 items in the request" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(b.intake.requests()) != 0 || len(b.rejected()) != 1 {
		t.Error("stored, or not kept for a person")
	}
}
