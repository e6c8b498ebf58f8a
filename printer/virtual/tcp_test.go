package virtual_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
)

// onTCP serves p until the test ends, or until stop, and returns its address. That is on a host of its own: a printer
// that listens again must find its port free, and on 127.0.0.1 any connection may have it.
func onTCP(t *testing.T, p *virtual.Printer) (address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	assert.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, l) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.Equal(t, <-served, nil)
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

func dialTCP(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return c
}

// exchange wants an answer.
func exchange(t *testing.T, c net.Conn, say, want string) {
	t.Helper()
	write(t, c, say)
	got := make([]byte, len(want))
	_, err := io.ReadFull(c, got)
	assert.True(t, err == nil && string(got) == want, say, got, err, want)
}

func TestOverTCPTheEndOfServeEmptiesTheBuffer(t *testing.T) {
	p := virtual.New(virtual.Options{Can: virtual.Everything, LinesPerSecond: 0.001})
	address, stop := onTCP(t, p)
	exchange(t, dialTCP(t, address), "1\n2\n\x10\x04\x01", "\x12")
	stop()
	got := p.Tickets()
	assert.True(t, len(got) == 1 && got[0].Text == "1\n" && got[0].End == virtual.Broken, got)
}
