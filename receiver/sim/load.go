package sim

import (
	"context"
	"sync"
	"time"
)

// Load is many orders, sent as the flags of possim send say.
type Load struct {
	// Next makes the orders. It is called by one goroutine at a time. Required.
	Next func() Order
	// Count is how many orders there are; 0: until the context ends.
	Count int
	// Rate is orders a second; 0: as fast as they are answered.
	Rate float64
	// Concurrency is how many may be on their way at once. Default 1.
	Concurrency int
	// Duplicates is the share of accepted orders, 0 to 1, that are sent once more with the same
	// id, as after an answer that got lost.
	Duplicates float64
	// Seed decides which.
	Seed uint64
}

// Run sends the evening's orders. The summary counts what was sent when ctx ended.
func (s *Sender) Run(ctx context.Context, e Load) *Summary {
	began := time.Now()
	var mu sync.Mutex // guards sum
	sum := &Summary{}
	add := func(j Job, duplicate bool) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil && !j.Accepted() {
			sum.Interrupted++ // by us
			return
		}
		sum.Add(j)
		sum.countDuplicate(j, duplicate)
		if duplicate {
			sum.Duplicates++
		}
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
				j := s.Send(ctx, w.o)
				add(j, false)
				if w.twice && j.Accepted() && ctx.Err() == nil {
					add(s.Send(ctx, w.o.Again()), true)
				}
			}
		})
	}
	rng := newRand(e.Seed, "duplicates")
	for n := 0; (e.Count == 0 || n < e.Count) && due(ctx, began, n, e.Rate); n++ {
		select {
		case queue <- work{e.Next(), rng.Float64() < e.Duplicates}:
		case <-ctx.Done():
		}
	}
	close(queue)
	wg.Wait()
	sum.Elapsed = time.Since(began)
	return sum
}

// due waits for the time of the nth order. It is false when ctx ended.
func due(ctx context.Context, began time.Time, n int, rate float64) bool {
	if rate > 0 {
		sleep(ctx, time.Until(began.Add(time.Duration(float64(n)/rate*float64(time.Second)))))
	}
	return ctx.Err() == nil
}
