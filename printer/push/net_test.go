package push

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"ticketrail/printer/virtual"
)

// newPush serves h over pipes until the test ends, and returns a station that posts there.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*Options)) *Display {
	t.Helper()
	n := virtual.NewNetwork()
	srv := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(n) })
	p := pushTo(t, n.Dial, change...)
	t.Cleanup(func() { p.Close(); _ = srv.Close(); n.Close(); running.Wait() })
	return p
}

func pushTo(t *testing.T, dial func(context.Context, string, string) (net.Conn, error),
	change ...func(*Options)) *Display {
	t.Helper()
	o := Options{Name: "fresh", URL: "http://kds.example/hook/s3cretpath?key=s3cretquery", Dial: dial}
	for _, f := range change {
		f(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
