package receiver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// many is a request of n items that are as small as they can be.
func many(id string, n int) string {
	return fmt.Sprintf(`{"records":[{"id":%q,"items":[%s{}]}]}`, id, strings.Repeat("{},", n-1))
}

func TestAHeavyBodyIsWorkedOnAloneUntilItIsStored(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		b.intake.accept = func(_ context.Context, q ticket.Request) (ticket.Receipt, error) {
			time.Sleep(time.Second)
			return b.intake.take(q), nil
		}
		start := time.Now()
		lines := []*line{l.line(t), l.line(t), l.line(t)}
		for i, c := range lines {
			c.send(whole(many(fmt.Sprint(i), 10_000)))
			time.Sleep(time.Millisecond)
		}
		for i, c := range lines {
			c.want(200, "")
			since(t, start, time.Duration(i+1)*time.Second)
		}
	})
}

func TestOrdersOfAnOrdinarySizeDoNotWaitForEachOther(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		b.intake.accept = func(_ context.Context, q ticket.Request) (ticket.Receipt, error) {
			time.Sleep(time.Second)
			return b.intake.take(q), nil
		}
		start := time.Now()
		for i := range 10 {
			c := l.line(t)
			c.send(whole(many(fmt.Sprint(i), 1000)))
			defer func() { c.want(200, ""); since(t, start, time.Second) }()
		}
	})
}

func TestABodyOfTooManyItemsIsRefusedWithoutATicket(t *testing.T) {
	b := newBed(t, nil)
	w := b.do(post([]byte(many("a", 10_001))))
	if code, message := errorOf(t, w.Body.Bytes()); code != SchemaMismatch || message != "records[0].items: more than 10000 items in the request" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(b.intake.requests()) != 0 || len(b.rejected()) != 1 {
		t.Error("stored, or not kept for a person")
	}
}
