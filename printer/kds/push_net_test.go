package kds

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
)

// A network is one host, reached over pipes, so that a display can live in a bubble.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newNetwork() *network { return &network{conns: make(chan net.Conn), done: make(chan struct{})} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-n.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.done) }); return nil }
func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// display serves h over pipes, until the test ends, and is a station that posts there.
func display(t *testing.T, h http.HandlerFunc, change ...func(*PushOptions)) *Push {
	t.Helper()
	n := newNetwork()
	srv := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(n) })
	p := pushTo(t, n.dial, change...)
	t.Cleanup(func() { p.Close(); _ = srv.Close(); n.Close(); running.Wait() })
	return p
}

func pushTo(t *testing.T, dial func(context.Context, string, string) (net.Conn, error), change ...func(*PushOptions)) *Push {
	t.Helper()
	o := PushOptions{Name: "fresh", URL: "http://kds.example/hook/s3cretpath?key=s3cretquery", Dial: dial}
	for _, f := range change {
		f(&o)
	}
	p, err := NewPush(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
