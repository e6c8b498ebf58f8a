package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"ticketrail/receiver/contract"
)

const (
	venueID   = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	deviceID  = "BW-E-Tablet-01"
	exampleID = "9b2e7c1a-4f0d-4c53-8d8e-0a5f6a3c1b01" // records[0].id of burger.json
	idDigits  = 12                                     // its last group counts
)

// An order is the bytes of a whole HTTP request in which only the id has to be filled in.
type order struct {
	bytes   []byte
	id      int // where the digits of the id begin that count
	tickets int // that it makes
}

// newOrder is the contract's example of an order with its two items for two stations, which
// may be the same one: two items with modifiers, a note, and the layout instructions that the
// service sends along; 2.7 kB.
func newOrder(first, second int) order {
	body := strings.NewReplacer(`"Entrees"`, strconv.Quote(station(first)), `"Appetizers"`, strconv.Quote(station(second))).
		Replace(string(contract.Example("burger.json")))
	all := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: kitchen\r\n%s: %s\r\n%s: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		contract.PathWebhook, contract.HeaderVenue, venueID, contract.HeaderDevice, deviceID, contract.ContentType, len(body), body)
	o := order{all, bytes.Index(all, []byte(exampleID)) + len(exampleID) - idDigits, 1}
	if first != second {
		o.tickets = 2
	}
	return o
}

// ids are never used twice in a run: each request is new.
var ids atomic.Uint64

// new is the request under an id of its own.
func (o order) new() []byte {
	b := bytes.Clone(o.bytes)
	copy(b[o.id:], fmt.Sprintf("%0*x", idDigits, ids.Add(1)))
	return b
}

// A client is one keep-alive connection that posts print requests. It does as little as
// possible: it shares the cores with what is measured, and must not be what is measured.
type client struct {
	net.Conn
	r *bufio.Reader
}

// patience is how long an answer may take before the run is given up.
const patience = 30 * time.Second

// post sends an order and waits for the answer.
func (c *client) post(o order) error {
	err := c.SetDeadline(time.Now().Add(patience))
	if _, e := c.Write(o.new()); err != nil || e != nil {
		return errors.Join(err, e)
	}
	return readAnswer(c.r)
}

// readAnswer accepts nothing but a 200 for a request that was new: anything else would be
// quicker than what is to be measured, and make a better number of a failure.
func readAnswer(r *bufio.Reader) error {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte(`{"status":"SUCCESS","duplicate":false,"jobs":`)) {
		return errors.Join(fmt.Errorf("answered %s: %s", resp.Status, body), err)
	}
	return nil
}

// onConnections runs f at once on n connections, and ends when all have.
func onConnections(ctx context.Context, addr string, n int, f func(*client) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for range n {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		g.Go(func() error { return errors.Join(f(&client{conn, bufio.NewReader(conn)}), conn.Close()) })
	}
	return g.Wait()
}

// saturate has 256 connections post as fast as they are answered, and returns the answers per
// second after a warming up that does not count.
func (b *bench) saturate(ctx context.Context, addr string) (perSecond float64, err error) {
	lasts, o := pick(b, 4*time.Second, 2*time.Second), newOrder(0, 0)
	from := time.Now().Add(pick(b, time.Second, time.Second/2))
	var answers atomic.Int64
	err = onConnections(ctx, addr, 256, func(c *client) error {
		for ctx.Err() == nil {
			if err := c.post(o); err != nil {
				return err
			}
			if now := time.Now(); now.After(from.Add(lasts)) {
				return nil
			} else if now.After(from) {
				answers.Add(1)
			}
		}
		return context.Cause(ctx)
	})
	return float64(answers.Load()) / lasts.Seconds(), err
}

// paced is requests at fixed moments, or anything else.
type paced struct {
	began time.Time
	rate  int     // a second
	took  samples // from its moment until it was answered
}

// due is the moment of the nth.
func (p paced) due(n int) time.Time {
	return p.began.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
}

// pace posts rate requests a second, whether or not those before are answered, and returns how
// long after its moment each was answered. Orders take turns. If there are too few connections
// the latencies say so, since they begin at the moment and not when a connection is free.
func pace(ctx context.Context, addr string, orders []order, rate int, lasts time.Duration) (paced, error) {
	p := paced{began: time.Now().Add(100 * time.Millisecond), rate: rate, took: make(samples, int(lasts.Seconds()*float64(rate)))}
	var next atomic.Int64
	// Each is used about once a second: one that is silent for long would lose its connection.
	err := onConnections(ctx, addr, min(rate, 128), func(c *client) error {
		for n := int(next.Add(1)) - 1; n < len(p.took) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
			sleepUntil(p.due(n))
			if err := c.post(orders[n%len(orders)]); err != nil {
				return err
			}
			p.took[n] = time.Since(p.due(n))
		}
		return context.Cause(ctx)
	})
	return p, err
}

// sleepUntil sleeps the last of it in the kernel: the runtime's timers are a millisecond late on
// an idle machine, which is as much as what is measured.
func sleepUntil(t time.Time) {
	time.Sleep(time.Until(t) - 3*time.Millisecond)
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil) // EINTR: look at the clock again
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
