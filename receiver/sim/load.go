package sim

import (
	"context"
	"sync"
	"time"
)

// Load describes many orders and how fast to send them.
type Load struct {
	// Next returns the next order. It is called by one goroutine at a time. Required.
	Next func() Order
	// Count is how many orders are sent; 0: until the context ends.
	Count int
	// Rate is in orders a second; 0: as fast as they are answered.
	Rate float64
	// Concurrency is how many orders may wait for their answers at once. Default: 1.
	Concurrency int
	// Duplicates is the share of accepted orders, 0 to 1, that are sent a second time with the
	// same id, as the service does when the answer was lost.
	Duplicates float64
	// Done is called with each outcome, by one goroutine at a time. May be nil.
	Done func(Order, Job)
}

// Run sends the orders of a load. When ctx ends, it stops and returns the summary of the orders sent.
//
// A duplicate is sent by the sender that sent the original, after its answer: at the same time
// would be another test.
func (s *Sender) Run(ctx context.Context, e Load) *Summary {
	began := time.Now()
	var mu sync.Mutex // guards sum
	sum := &Summary{}

	send := func(o Order, duplicate bool) bool {
		journey := s.Send(ctx, o)
		mu.Lock()
		defer mu.Unlock()

		if e.Done != nil {
			e.Done(o, journey)
		}
		if ctx.Err() != nil && !journey.Accepted() {
			return false // interrupted by us: says nothing about the endpoint
		}

		sum.Add(journey)
		sum.countDuplicate(journey, duplicate)
		return journey.Accepted() && ctx.Err() == nil
	}

	type work struct {
		o     Order
		twice bool
	}

	queue := make(chan work)
	var wg sync.WaitGroup
	for range max(1, e.Concurrency) {
		wg.Go(func() {
			for w := range queue {
				if send(w.o, false) && w.twice {
					send(w.o.Again(), true)
				}
			}
		})
	}

	for sent := 0; (e.Count == 0 || sent < e.Count) && ctx.Err() == nil; sent++ {
		// With a rate, the times are fixed from the beginning: after a slow answer the rate is made up, as
		// guests do not order later because the kitchen is slow.
		if e.Rate > 0 {
			sleep(ctx, time.Until(began.Add(time.Duration(float64(sent)/e.Rate*float64(time.Second)))))
		}
		if ctx.Err() != nil {
			break
		}

		twice := int(float64(sent+1)*e.Duplicates) > int(float64(sent)*e.Duplicates)
		select {
		case queue <- work{e.Next(), twice}:
		case <-ctx.Done():
		}
	}

	close(queue)
	wg.Wait()
	sum.Elapsed = time.Since(began)
	return sum
}
