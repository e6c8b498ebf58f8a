package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
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
	idDigits  = 12                                     // of its last group, which are counted up
)

// An order is the bytes of a whole HTTP request in which only the id has to be filled in.
type order struct {
	bytes   []byte
	id      int // offset of the last idDigits digits of the id
	tickets int // how many tickets it makes
}

// newOrder is the contract's example of an order with its two items for two stations, which
// may be the same one: two items with modifiers, a note, and the layout instructions that the
// service sends along; 2.7 kB.
func newOrder(first, second int) order {
	courses := strings.NewReplacer("Entrees", station(first), "Appetizers", station(second))
	body := courses.Replace(string(contract.Example("burger.json")))
	all := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: kitchen\r\n%s: %s\r\n%s: %s\r\nContent-Type: %s\r\n"+
		"Content-Length: %d\r\n\r\n%s",
		contract.PathWebhook, contract.HeaderVenue, venueID, contract.HeaderDevice, deviceID,
		contract.ContentType, len(body), body)

	posted := order{all, bytes.Index(all, []byte(exampleID)) + len(exampleID) - idDigits, 1}

	if first != second {
		posted.tickets = 2
	}
	return posted
}

// ordersFor is n orders for n stations, all of one ticket or all of two: order i is for station
// i and for the one apart stations further.
func ordersFor(n, apart int) (all []order) {
	for i := range n {
		all = append(all, newOrder(i, (i+apart)%n))
	}
	return all
}

// ids counts the ids of a run. None is used twice: each request is new.
var ids atomic.Uint64

// withNewID is the request with an id that no other has.
func (o order) withNewID() []byte {
	body := bytes.Clone(o.bytes)
	copy(body[o.id:], fmt.Sprintf("%0*x", idDigits, ids.Add(1)))
	return body
}

// A poster takes an order and returns when it is stored: a connection to the daemon, or the
// yardstick.
type poster interface{ post(order) error }

// A client is one keep-alive connection that posts print requests. It does as little work as
// possible, because it shares the cores with the daemon.
type client struct {
	net.Conn
	r *bufio.Reader
}

// patience is how long an answer may take before the run fails.
const patience = 30 * time.Second

// post sends an order and waits for the answer.
func (c *client) post(o order) error {
	err := c.SetDeadline(time.Now().Add(patience))
	if _, e := c.Write(o.withNewID()); err != nil || e != nil {
		return errors.Join(err, e)
	}
	return readAnswer(c.r)
}

// storedAnswer is how the answer to a request that was new begins.
const storedAnswer = `{"status":"SUCCESS","duplicate":false,"jobs":`

// readAnswer accepts nothing but a 200 for a request that was new. Any other answer is faster, and would turn a failure
// into a better number.
func readAnswer(r *bufio.Reader) error {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}

	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte(storedAnswer)) {
		return errors.Join(fmt.Errorf("answered %s: %s", resp.Status, body), err)
	}

	return nil
}

// connect opens n connections. The caller closes them.
func connect(ctx context.Context, addr string, n int) (clients []*client, err error) {
	for range n {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return clients, err
		}
		clients = append(clients, &client{Conn: conn, r: bufio.NewReader(conn)})
	}
	return clients, nil
}

// A load is orders that are posted for some time, at a fixed rate or as fast as they are
// answered.
type load struct {
	orders      []order // in turns; all make equally many tickets
	rate        int     // orders a second; 0: each connection posts as soon as it is answered
	connections int
	warmUp      time.Duration // orders of this time are not counted; with a rate there are none
	lasts       time.Duration

	began time.Time // the end of the warm-up, set by post
}

// atRate is a load at a fixed rate, whether or not the orders before are answered. If there are
// too few connections, the latencies show it: they begin when an order is due, and not when
// a connection is free.
func atRate(orders []order, rate int, lasts time.Duration) *load {
	// Each connection is used about once a second: the server closes one that is silent for long.
	return &load{orders: orders, rate: rate, connections: min(rate, 128), warmUp: 100 * time.Millisecond, lasts: lasts}
}

// due is when the nth order, from 0, has to be posted.
func (l *load) due(n int) time.Time {
	if l.rate == 0 {
		return time.Now()
	}
	return l.began.Add(time.Duration(n) * time.Second / time.Duration(l.rate))
}

// run posts the load to a daemon and returns how long after it was due each order was answered.
func (l *load) run(ctx context.Context, addr string) (samples, error) {
	var posters []poster

	clients, err := connect(ctx, addr, l.connections)
	for _, c := range clients {
		defer c.Close()
		posters = append(posters, c)
	}
	if err != nil {
		return nil, err
	}

	return l.post(ctx, posters...)
}

// post posts the load, each poster one order at a time.
func (l *load) post(ctx context.Context, posters ...poster) (took samples, err error) {
	l.began = time.Now().Add(l.warmUp)
	var next atomic.Int64
	var mu sync.Mutex // guards took
	group, ctx := errgroup.WithContext(ctx)

	for _, p := range posters {
		group.Go(func() error {
			for ctx.Err() == nil {
				number := int(next.Add(1)) - 1
				due := l.due(number)
				if !due.Before(l.began.Add(l.lasts)) {
					return nil
				}
				sleepUntil(due)
				if err := p.post(l.orders[number%len(l.orders)]); err != nil {
					return err
				}
				if late := time.Since(due); !due.Before(l.began) {
					mu.Lock()
					took = append(took, late)
					mu.Unlock()
				}
			}
			return context.Cause(ctx)
		})
	}

	err = group.Wait()
	return took, err
}

// sleepUntil sleeps the last 3 ms in the kernel: the timers of the Go runtime are a millisecond
// late on an idle machine, which is as long as the measured time.
func sleepUntil(t time.Time) {
	time.Sleep(time.Until(t) - 3*time.Millisecond)
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil) // a signal may end it early: the loop reads the clock again
	}
}

// inTurns calls two measurements alternately, n times each: whatever else the machine does in
// that time slows both.
func inTurns[X, Y any](b *bench, n int, one func() X, other func() Y) (ones []X, others []Y) {
	for range n {
		ones, others = append(ones, one()), append(others, other())
		check(context.Cause(b.ctx))
	}
	return ones, others
}

// timed measures how long f takes.
func timed(f func() error) func() time.Duration {
	return func() time.Duration {
		began := time.Now()
		check(f())
		return time.Since(began)
	}
}

// samples are durations of the same thing.
type samples []time.Duration

func (s samples) p50() ms { return ms(quantile(s, 0.50)) }
func (s samples) p99() ms { return ms(quantile(s, 0.99)) }

// quantile returns the smallest value that at least the share p of all values does not exceed,
// 0 < p <= 1 (nearest rank). It is always one of the values, never a mean of two. Of none it is 0.
func quantile[T float64 | time.Duration](v []T, p float64) T {
	if len(v) == 0 {
		return 0
	}
	// 0.07 · 100 is 7.000000000000001 in floating point: without the correction it would be rank 8.
	at := int(math.Ceil(p*float64(len(v))-1e-9)) - 1
	return slices.Sorted(slices.Values(v))[min(max(at, 0), len(v)-1)]
}

func median(v []float64) float64 { return quantile(v, 0.50) }

// ms is a duration that prints as milliseconds with three significant digits.
type ms time.Duration

func (d ms) String() string {
	milliseconds := 1000 * time.Duration(d).Seconds()
	return fmt.Sprintf("%.*f ms", max(0, 2-int(math.Log10(max(milliseconds, 1)))), milliseconds)
}
