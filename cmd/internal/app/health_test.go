package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// counted counts the connections that are open.
type counted struct {
	net.Listener
	open, most atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	n := c.open.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return &countedConn{conn, c, atomic.Bool{}}, nil
}

type countedConn struct {
	net.Conn
	of     *counted
	closed atomic.Bool
}

func (c *countedConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.of.open.Add(-1)
	}
	return c.Conn.Close()
}

func TestStrangersAtTheMetricsCannotTakeAllConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &counted{Listener: inner}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serveHTTP(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }), slog.New(slog.DiscardHandler))
	}()
	var silent []net.Conn
	for range 3 * maxScrapers {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, c)
	}
	for _, c := range silent {
		c.Close()
	}
	resp, err := http.Get("http://" + l.Addr().String() + "/healthz") // behind them all
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := l.most.Load(); n > maxScrapers {
		t.Errorf("%d connections were open at once, want at most %d", n, maxScrapers)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
