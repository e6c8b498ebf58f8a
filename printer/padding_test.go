package printer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// A recordingDialer reports the bytes that were written.
type recordingDialer struct {
	transport.Dialer
	bytes chan string
}

func (w *recordingDialer) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := w.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return recordingConn{c, w.bytes}, nil
}

type recordingConn struct {
	transport.Conn
	bytes chan string
}

func (c recordingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.bytes <- string(b[:n])
	return n, err
}

// The printer waits for the rest of an image. When the connection breaks, the padding for it is still in a
// buffer on the way, so the printer continues to wait and needs the padding again.
func TestPaddingThatThePrinterNeverReceivedIsSentAgain(t *testing.T) {
	v := virtual.New(virtual.Options{Kanji: true})
	w := &recordingDialer{onTCP(t, v), make(chan string, 1000)}
	r := newHarness(t, v, w, nil)
	t.Cleanup(r.d.Retire)
	sendHalfAnImage(t, v)
	v.StallAfter(150)
	ended := make(chan outcome, 1)
	go func() { ended <- r.print("A1") }()
	for !strings.Contains(<-w.bytes, "A1") {
	}
	v.Reset()
	if o := <-ended; o.kind() != "doubt" {
		t.Fatalf("%s, %v", o.kind(), o.err)
	}
	v.Repair()
	again := orderOf("A1")
	again.Doubt = true
	if o := r.printWith(t.Context(), r.p, again, nil); o.kind() != "sent" {
		t.Errorf("%s, %v", o.kind(), o.err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := v.Wait(ctx, 1); err != nil {
		t.Error(err)
	}
	for _, s := range v.Problems() {
		if strings.Contains(s, "swallowed") {
			t.Errorf("the printer recorded a problem: %s", s)
		}
	}
}
