package sim

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// restartRows are section 6.4 over a kill: 200 says that the order is stored, and an order stays
// known afterwards.
func restartRows() []outputRow {
	return []outputRow{
		{"6.4", "what comes out: orders while it is killed", "each that was accepted", (*checker).killed},
		{"6.4", "what comes out: the same request before and after a restart",
			"accepted each time; comes out as one order", func(c *checker) (string, Verdict) {
				if c.o.Restart == nil {
					return "nothing can restart it", Unseen
				}
				return c.judgeOutput(1, func(c *checker, dish string) error {
					p := c.postOf(c.dish(dish))
					if err := c.accept(p); err != nil {
						return err
					}
					// It must be out before the kill: a ticket that was being printed may rightly be printed
					// again.
					if _, err := c.seen(dish, 0, c.copies); err != nil {
						return err
					}
					if err := c.restart(); err != nil {
						return err
					}
					return c.accept(p)
				}, func(n int) Verdict { return verdict(n == c.copies) })
			}},
	}
}

const (
	floodSenders = 8
	floodPause   = 20 * time.Millisecond  // of each sender between two orders
	floodBefore  = 300 * time.Millisecond // before the kill, so that it hits many orders at every stage
)

// killed kills the endpoint while many orders are sent: an endpoint that answers before it stores
// an order is somewhere in between for one of them. Every order that was accepted must come out.
// It may come out twice: what was being printed when it was killed is in doubt.
func (c *checker) killed() (string, Verdict) {
	switch {
	case c.o.Output == nil:
		return "nothing sees what comes out", Unseen
	case c.o.Restart == nil:
		return "nothing can restart it", Unseen
	case c.copies == 0:
		return "not tried: the first order was not seen to come out", Unseen
	}
	before, err := c.o.Output.Count(c.ctx, "")
	if err != nil {
		return err.Error(), Unseen
	}
	var mu sync.Mutex
	var accepted []string // dishes
	var stop atomic.Bool
	var flood sync.WaitGroup
	s := Sender{URL: c.o.URL, Transport: c.o.Transport, Backoff: c.o.Backoff}
	for range floodSenders {
		flood.Go(func() {
			for !stop.Load() && sleep(c.ctx, floodPause) {
				dish := newDish()
				if s.Send(c.ctx, c.dish(dish)).Accepted() {
					mu.Lock()
					accepted = append(accepted, dish)
					mu.Unlock()
				}
			}
		})
	}
	sleep(c.ctx, floodBefore)
	err = c.restart()
	stop.Store(true)
	flood.Wait()
	if err != nil {
		return err.Error(), Unseen
	}
	if c.o.Output.CountsTickets {
		n, err := c.seen("", before, len(accepted)*c.copies)
		switch {
		case err != nil:
			return err.Error(), Unseen
		// Tickets that came twice may hide some that never came.
		case n > len(accepted)*c.copies:
			return fmt.Sprintf("%d accepted, %d tickets: which of them are twice is not seen", len(accepted), n), Unseen
		}
		return fmt.Sprintf("%d accepted, %d tickets", len(accepted), n), verdict(n == len(accepted)*c.copies)
	}
	lost := 0
	err = c.await(func() (bool, error) {
		lost = 0
		for _, dish := range accepted {
			n, err := c.o.Output.Count(c.ctx, dish)
			if err != nil {
				return false, err
			}
			if n < c.copies {
				lost++
			}
		}
		return lost == 0, nil
	})
	if err != nil {
		return err.Error(), Unseen
	}
	return fmt.Sprintf("%d accepted, %d of them never came out", len(accepted), lost), verdict(lost == 0)
}

// readyWithin is how long an endpoint may take to answer after it was started.
const readyWithin = time.Minute

// restart restarts the endpoint and waits until it answers.
func (c *checker) restart() error {
	if err := c.o.Restart(c.ctx); err != nil {
		return notTried{err}
	}
	ctx, cancel := context.WithTimeout(c.ctx, readyWithin)
	defer cancel()
	for {
		// Any answer will do. This one leaves nothing behind.
		r := c.exchange(ctx, webhookPost{method: http.MethodGet})
		if r.err == nil {
			return nil
		}
		if !sleep(ctx, 20*time.Millisecond) {
			return notTried{fmt.Errorf("it does not answer after the restart: %w", r.err)}
		}
	}
}
