package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A senderGroup is senders at work: each sends one order after the other, and the next only
// when the one before was answered or given up after three retries, as the contract says.
type senderGroup struct {
	k         *daemonProcess
	stop      atomic.Bool
	acks      atomic.Int64
	newAck    chan struct{} // receives after every 200
	wg        sync.WaitGroup
	mu        sync.Mutex
	acked     []order
	lost      []order
	perSender [][]order // what each sender had answered, in order
}

// startSenders starts n senders. tag separates the order numbers of two groups.
func startSenders(k *daemonProcess, tag string, n int) *senderGroup {
	c := &senderGroup{k: k, newAck: make(chan struct{}, 1), perSender: make([][]order, n)}
	for i := range n {
		c.wg.Go(func() { c.send(tag, i) })
	}
	return c
}

func (c *senderGroup) send(tag string, sender int) {
	for n := 0; !c.stop.Load(); n++ {
		stations := c.k.stations[:1+rand.IntN(len(c.k.stations))]
		o := c.k.newOrder(fmt.Sprintf("K-%s%d-%d-%04x", tag, sender, n, rand.IntN(1<<16)), stations...)
		ok := false
		for try := 0; try <= 3 && !ok; try++ {
			if try > 0 {
				time.Sleep(time.Duration(try*try) * 20 * time.Millisecond) // the service's backoff, shortened
			}
			ok = c.k.post(o, try).status == 200
		}
		c.mu.Lock()
		if ok {
			c.acked = append(c.acked, o)
			c.perSender[sender] = append(c.perSender[sender], o)
		} else {
			c.lost = append(c.lost, o)
		}
		c.mu.Unlock()
		if ok {
			c.acks.Add(1)
			select {
			case c.newAck <- struct{}{}:
			default:
			}
		}
	}
}

// waitForAcks waits until the group has n acks in all.
func (c *senderGroup) waitForAcks(n int64) {
	c.k.t.Helper()
	timeout := time.After(testTimeout) // without an answer: how many come in a time depends on the machine
	for c.acks.Load() < n {
		select {
		case <-c.newAck:
			timeout = time.After(testTimeout)
		case <-timeout:
			c.k.t.Fatalf("only %d of %d orders were answered\n%s", c.acks.Load(), n, c.k.log)
		}
	}
}

// stopAndWait stops the senders and waits for them.
func (c *senderGroup) stopAndWait() {
	c.stop.Store(true)
	c.wg.Wait()
}

// TestA200IsAPromise kills the real program, under load, at moments of chance's choosing.
func TestA200IsAPromise(t *testing.T) {
	const kills = 25
	k := newDaemon(t, "", "grill", "bar", "cold")
	for _, p := range k.printers {
		p.Delay(200 * time.Microsecond)
	}
	k.start()
	c := startSenders(k, "", 8)
	for range kills {
		c.waitForAcks(c.acks.Load() + 1 + rand.Int64N(40))
		time.Sleep(rand.N(15 * time.Millisecond)) // a random moment, not a wait for anything
		k.kill()
		k.start()
		k.wantNoLoss()
	}
	c.waitForAcks(c.acks.Load() + 20)
	c.stopAndWait()
	k.waitUntilPrinted()
	k.checkPaper(c.acked, c.lost, c.perSender)
	t.Logf("%d kills, %d orders answered, %d never answered", kills, len(c.acked), len(c.lost))
	k.stop()
	for _, chain := range c.perSender {
		if len(chain) == 0 {
			t.Error("a sender got nothing through: the test proved less than it says")
		}
	}
	if slices.ContainsFunc(k.stations, func(s string) bool { return len(k.printedBy(s)) == 0 }) {
		t.Error("a printer printed nothing: the test proved less than it says")
	}
}

// TestAGracefulRestartDoubtsNothing: a graceful stop answers what it has, and the orders
// print after the start, in order and without a banner.
func TestAGracefulRestartDoubtsNothing(t *testing.T) {
	k := newDaemon(t, "", "grill", "bar")
	k.start()
	c := startSenders(k, "", 4)
	for range 3 {
		c.waitForAcks(c.acks.Load() + 15)
		k.stop()
		k.start()
	}
	c.waitForAcks(c.acks.Load() + 5)
	c.stopAndWait()
	k.waitUntilPrinted()
	k.checkPaper(c.acked, c.lost, c.perSender)
	for _, s := range k.stations {
		for number, got := range k.printedBy(s) {
			if got.whole != 1 || got.unmarked != 1 {
				t.Errorf("%s: %s came out %d times, %d unmarked; want once", s, number, got.whole, got.unmarked)
			}
		}
	}
	k.stop()
}

// TestARestartCostsNoOrder: systemd keeps the daemon's listener, and no connection is refused across
// restarts. What the server reads as it begins to stop it drops without an answer, so the sender tries
// again once, of the three times that the service does; a 503 for a slow disk does not count.
func TestARestartCostsNoOrder(t *testing.T) {
	k := newDaemon(t, "", "grill")
	k.keeps = true
	k.client.Transport.(*http.Transport).DisableKeepAlives = true // each order is a connection of its own
	// Longer than the service waits: under the race detector a start alone takes seconds, and this
	// is about being refused or dropped, not about being quick.
	k.client.Timeout = testTimeout
	k.start()
	posted := make(chan answer)
	stop := make(chan struct{})
	var acked []order
	go func() {
		defer close(posted)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			o := k.newOrder(fmt.Sprintf("K-a-%d-0000", i), "grill")
			got := k.deliver(o)
			if errors.Is(got.err, syscall.ECONNREFUSED) {
				t.Error("a connection was refused")
			}
			if got.err != nil {
				got = k.deliver(o)
			}
			if got.status == 200 {
				acked = append(acked, o)
			}
			posted <- got
		}
	}()
	for restart := range 4 {
		for range 10 {
			if got := <-posted; got.status != 200 {
				t.Errorf("around restart %d an order got %+v (%v)", restart, got, got.err)
			}
		}
		if restart == 3 {
			break
		}
		// One order waits in the kernel, or for its answer, while the daemon is away.
		k.stop()
		k.start()
	}
	close(stop)
	for range posted {
	}
	k.waitUntilPrinted()
	k.checkPaper(acked, nil, [][]order{acked})
	k.stop()
}
