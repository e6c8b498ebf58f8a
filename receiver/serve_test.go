package receiver

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestASilentClientIsDisconnected(t *testing.T) {
	for _, said := range []string{"", "POST / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: box\r\n"} {
		bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener, _ func() error) {
			start, conn := time.Now(), l.dial(t)
			conn.send(said)
			conn.wantClosed()
			wantElapsed(t, start, 3*time.Second)
		})
	}
}

func TestShutdownFinishesRequestsInProgress(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener, stop func() error) {
		b.intake.acceptAfter(2 * time.Second)
		storing, reading := l.dial(t), l.dial(t)
		storing.send(requestWith(burger))
		_, _ = io.WriteString(reading, requestHead(contentLength(len(burger)))+burger[:100])
		synctest.Wait()
		start, stopped := time.Now(), make(chan error, 1)
		go func() { stopped <- stop() }()
		synctest.Wait()
		reading.send(burger[100:])
		storing.want(200, "")
		wantElapsed(t, start, 2*time.Second)
		reading.want(200, "")
		wantElapsed(t, start, 2*time.Second)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if _, err := l.Dial(context.Background(), "", ""); err == nil {
			t.Error("still listening")
		}
	})
}
