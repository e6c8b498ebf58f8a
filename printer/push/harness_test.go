package push

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// order is a ticket for the station fresh.
func order(job uint64, names ...string) ticket.Delivery {
	d := ticket.Delivery{Job: job, Station: "fresh", Attempt: 1, Ticket: ticket.Ticket{
		V: 1, Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", VenueName: "Harbour Grill",
		Request: fmt.Sprintf("0d9e1c52-7c1b-4d5e-8a66-%012d", job), Number: fmt.Sprint(job), Table: "B10",
		Received: time.Date(2026, 2, 6, 10, 49, 48, 0, time.UTC), Zone: "Australia/Melbourne",
	}}
	for _, n := range names {
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: "1", Name: n})
	}
	return d
}

// An attempt is a ticket that was posted once.
type attempt struct {
	outcome string // in one word
	begun   int
	err     error
}

// post posts a ticket. Its beginning fails with beginErr.
func post(ctx context.Context, p *Display, d ticket.Delivery, beginErr error) (a attempt) {
	var begun atomic.Int32 // the transport reads the body in a goroutine of its own
	proof, err := p.Print(ctx, d, func(context.Context) error { begun.Add(1); return beginErr })
	a.begun, a.err = int(begun.Load()), err

	switch inDoubt := a.begun > 0 && !ticket.IsUntouched(err); {
	case err == nil:
		a.outcome = string(proof)
	case ticket.IsPermanent(err) && ticket.IsUntouched(err):
		a.outcome = "refused"
	case ticket.IsNotReady(err) && inDoubt:
		a.outcome = "not ready, in doubt"
	case ticket.IsNotReady(err):
		a.outcome = "not ready"
	case inDoubt:
		a.outcome = "doubt"
	default:
		a.outcome = "again"
	}
	return a
}

// burger posts an order.
func burger(t *testing.T, p *Display) attempt { return post(t.Context(), p, order(1, "Burger"), nil) }

// want checks the outcome, and how often the ticket was begun.
func (a attempt) want(t *testing.T, outcome string, begun int, about ...any) {
	t.Helper()
	assert.Equal(t, a.outcome, outcome, a.err, about)
	assert.Equal(t, a.begun, begun, a.err, about)
}

// assertNoSecret fails t if s has a part of the URL or of the signature's secret.
func assertNoSecret(t *testing.T, s string) {
	t.Helper()
	for _, secret := range []string{"s3cret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		assert.True(t, !strings.Contains(s, secret), s)
	}
}

// serve serves h over pipes until the test ends, and returns a station that posts there.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*Options)) *Display {
	t.Helper()
	n := virtual.NewNetwork()
	srv := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(n) })
	p := pushTo(t, n.Dial, change...)
	t.Cleanup(func() { _ = srv.Close(); n.Close(); running.Wait() })
	return p
}

// pushTo returns a station that posts over dial.
func pushTo(t *testing.T, dial func(context.Context, string, string) (net.Conn, error),
	change ...func(*Options)) *Display {
	t.Helper()
	o := Options{URL: "http://kds.example/hook/s3cretpath?key=s3cretquery", Dial: dial}
	for _, f := range change {
		f(&o)
	}
	p, err := New(o)
	assert.NoError(t, err)
	return p
}

// rawServer answers each connection with raw bytes, after it has read the request's head.
func rawServer(t *testing.T, answer func(c net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	n := virtual.NewNetwork()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := n.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				var got []byte
				b := make([]byte, 64<<10)
				for !bytes.Contains(got, []byte("\r\n\r\n{")) {
					k, err := c.Read(b)
					if got = append(got, b[:k]...); err != nil {
						return
					}
				}
				answer(c)
			})
		}
	})
	t.Cleanup(func() { n.Close(); running.Wait() })
	return n.Dial
}
