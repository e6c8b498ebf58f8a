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
	// Done is called with each outcome, by one goroutine at a time. May be nil.
	Done func(Order, Job)
}

// Run sends the orders of a load. When ctx ends, it stops and returns the summary of the orders sent.
func (s *Sender) Run(ctx context.Context, e Load) *Summary {
	began := time.Now()
	var mu sync.Mutex // guards sum
	sum := &Summary{States: map[JobState]int{}}

	queue := make(chan Order)
	var wg sync.WaitGroup
	for range max(1, e.Concurrency) {
		wg.Go(func() {
			for o := range queue {
				job := s.Send(ctx, o)

				mu.Lock()
				if e.Done != nil {
					e.Done(o, job)
				}
				if job.Accepted() || ctx.Err() == nil { // interrupted by us, it says nothing about the endpoint
					sum.add(job)
				}
				mu.Unlock()
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

		select {
		case queue <- e.Next():
		case <-ctx.Done():
		}
	}

	close(queue)
	wg.Wait()
	sum.Elapsed = time.Since(began)
	return sum
}
